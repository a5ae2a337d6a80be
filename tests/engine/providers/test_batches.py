"""Batches: one for the calls that wait for each other, found again after a kill, and no trace in what is learned."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.auditing.theorems.inference import check_inference
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.models.retrying import DEFAULT_RETRIES, ProviderDown
from mage_es.engine.run.budget import UNLIMITED, Limits
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.pricing import read_prices
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.study.baseline import baseline
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.exam_report import ExamReport
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.runs import summarise
from mage_es.events.errors import BudgetReached, Interrupted, MageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import BatchSubmitted, CallFailed, Event, IterationClosed, ModelCalled
from tests.engine.conftest import SMALL, never
from tests.engine.providers.provider import Answer, Provider, provider, request_of
from tests.engine.run.test_budget import PRICED
from tests.few_words import IN_A_PROCESS
from tests.kit.truthworld.standings import SAYINGS
from tests.paper_parts import PAPER_OPTIONS

pytestmark = pytest.mark.slow

QUICK = DEFAULT_RETRIES._replace(first_wait_s=0.01)
JUDGED = Config(
    benchmark="truthworld", teacher_sees="solutions", seed=7, iterations=1, pool=36, held_out=40, anchors=24
)


def by(spec: str, tier: Any) -> Answer:
    """Answer as an embedded model does."""
    model = open_model(spec, tier)

    def answer(body: dict[str, Any]) -> str:
        call = model.complete(request_of(body))
        try:
            call.send(None)
        except StopIteration as end:
            return str(end.value.text)
        raise AssertionError("an embedded model waits for nothing")

    return answer


@pytest.fixture(scope="module")
def running() -> Iterator[Provider]:
    """One server for all tests: its address is part of what a ledger says."""
    with provider(answer=by("builtin/reference", "guidance")) as state:
        yield state


@pytest.fixture(scope="module")
def alone(running: Provider, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run without batches, which every other one has to agree with."""
    return begin(guided(running), tmp_path_factory.mktemp("alone"), batches=False)


@pytest.fixture
def server(running: Provider, alone: Run) -> Provider:
    """The server as it is at the beginning."""
    running.asked.clear()
    running.batches.clear()
    running.batch_sizes.clear()
    running.served, running.holds_batches, running.has_batches = 0, False, True
    running.plan = running.fate = lambda number: ""
    running.restart_entries()
    return running


def guided(server: Provider) -> Config:
    return msgspec.structs.replace(SMALL, guidance=f"anthropic/guide?base_url={server.anthropic_url}")


def begin(
    config: Config, folder: Path, *, batches: bool, stop: Callable[[], bool] = never, limits: Limits = UNLIMITED
) -> Run:
    evolve(
        config,
        runs_dir=folder,
        data_dir=None,
        runtime=Runtime(workers=4, stop=stop, retry_policy=QUICK, batches=batches, limits=limits),
        run_id="r",
    )
    return find_run(folder, "r")


def go_on(run: Run, *, batches: bool, limits: Limits = UNLIMITED) -> None:
    resume(
        run, config=None, data_dir=None, runtime=Runtime(workers=4, retry_policy=QUICK, batches=batches, limits=limits)
    )


def events(run: Run, kind: type[Event]) -> list[Any]:
    return list(LogReader(run.log_path).of(kind))


def digests(run: Run) -> list[Any]:
    return [(closed.iteration, closed.digests) for closed in events(run, IterationClosed)]


def authored(run: Run) -> list[ModelCalled]:
    """The calls of EVOLVE."""
    records = LogReader(run.log_path).records({ModelCalled})
    return [r.event for r in records if r.phase == "evolve" and isinstance(r.event, ModelCalled)]


@pytest.mark.paper("section 3.3, EVOLVE")
def test_evolve_asks_in_one_batch_an_iteration_and_learns_the_same_as_without(
    server: Provider, alone: Run, tmp_path: Path
) -> None:
    together = begin(guided(server), tmp_path / "together", batches=True)
    assert digests(together) == digests(alone)
    calls = authored(together)
    assert server.batch_sizes == [sum(call.iteration == k for call in calls) for k in range(SMALL.iterations)]
    assert all(call.batched for call in calls) and min(server.batch_sizes) > 1
    assert sum(call.batched for call in events(together, ModelCalled)) == len(calls)
    rows = [row for row in summarise(together).ledger if row.tier == "guidance"]
    assert sum(row.calls for row in rows if row.batched) == len(calls)
    submitted = events(together, BatchSubmitted)
    assert [len(batch.calls) for batch in submitted] == server.batch_sizes
    names = [call.custom_id for batch in submitted for call in batch.calls]
    assert len(set(names)) == len(names) and all(len(name) <= 64 for name in names)


FATES = ("", "expired", "canceled", "overloaded_error", "api_error", "rate_limit_error")


def test_a_call_that_comes_to_nothing_in_its_batch_is_made_again_by_itself(
    server: Provider, alone: Run, tmp_path: Path
) -> None:
    server.fate = lambda number: FATES[number % len(FATES)]
    together = begin(guided(server), tmp_path, batches=True)
    assert digests(together) == digests(alone)
    failed = events(together, CallFailed)
    fates = [FATES[number % len(FATES)] for number in range(sum(server.batch_sizes))]
    assert len(failed) == sum(map(bool, fates)) > 4
    assert {failure.fault for failure in failed} == {"timeout", "busy", "server"}
    assert not any(failure.final for failure in failed)
    assert sum(not call.batched for call in authored(together)) == len(failed)


def test_a_call_that_its_provider_refuses_is_given_up_and_the_run_goes_on(server: Provider, tmp_path: Path) -> None:
    server.fate = lambda number: "invalid_request_error" if number == 0 else ""
    run = begin(guided(server), tmp_path, batches=True)
    (failed,) = events(run, CallFailed)
    assert failed.final and failed.fault == "rejected"
    assert summarise(run).state == "finished"


def test_a_reply_of_another_form_is_asked_for_again_in_a_batch_of_its_own(tmp_path: Path) -> None:
    refused: list[Any] = []
    right = by("builtin/reference", "guidance")
    with provider(answer=lambda body: _once(refused, body, right)) as server:
        run = begin(guided(server), tmp_path, batches=True)
        assert 1 in server.batch_sizes
    assert sum(call.attempt == 1 for call in authored(run)) == 1
    assert all(call.batched for call in authored(run))


def _once(refused: list[Any], body: dict[str, Any], right: Answer) -> str:
    """Refuse the first request for failure memories, and answer all others."""
    if not refused and "failure_memories" in request_of(body).prompt:
        refused.append(body)
        return "I would rather not."
    return right(body)


@pytest.mark.paper("section 3.3, EVOLVE")
def test_killed_while_a_batch_is_under_way_a_run_finds_it_again_and_pays_once(
    server: Provider, alone: Run, tmp_path: Path
) -> None:
    server.holds_batches = True
    log = tmp_path / "together" / "r" / "log"
    arguments = ["evolve", "wordmath", "--seed", "7", "--iterations", "2", "--pool", "24", "--held-out", "20"]
    arguments += ["--anchors", "12", "--gate", "off", *PAPER_OPTIONS]
    arguments += ["--guidance", guided(server).guidance, "--guidance-batch", "--run-id", "r"]
    code = f"{IN_A_PROCESS}from mage_es.cli import main; main({[*arguments, '--runs-dir', str(log.parent.parent)]!r})"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=tmp_path, start_new_session=True)
    try:
        wait_for(lambda: bool(recorded(log, BatchSubmitted)))
        time.sleep(0.3)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
    assert server.batch_sizes == [len(recorded(log, BatchSubmitted)[0].calls)]
    server.holds_batches = False
    run = find_run(tmp_path / "together", "r")
    go_on(run, batches=True)
    assert len(server.batch_sizes) == SMALL.iterations == len(events(run, BatchSubmitted))
    assert server.served == len([c for c in events(run, ModelCalled) if c.tier == "guidance"])
    assert digests(run) == digests(alone)


def recorded(log: Path, kind: type[Event]) -> list[Any]:
    try:
        return list(LogReader(log).of(kind))
    except (MageError, OSError):
        return []


def wait_for(happened: Callable[[], bool]) -> None:
    for _ in range(6000):
        if happened():
            return
        time.sleep(0.05)
    raise AssertionError("it never happened")


def test_a_stop_does_not_wait_for_a_batch_which_is_found_again_also_with_batches_off(
    server: Provider, tmp_path: Path
) -> None:
    server.holds_batches = True
    with pytest.raises(Interrupted):
        begin(guided(server), tmp_path, batches=True, stop=lambda: bool(server.batch_sizes))
    run = find_run(tmp_path, "r")
    (batch,) = events(run, BatchSubmitted)
    assert authored(run) == []
    server.holds_batches = False
    go_on(run, batches=False)
    first = [call for call in authored(run) if call.iteration == 0]
    assert len(first) == len(batch.calls) and all(call.batched for call in first)
    assert not any(call.batched for call in authored(run) if call.iteration > 0)
    assert server.batch_sizes == [len(batch.calls)]


def test_a_batch_that_the_provider_forgot_is_made_again_call_by_call(server: Provider, tmp_path: Path) -> None:
    server.holds_batches = True
    with pytest.raises(Interrupted):
        begin(guided(server), tmp_path, batches=True, stop=lambda: bool(server.batch_sizes))
    run = find_run(tmp_path, "r")
    server.batches.clear()
    server.holds_batches = False
    go_on(run, batches=False)
    assert summarise(run).state == "finished"
    assert {failed.fault for failed in events(run, CallFailed)} == {"timeout"}
    assert not any(call.batched for call in authored(run))


def test_a_provider_without_batches_is_named_with_the_way_to_go_on(server: Provider, tmp_path: Path) -> None:
    server.has_batches = False
    with pytest.raises(ProviderDown, match=r"takes no message batches.*--no-guidance-batch"):
        begin(guided(server), tmp_path, batches=True)
    run = find_run(tmp_path, "r")
    assert events(run, BatchSubmitted) == []
    go_on(run, batches=False)
    assert summarise(run).state == "finished"


def test_trouble_while_a_batch_is_asked_after_passes(server: Provider, tmp_path: Path) -> None:
    server.plan = lambda number: "529" if "/batches" in server.asked[number].path and number % 3 == 0 else ""
    run = begin(guided(server), tmp_path, batches=True)
    assert len(server.batch_sizes) == SMALL.iterations
    assert summarise(run).state == "finished" and events(run, CallFailed) == []


def test_a_batch_that_may_have_been_taken_is_not_handed_in_again_and_again(server: Provider, tmp_path: Path) -> None:
    server.plan = lambda number: "html" if "/batches" in server.asked[number].path else ""
    with pytest.raises(ProviderDown, match=f"failed {QUICK.attempts} times in a row"):
        begin(guided(server), tmp_path, batches=True)
    assert len(server.batch_sizes) == QUICK.attempts


def test_a_provider_that_wants_no_question_about_a_batch_for_hours_is_left_alone_and_the_batch_found_again(
    server: Provider, alone: Run, tmp_path: Path
) -> None:
    server.error_headers = {"retry-after": "7200"}
    server.plan = lambda number: "429" if server.batch_sizes and "/batches" in server.asked[number].path else ""
    try:
        with pytest.raises(ProviderDown, match=r"takes no calls before \S+ \S+ UTC") as raised:
            begin(guided(server), tmp_path, batches=True)
        assert raised.value.exit_code == 4
        server.plan = lambda number: ""
        run = find_run(tmp_path, "r")
        go_on(run, batches=True)
    finally:
        server.error_headers = {"retry-after": "0"}
    assert digests(run) == digests(alone) and len(server.batch_sizes) == len(events(run, BatchSubmitted))


def test_a_budget_that_ends_within_evolve_stops_the_run_and_what_was_handed_in_is_not_paid_twice(
    server: Provider, alone: Run, tmp_path: Path
) -> None:
    calls = list(LogReader(alone.log_path).records({ModelCalled}))
    before = next(n for n, record in enumerate(calls) if record.phase == "evolve")
    with pytest.raises(BudgetReached):
        begin(guided(server), tmp_path, batches=True, limits=Limits(max_calls=before + 2))
    run = find_run(tmp_path, "r")
    assert len(events(run, ModelCalled)) <= before + 2
    go_on(run, batches=True)
    assert digests(run) == digests(alone)
    assert sum(server.batch_sizes) == len(authored(run))


@pytest.fixture
def judging() -> Iterator[Provider]:
    with provider(answer=by("truth/judge", "judge")) as state:
        yield state


def test_the_judge_is_asked_once_after_a_round_of_answers_about_everything_undecided(
    judging: Provider, tmp_path: Path
) -> None:
    # Without the gate, which has a question answered bare as well: the same reply needs no other verdict.
    config = msgspec.structs.replace(JUDGED, judge=f"anthropic/judge?base_url={judging.anthropic_url}", gate="off")
    alone = begin(config, tmp_path / "alone", batches=False)
    together = begin(config, tmp_path / "together", batches=True)
    assert digests(together) == digests(alone)
    calls = groupby(events(together, ModelCalled), key=lambda call: call.tier)
    rounds = [list(judged) for tier, judged in calls if tier == "judge"]
    assert judging.batch_sizes == list(map(len, rounds)) and len(rounds) > 2
    assert all(call.batched for judged in rounds for call in judged)
    before = len(judging.batch_sizes)
    answers = [exam(run, batches=batches).answers for run, batches in ((alone, False), (together, True))]
    assert answers[0] == answers[1] and len(judging.batch_sizes) == before + 1
    assert all(check.ok for check in check_inference(together, LogReader(together.log_path)))


def test_a_baseline_has_its_judge_asked_in_one_batch_too(judging: Provider, tmp_path: Path) -> None:
    config = msgspec.structs.replace(JUDGED, judge=f"anthropic/judge?base_url={judging.anthropic_url}")
    alone, together = (
        baseline(
            "zero_shot_cot",
            config,
            runs_dir=tmp_path / str(batches),
            data_dir=None,
            runtime=Runtime(workers=4, retry_policy=QUICK, batches=batches),
        )
        for batches in (False, True)
    )
    assert together.answers == alone.answers
    assert judging.batch_sizes == [together.judge_calls] and together.judge_calls > 0


def exam(run: Run, *, batches: bool) -> ExamReport:
    return examine(
        run, at="latest", questions=None, control="none", data_dir=None, runtime=Runtime(workers=4, batches=batches)
    )


@pytest.mark.parametrize("calls", [40, 60])
def test_wherever_a_budget_ends_among_judged_answers_nobody_waits_for_ever(
    judging: Provider, tmp_path: Path, calls: int
) -> None:
    config = msgspec.structs.replace(JUDGED, judge=f"anthropic/judge?base_url={judging.anthropic_url}")
    with pytest.raises(BudgetReached):
        begin(config, tmp_path, batches=True, limits=Limits(max_calls=calls))
    run = find_run(tmp_path, "r")
    assert len(events(run, ModelCalled)) <= calls
    go_on(run, batches=True)
    assert summarise(run).state == "finished"
    paid = [call for batch in events(run, BatchSubmitted) for call in batch.calls]
    assert len({(call.custom_id) for call in paid}) == len(paid)


class Vague:
    """A learner that costs something, and whose answers only a judge can tell right from wrong."""

    name = "openai/paid"

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0.02)  # so that the first answers come to the judge before the last are asked for
        return Completion(text=f"#### {SAYINGS['surplus'][0]}", input_tokens=100, output_tokens=20)


def test_where_answers_can_be_paid_no_more_those_who_wait_for_a_judge_are_sent_away(
    judging: Provider, tmp_path: Path
) -> None:
    (tmp_path / "prices.toml").write_text(PRICED)
    judge = open_model(f"anthropic/judge?base_url={judging.anthropic_url}", "judge")
    models = Models(Vague(), open_model("builtin/reference", "guidance"), judge)
    until = time.monotonic() + 600
    with pytest.raises(BudgetReached):
        evolve(
            JUDGED,
            runs_dir=tmp_path,
            data_dir=None,
            runtime=Runtime(
                workers=4,
                retry_policy=QUICK,
                batches=True,
                limits=Limits(max_usd=0.15),
                prices=read_prices(tmp_path / "prices.toml"),
                stop=lambda: time.monotonic() > until,
            ),
            run_id="r",
            models=models,
        )
    assert time.monotonic() < until, "somebody waited until the stop"
    assert judging.batch_sizes == [] and events(find_run(tmp_path, "r"), ModelCalled)


def test_the_calls_of_a_batch_are_sent_as_they_would_be_alone(server: Provider, tmp_path: Path) -> None:
    begin(guided(server), tmp_path / "alone", batches=False)
    sent = [json.dumps(each.body, sort_keys=True) for each in server.asked if each.path == "/v1/messages"]
    begin(guided(server), tmp_path / "together", batches=True)
    batches = [each.body["requests"] for each in server.asked if each.path.endswith("/batches")]
    assert batches
    for entry in (entry for batch in batches for entry in batch):
        assert json.dumps(entry["params"], sort_keys=True) in sent


def test_where_no_provider_has_batches_that_is_said_and_the_run_is_as_ever(tmp_path: Path) -> None:
    heard: list[ProgressNote] = []
    evolve(
        msgspec.structs.replace(SMALL, iterations=1),
        runs_dir=tmp_path,
        data_dir=None,
        runtime=Runtime(workers=4, observer=heard.append, batches=True),
        run_id="r",
    )
    assert next(note.message for note in heard if note.is_announcement).startswith("--guidance-batch has no effect")
    assert summarise(find_run(tmp_path, "r")).state == "finished"


def test_judge_calls_that_hold_the_money_at_the_gate_and_answers_that_wait_for_it_do_not_wait_for_each_other(
    judging: Provider, tmp_path: Path
) -> None:
    url = judging.anthropic_url
    own = PRICED.replace("openai/paid", "anthropic/judge").replace("input =", f'base_url = "{url}"\ninput =')
    (tmp_path / "prices.toml").write_text(f"{PRICED}\n{own}")
    prices = read_prices(tmp_path / "prices.toml")
    judge = open_model(f"anthropic/judge?base_url={url}", "judge")
    models = Models(Vague(), open_model("builtin/reference", "guidance"), judge)
    until = time.monotonic() + 600
    runtime = Runtime(
        workers=4,
        retry_policy=QUICK,
        batches=True,
        limits=Limits(max_usd=2.0),
        prices=prices,
        stop=lambda: time.monotonic() > until,
    )
    with pytest.raises(BudgetReached, match=r"calls in flight may cost up to \$(0\.[1-9]|[1-9])"):
        evolve(JUDGED, runs_dir=tmp_path, data_dir=None, runtime=runtime, run_id="r", models=models)
    assert time.monotonic() < until, "somebody waited until the stop"
    assert sum(row.usd or 0.0 for row in summarise(find_run(tmp_path, "r"), prices=prices).ledger) <= 0.4
