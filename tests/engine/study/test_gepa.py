"""`gepa` in the ring: the package's own search over instructions, asked, scored, logged and resumed like any method."""

import os
import re
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.study.baseline import baseline, read_baseline, resume_baseline
from mage_es.engine.study.baselines.optimizing import CALLS
from mage_es.engine.study.ring import ring
from mage_es.engine.verbs.replay import replay
from mage_es.engine.viewing.show import show
from mage_es.events.errors import Interrupted, PrerequisiteError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, MemoryRefused, ModelCalled, NoteWritten, QuestionPlanned
from tests.engine.study.test_ring import THINGS

needs_gepa = pytest.mark.skipif(
    not all(map(find_spec, ("gepa", "greenlet"))), reason="needs gepa: python -m pip install 'mage-es[gepa]'"
)
PAIR = re.compile(rf"({'|'.join(THINGS)}) means (\w+)")


class Obedient:
    """Answers by the pairs that its system message has, else amber."""

    name = "test/obedient"

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        pairs = dict(PAIR.findall(request.system))
        label = next((label for thing, label in pairs.items() if thing in request.messages[-1]), "amber")
        return Completion(text=f"Answer: {label}", input_tokens=len(request.text.split()), output_tokens=2)


class Reflecting:
    """Adds to the instruction that it is shown what the feedback says."""

    name = "test/reflecting"

    def __init__(self, says: str = "") -> None:
        self.asked: list[Request] = []
        self.says = says

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        instruction = request.prompt.split("```")[1].strip()
        wrong = re.findall(rf"the ({'|'.join(THINGS)}) is gone.*?The right answer is: (\w+)", request.prompt, re.DOTALL)
        learned = " ".join(f"{thing} means {THINGS[thing]}." for thing, _ in wrong)
        return Completion(text=f"```\n{self.says or f'{instruction} {learned}'}\n```", input_tokens=20, output_tokens=9)


@pytest.fixture
def tickets(tmp_path: Path) -> Config:
    rows = [
        f"Ticket {number} of {name} on floor {number % 7}: the {thing} is gone,{label}"
        for number, name in enumerate(["Ada", "Bo", "Cy", "Di", "Eli", "Flo", "Gil", "Hal", "Ivo", "Jo"] * 2)
        for thing, label in THINGS.items()
    ]
    (tmp_path / "tickets.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
    labels = ",".join(THINGS.values())
    return Config(
        benchmark=f"tasks/{tmp_path}/tickets.csv?scorer=choice&labels={labels}", seed=7, held_out=12, anchors=0, pool=12
    )


def searched(
    folder: Path, config: Config, given: Models | None = None, runtime: Runtime | None = None, **more: int
) -> Run:
    baseline(
        "gepa",
        config,
        runs_dir=folder,
        runtime=runtime,
        run_id="gepa",
        models=given or Models(Obedient(), Reflecting()),
        learn_from=24,
        **more,
    )
    return find_run(folder, "gepa")


def asked_in(run: Run) -> list[tuple[str, str]]:
    return sorted((call.about, call.request_sha256) for call in LogReader(run.log_path).of(ModelCalled))


@needs_gepa
@pytest.mark.slow
def test_the_search_finds_an_instruction_that_holds_for_questions_it_never_saw(tmp_path: Path, tickets: Config) -> None:
    report = ring(
        tickets,
        methods=["zero_shot", "gepa"],
        runs_dir=tmp_path / "runs",
        learn_from=24,
        name="r",
        models=Models(Obedient(), Reflecting()),
    )
    start, found = report.rows
    assert start.correct < 6 and found.correct > 9
    assert found.writer == "test/reflecting" and found.guidance_tokens > 0
    run = find_run(tmp_path / "runs", "r-gepa-s7")
    assert all(check.ok for check in verify(run).checks)
    trials = [plan for plan in LogReader(run.log_path).of(QuestionPlanned) if plan.purpose == "trial"]
    held_out = {plan.question_id for plan in LogReader(run.log_path).of(QuestionPlanned) if plan.purpose == "exam"}
    assert 24 < len(trials) <= CALLS * 24 and not held_out & {plan.question_id for plan in trials}


@needs_gepa
@pytest.mark.slow
def test_a_question_is_asked_once_with_each_instruction_and_every_answer_has_its_verdict(
    tmp_path: Path, tickets: Config
) -> None:
    run = searched(tmp_path, tickets)
    trials = [plan for plan in LogReader(run.log_path).of(QuestionPlanned) if plan.purpose == "trial"]
    assert set(Counter((plan.question_id, plan.prompt_sha256) for plan in trials).values()) == {1}
    assert max(Counter(plan.question_id for plan in trials).values()) > 2
    verdicts = {
        (verdict.iteration, verdict.question_id)
        for verdict in LogReader(run.log_path).of(AnswerJudged)
        if verdict.purpose == "trial"
    }
    assert verdicts == {(plan.iteration, plan.question_id) for plan in trials}


@needs_gepa
@pytest.mark.slow
def test_a_search_that_was_stopped_goes_on_where_it_was_and_pays_for_nothing_twice(
    tmp_path: Path, tickets: Config
) -> None:
    whole = searched(tmp_path / "whole", tickets)
    for most in (5, 30, 60):
        left, given = most, Models(Obedient(), Reflecting())

        def stop() -> bool:
            nonlocal left
            left -= 1
            return left < 0

        folder = tmp_path / f"after-{most}"
        with pytest.raises(Interrupted):
            searched(folder, tickets, given, Runtime(workers=1, stop=stop))
        stopped = find_run(folder, "gepa")
        resume_baseline(stopped, models=given)
        made = [*given.execution.asked, *given.guidance.asked]  # type: ignore[attr-defined, union-attr]
        assert len(made) == len(asked_in(stopped)) and asked_in(stopped) == asked_in(whole)
        assert read_baseline(stopped).answers == read_baseline(whole).answers
        assert replay(stopped).checks == replay(whole).checks


@needs_gepa
@pytest.mark.slow
def test_every_prompt_of_a_search_is_rendered_again_from_the_log_alone(tmp_path: Path, tickets: Config) -> None:
    run = searched(tmp_path, tickets)
    plans = list(LogReader(run.log_path).of(QuestionPlanned))
    late = max((plan for plan in plans if plan.purpose == "trial"), key=lambda plan: plan.iteration)
    for plan in (plans[0], late, next(plan for plan in plans if plan.purpose == "exam")):
        report = show(run, plan.question_id, iteration=plan.iteration)
        assert report.prompt_verified and report.purpose == plan.purpose


@needs_gepa
@pytest.mark.slow
def test_a_search_ends_with_its_budget_and_keeps_the_best_instruction_so_far(tmp_path: Path, tickets: Config) -> None:
    whole = searched(tmp_path / "whole", tickets)
    tokens = sum(
        call.input_tokens + call.output_tokens
        for call in LogReader(whole.log_path).of(ModelCalled)
        if call.purpose != "exam"
    )
    run = searched(tmp_path / "half", tickets, budget_tokens=tokens // 2)
    purposes = Counter(plan.purpose for plan in LogReader(run.log_path).of(QuestionPlanned))
    assert 12 <= purposes["trial"] < CALLS * 24 and purposes["exam"] == 12
    exam = next(plan for plan in LogReader(run.log_path).of(QuestionPlanned) if plan.purpose == "exam")
    assert show(run, exam.question_id).prompt_verified and all(check.ok for check in verify(run).checks)


@needs_gepa
@pytest.mark.slow
def test_an_instruction_that_quotes_a_held_out_question_is_refused_and_asked_with_nowhere(
    tmp_path: Path, tickets: Config
) -> None:
    first = searched(tmp_path / "first", tickets)
    exam = next(plan for plan in LogReader(first.log_path).of(QuestionPlanned) if plan.purpose == "exam").question_id
    quoted = show(first, exam).prompt.rpartition("## Question\n\n")[2]
    leaking = searched(tmp_path / "second", tickets, Models(Obedient(), Reflecting(f"Remember: {quoted} is amber.")))
    assert list(LogReader(leaking.log_path).of(MemoryRefused)) and not list(LogReader(leaking.log_path).of(NoteWritten))
    assert len({plan.prompt_sha256 for plan in LogReader(leaking.log_path).of(QuestionPlanned)}) == 36


@needs_gepa
@pytest.mark.slow
def test_the_same_seed_searches_alike_in_another_process_and_another_seed_does_not(
    tmp_path: Path, tickets: Config
) -> None:
    here = asked_in(searched(tmp_path / "here", tickets))
    program = (
        "import sys; from pathlib import Path; import msgspec; from mage_es.engine.config import Config\n"
        "from tests.engine.study.test_gepa import searched\n"
        "searched(Path(sys.argv[1]), msgspec.json.decode(sys.argv[2], type=Config))"
    )
    for hash_seed in ("1", "2"):
        folder = tmp_path / f"there-{hash_seed}"
        subprocess.run(
            [sys.executable, "-c", program, str(folder), msgspec.json.encode(tickets).decode()],
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            cwd=Path(__file__).parents[3],
        )
        assert asked_in(find_run(folder, "gepa")) == here
    assert asked_in(searched(tmp_path / "other", msgspec.structs.replace(tickets, seed=8))) != here


def test_without_the_package_the_command_that_installs_it_is_said_before_a_run_begins(
    tmp_path: Path, tickets: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mage_es.engine.study.baselines.optimizing.find_spec", lambda package: None)
    with pytest.raises(PrerequisiteError, match=r"needs the package gepa: python -m pip install 'mage-es\[gepa\]'"):
        searched(tmp_path / "runs", tickets)
    with pytest.raises(PrerequisiteError, match="needs the package gepa"):
        ring(tickets, methods=["zero_shot", "gepa"], runs_dir=tmp_path / "runs", models=Models(Obedient(), None))
    assert not (tmp_path / "runs").exists()
