"""Looking at what was learned, taking it out of use, bringing it back."""

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.askings.requests import Requests
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run, clock, find_run
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.upkeep.lineage import lineage_of
from mage_es.engine.upkeep.memory import cascade, curate, memories, memory
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.engine.worth.memories import source_of, things_of
from mage_es.events.errors import Interrupted, RunLocked, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import MemoryQuarantined, MemoryReleased, ModelCalled, QuestionPlanned, Retrieved
from mage_es.projections.fold import fold
from tests.engine.conftest import SMALL


@pytest.fixture
def run(small_run: Run, tmp_path: Path) -> Run:
    """A copy of the small run that may be written to."""
    copy = Run(small_run.id, tmp_path / small_run.id)
    shutil.copytree(small_run.path, copy.path)
    return copy


def used_in_exam(run: Run) -> set[str]:
    report = examine(run, at="latest", questions=10, control="none", data_dir=None, runtime=Runtime(workers=2))
    records = LogReader(run.exams_path / report.exam_id / "log").records({QuestionPlanned})
    planned = [record.event for record in records if isinstance(record.event, QuestionPlanned)]
    return {member.memory_id for plan in planned for member in plan.memories}


@pytest.mark.slow
def test_everything_learned_is_listed_and_each_can_be_shown_by_the_beginning_of_its_id(run: Run) -> None:
    found = memories(run, at="latest")
    assert {"success_memory", "principle"} <= {item.kind for item in found.items}
    assert {item.status for item in found.items} <= {"active", "superseded", "failed", "pruned"}
    assert len(memories(run, at="iter-0").items) < len(found.items)
    assert memories(run, at="start").items == ()
    for item in found.items:
        report = memory(run, item.memory_id[:12], at="latest")
        assert report.item == item and "embedding" not in report.fields
        assert 0 <= report.right <= report.prompts
        assert report.origin[0].startswith(("Written by builtin/", "Its question")) and len(report.origin) > 1


@pytest.mark.slow
def test_a_quarantined_memory_is_in_no_exam_until_it_is_released(run: Run) -> None:
    before = used_in_exam(run)
    name = min(before)
    report = curate(run, name, action="quarantine", reason="it misleads", by="alice")
    assert (
        report.item.status == "quarantined" and "by alice" in report.history[-1] and "it misleads" in report.history[-1]
    )
    assert name not in used_in_exam(run)

    assert curate(run, name, action="release", reason="it does not", by="bob").item.status == "active"
    assert used_in_exam(run) == before
    assert verify(run).ok


@pytest.mark.parametrize(
    ("outcome", "kind", "reasoning", "saw", "said"),
    [
        ("failure_memory", "case", "", "solutions", "Its question and right answer are the data's, given by ann; the "),
        (
            "failure_memory",
            "case",
            "By adding.",
            "solutions",
            "Its question, right answer and reasoning are the data's",
        ),
        ("failure_memory", "specific", "Add.", "answers", "Written by m, which saw the right answers, given by ann"),
        ("success_memory", "", "I add.", "nothing", "Written by m, from its own replies, given by ann"),
    ],
)
def test_it_is_said_who_gave_what(outcome: str, kind: str, reasoning: str, saw: str, said: str) -> None:
    origin = {"facts": (), "writer": "m", "saw": saw, "by": "ann"}
    fields = {"outcome": outcome, "kind": kind, "reasoning": reasoning, "wrong_answer": "3912", "origin": origin}
    source = source_of(fields)
    assert source.startswith(said) and ("the wrong answer is the reply of m" in source) == (kind == "case")
    unwritten = source_of({**fields, "origin": {**origin, "writer": ""}})
    assert "reply of" not in unwritten and "saw" not in unwritten


def test_what_was_decided_stands_in_the_log_with_reason_and_name(run: Run) -> None:
    name = memories(run, at="latest").items[0].memory_id
    for number in range(2):
        curate(run, name, action="quarantine", reason=f"reason {number}", by="alice")
        curate(run, name, action="release", reason="", by="bob")
    curate(run, name, action="quarantine", reason="for good", by="alice")

    reader = LogReader(run.log_path)
    events = list(reader.of(MemoryQuarantined, MemoryReleased))
    assert [getattr(event, "reason", "") for event in events] == ["reason 0", "", "reason 1", "", "for good"]
    assert fold(reader).memory.row(name).status == "quarantined"


def test_a_moment_before_the_quarantine_is_as_it_was(run: Run) -> None:
    name = memories(run, at="iter-1").items[0].memory_id
    curate(run, name, action="quarantine", reason="", by="alice")
    assert memory(run, name, at="iter-1").item.status == "active"
    assert memory(run, name, at="iter-1").history == ()
    assert all(check.equal for check in replay(run, until="iter-1").checks)


def test_tools_and_recipes_are_curated_as_memories_are(run: Run) -> None:
    others = [item for item in memories(run, at="latest").items if item.kind in ("tool", "retrieval_recipe")]
    for item in others:
        report = curate(run, item.memory_id, action="quarantine", reason="", by="alice")
        assert report.item.status == "quarantined" and report.item.kind == item.kind
        assert curate(run, item.memory_id, action="release", reason="", by="alice").item.status == item.status


@pytest.mark.parametrize(
    ("name", "action", "says"),
    [
        ("zzzz", "quarantine", "The run has learned nothing with the id zzzz"),
        ("", "quarantine", "The run has learned nothing with the id"),
        ("FIRST", "release", "is not in quarantine, it is active"),
    ],
)
def test_what_cannot_be_is_refused_and_the_log_is_as_it_was(run: Run, name: str, action: str, says: str) -> None:
    first = memories(run, at="latest").items[0].memory_id
    before = LogReader(run.log_path).head.seq
    with pytest.raises(UsageError, match=says):
        curate(run, name.replace("FIRST", first), action=action, reason="", by="")  # type: ignore[arg-type]
    events = [type(record.event).__name__ for record in LogReader(run.log_path).records(since=before + 1)]
    assert set(events) <= {"SegmentSealed"}


def test_quarantine_twice_is_refused(run: Run) -> None:
    first = memories(run, at="latest").items[0].memory_id
    curate(run, first, action="quarantine", reason="", by="alice")
    with pytest.raises(UsageError, match="in quarantine already"):
        curate(run, first, action="quarantine", reason="", by="alice")


def test_a_run_that_is_being_written_is_left_alone(run: Run) -> None:
    first = memories(run, at="latest").items[0].memory_id
    with Log.open(run.log_path, clock=clock), pytest.raises(RunLocked):
        curate(run, first, action="quarantine", reason="", by="alice")


@pytest.mark.slow
def test_in_the_middle_of_episodes_nothing_is_taken_out_and_the_run_goes_on(tmp_path: Path) -> None:
    looks: list[int] = []

    def observe(note: ProgressNote) -> None:
        if note.iteration == 1 and note.phase == "evaluate":
            looks.append(note.done)

    config = Config(benchmark="workshop", seed=7, iterations=2, pool=4, held_out=4, anchors=0)
    with pytest.raises(Interrupted):
        evolve(
            config,
            runs_dir=tmp_path,
            data_dir=None,
            runtime=Runtime(workers=2, observer=observe, stop=lambda: len(looks) > 9),
            run_id="r",
        )
    run = find_run(tmp_path, "r")
    first = memories(run, at="latest").items[0].memory_id
    before = LogReader(run.log_path).head
    with pytest.raises(UsageError, match=r"\d+ of its episodes are under way.*--max-iterations 2"):
        curate(run, first, action="quarantine", reason="", by="alice")
    assert LogReader(run.log_path).head == before
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=2))
    assert curate(run, first, action="quarantine", reason="", by="alice").item.status == "quarantined"


@pytest.mark.slow
def test_a_memory_quarantined_between_two_iterations_is_in_no_prompt_after_it(tmp_path: Path) -> None:
    interrupted = []

    def stop() -> bool:
        return bool(interrupted)

    def observe(note: ProgressNote) -> None:
        if note.iteration == 1:
            interrupted.append(note)

    with pytest.raises(Interrupted):
        evolve(
            SMALL, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=1, observer=observe, stop=stop), run_id="r"
        )
    run = find_run(tmp_path, "r")
    names = [item.memory_id for item in memories(run, at="latest").items if item.kind == "success_memory"]
    planned_before = LogReader(run.log_path).head.seq
    for name in names:
        curate(run, name, action="quarantine", reason="all of them", by="alice")
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=1))

    reader = LogReader(run.log_path)
    plans = list(reader.of(QuestionPlanned, since=planned_before + 1))
    chosen = {member.memory_id for plan in plans for member in plan.memories}
    assert names and plans and not chosen & set(names)
    assert fold(reader).progress.finished and verify(run).ok


@pytest.mark.slow
def test_the_coin_leaves_out_its_share_of_what_evolution_retrieves_and_each_memory_says_what_became_of_it(
    tmp_path: Path, start: Callable[..., Run]
) -> None:
    tossing = start(tmp_path, msgspec.structs.replace(SMALL, coin=0.5))
    plans = list(LogReader(tossing.log_path).of(QuestionPlanned))
    tossed = [plan for plan in plans if plan.purpose in ("fresh", "revisit")]
    assert {plan.coin for plan in tossed} == {0.5} and {plan.coin for plan in plans if plan.purpose == "anchor"} == {
        0.0
    }
    shown, left_out = (Counter(hit.memory_id for plan in tossed for hit in hits(plan)) for hits in (kept, dropped))
    assert 0.3 < left_out.total() / (shown.total() + left_out.total()) < 0.7
    for plan in tossed:
        assert not {hit.memory_id for hit in plan.left_out} & {span.source.rpartition("/")[2] for span in plan.spans}
    for name in {*shown, *left_out}:
        coin = memory(tossing, name, at="latest").coin
        assert [asked for _, asked in coin] == [shown[name], left_out[name]]
        assert all(0 <= right <= asked for right, asked in coin)
    assert verify(tossing).ok


def kept(plan: QuestionPlanned) -> Sequence[Retrieved]:
    return plan.memories


def dropped(plan: QuestionPlanned) -> Sequence[Retrieved]:
    return plan.left_out


@pytest.mark.slow
def test_a_cascade_takes_out_what_was_derived_and_lists_what_was_shown_beside(course_run: Run, tmp_path: Path) -> None:
    run = Run(course_run.id, Path(shutil.copytree(course_run.path, tmp_path / course_run.id)))
    reader = LogReader(run.log_path)
    state = fold(reader)
    names = sorted({hit.memory_id for plan in reader.of(QuestionPlanned) for hit in plan.memories})
    lines = {each: lineage_of(reader, state, each) for each in names}
    name = next(each for each, found in lines.items() if found.together and found.derived)
    receipt = cascade(run, name[:12], reason="its source was wrong", by="alice")
    out = {item.memory_id: item for item in receipt.derived}
    assert out and all(item.status == "quarantined" for item in (receipt.report.item, *out.values()))
    saw = {plan.question_id for plan in reader.of(QuestionPlanned) if name in {hit.memory_id for hit in plan.memories}}
    cases = [state.memory.row(item) for item in out if state.memory.count_of(item)]
    assert {row.question_id for row in cases if row.outcome == "success_memory"} <= saw
    assert any(row.question_id in saw for row in cases)
    together = {each.item.memory_id: each.prompts for each in receipt.together}
    beside = [
        {hit.memory_id for hit in plan.memories} | {*plan.principles}
        for plan in reader.of(QuestionPlanned)
        if name in {hit.memory_id for hit in plan.memories}
    ]
    assert together and not {name, *out} & {*together}
    hits = Counter(other for each in beside for other in each if other in together)
    assert all(together[other] == count for other, count in hits.items())
    assert {each.item.status for each in receipt.together} <= {"active", "superseded"}
    reasons = {event.memory_id: event.reason for event in LogReader(run.log_path).of(MemoryQuarantined)}
    assert reasons.keys() == {name, *out} and reasons[name] == "its source was wrong"
    assert all(reasons[each] == f"derived from {name}: its source was wrong" for each in out)
    [commit] = {record.commit for record in LogReader(run.log_path).records({MemoryQuarantined})}
    assert commit and verify(run).ok


def test_what_guidance_wrote_with_an_answer_in_its_brief_is_derived_and_what_it_wrote_of_others_is_not(
    course_run: Run,
) -> None:
    reader = LogReader(course_run.log_path)
    state, requests = fold(reader), Requests(reader)
    briefs = {record.fact_id.hex(): record.event for record in reader.records({ModelCalled})}
    plans = [plan for plan in reader.of(QuestionPlanned) if plan.memories]
    is_seen, is_unseen = set[str](), set[str]()
    for name in {hit.memory_id for plan in plans for hit in plan.memories}:
        derived = lineage_of(reader, state, name).derived
        saw = [plan for plan in plans if name in {hit.memory_id for hit in plan.memories}]
        for written, thing in things_of(state):
            calls = [briefs[fact] for fact in thing.origin.facts if fact in briefs]
            for call in (call for call in calls if isinstance(call, ModelCalled) and call.tier == "guidance"):
                request = requests.request(call.sent)
                assert request is not None
                shown = any(p.iteration == call.iteration and f'"{p.question_id}"' in request.text for p in saw)
                assert (written in derived) == (shown and written != name)
                (is_seen if shown else is_unseen).add(written)
    assert is_seen and is_unseen


@pytest.mark.slow
def test_a_cascade_takes_out_what_was_derived_from_what_is_out_already(course_run: Run, tmp_path: Path) -> None:
    whole, alone = (Run("r", Path(shutil.copytree(course_run.path, tmp_path / name / "r"))) for name in ("a", "b"))
    reader = LogReader(whole.log_path)
    state = fold(reader)
    names = {hit.memory_id for plan in reader.of(QuestionPlanned) for hit in plan.memories}
    name = min(each for each in names if lineage_of(reader, state, each).derived)
    expected = cascade(whole, name, reason="wrong", by="alice")
    curate(alone, name, action="quarantine", reason="wrong", by="alice")
    receipt = cascade(alone, name, reason="wrong", by="alice")
    assert receipt.derived == expected.derived and (receipt.was_out, expected.was_out) == (True, False)


def test_a_cascade_over_what_is_out_already_is_refused_whole(run: Run) -> None:
    first = memories(run, at="latest").items[0].memory_id
    cascade(run, first, reason="", by="alice")
    before = LogReader(run.log_path).head.seq
    with pytest.raises(UsageError, match="in quarantine already"):
        cascade(run, first, reason="", by="alice")
    assert not list(LogReader(run.log_path).of(MemoryQuarantined, since=before + 1))


@pytest.mark.slow
def test_the_case_of_a_missed_question_is_not_derived_since_it_says_what_the_data_set_says(
    start: Callable[..., Run], tmp_path: Path
) -> None:
    reader = LogReader(
        start(tmp_path, Config(benchmark="wordmath", seed=7, iterations=2, pool=12, held_out=8)).log_path
    )
    state = fold(reader)
    of_data = {row.memory_id for row in state.memory.rows() if row.kind == "case"}
    names = {hit.memory_id for plan in reader.of(QuestionPlanned) for hit in plan.memories}
    derived = {each for name in names for each in lineage_of(reader, state, name).derived}
    assert of_data and derived and of_data.isdisjoint(derived)


def test_a_decision_without_a_name_is_refused(run: Run) -> None:
    name = memories(run, at="latest").items[0].memory_id
    with pytest.raises(UsageError, match="has no name: give the name of who decides"):
        curate(run, name, action="quarantine", reason="it misleads", by=" ")
