"""Which iteration changed a metric or an answer, and which memory: a planted flip is found, exactly and cheaply."""

import shutil
from itertools import pairwise
from math import ceil, log2
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import mage_es
from mage_es.engine.auditing.verify import verify
from mage_es.engine.histories.bisect import BisectReport, bisect, bisect_price
from mage_es.engine.histories.diff import diff
from mage_es.engine.histories.effect import effect
from mage_es.engine.run.directory import Run
from mage_es.engine.run.world import first_event, reopen_world, state_of
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.upkeep.erase import erase
from mage_es.engine.upkeep.memory import curate
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.runs import summarise
from mage_es.events.errors import BudgetReached, PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ModelCalled, QuestionPlanned, QuestionsReasked
from tests.engine.conftest import SMALL, begin
from tests.engine.pears import Echo, in_clear, models_with, stopped

LONG = msgspec.structs.replace(SMALL, iterations=6, pool=14, bandits=False, retrieval="nearest")


MARKERS = ["start", *(f"iter-{number}" for number in range(LONG.iterations))]


class Planted:
    """Under the learner's name, answers a question rightly as long as its prompt quotes a text, or as long as not."""

    name = "builtin/analogist"

    def __init__(self, gold: str, text: str, *, is_good: bool = True) -> None:
        self.gold, self.text, self.is_good, self.asked = gold, text, is_good, list[Request]()

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        is_right = (self.text in request.text) == self.is_good
        return Completion(text=f"Answer: {self.gold if is_right else -1}", input_tokens=1, output_tokens=1)


@pytest.fixture(scope="module")
def evolved(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of six iterations; only copy it."""
    return begin(tmp_path_factory.mktemp("long") / "runs", LONG, run_id="long")


@pytest.fixture
def run(evolved: Run, tmp_path: Path) -> Run:
    return copied(evolved, tmp_path)


def copied(run: Run, folder: Path) -> Run:
    return Run(run.id, Path(shutil.copytree(run.path, folder / run.id)))


def held_out(run: Run) -> dict[str, str]:
    """Return the right answer to each question that was held out, by its id."""
    world = reopen_world(LogReader(run.log_path), data_dir=None, frozen=True)
    return {name: world.questions[name].gold for name in world.setting.held_out}


def texts(run: Run) -> dict[str, str]:
    """Return the question of each case of a run, by its id."""
    return {row.memory_id: row.question for row in state_of(run, LogReader(run.log_path)).memory.rows() if row.question}


def prompts(run: Run, markers: list[str], questions: int) -> dict[str, list[dict[str, str]]]:
    """Return the cases that an exam of each moment shows some questions, with their texts; the exams stay there."""
    known, found = texts(run), dict[str, list[dict[str, str]]]()
    for marker in markers:
        examine(run, at=marker, questions=questions)
        for plan in LogReader(run.exams()[-1].log_path).of(QuestionPlanned):
            shown = {hit.memory_id: known[hit.memory_id] for hit in plan.memories}
            found.setdefault(plan.question_id, []).append(shown)
    return found


@pytest.fixture(scope="module")
def shown(evolved: Run, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, str]]]:
    """What exams of all moments of the run show eight questions."""
    return prompts(copied(evolved, tmp_path_factory.mktemp("examined")), MARKERS, 8)


@pytest.mark.slow
@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_one_planted_flip_of_a_recorded_history_is_found_exactly_within_the_bound(
    evolved: Run, shown: dict[str, list[dict[str, str]]], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    question = data.draw(st.sampled_from(sorted(shown)), label="question")
    text = data.draw(
        st.sampled_from(sorted({text for each in shown[question] for text in each.values()})), label="text"
    )
    there = [text in each.values() for each in shown[question]]
    flips = [place for place in range(1, len(there)) if there[place] != there[place - 1]]
    assume(len(flips) == 1)
    run = copied(evolved, tmp_path_factory.mktemp("planted"))
    learner = Planted(held_out(run)[question], text, is_good=data.draw(st.booleans(), label="right with it"))

    price = bisect_price(run, question=question)
    report = bisect(run, question=question, execution=learner)
    assert (report.before, report.after) == (MARKERS[flips[0] - 1], MARKERS[flips[0]])
    assert report.flips == (report.after,) and report.rest == ()
    [cause] = [each for each in report.prompt if each.item.memory_id == report.cause]
    assert texts(run)[report.cause] == text and cause.is_new == there[-1]
    steps = 1 + len(report.prompt)
    assert len(learner.asked) == report.asks == report.calls <= price.questions
    assert report.asks <= 2 + ceil(log2(len(MARKERS) - 1)) + ceil(log2(steps))
    assert len({request.sha256 for request in learner.asked}) == len(learner.asked)


def flip_of(run: Run) -> tuple[str, BisectReport]:
    """Return a held-out question whose answer by the run's own learner flips, and the search for it."""
    for question in held_out(run):
        report = bisect(run, question=question)
        if report.cause:
            return question, report
    raise AssertionError("no answer flips")


@pytest.mark.slow
def test_a_search_is_on_record_and_the_same_call_makes_no_other(run: Run) -> None:
    question, first = flip_of(run)
    [*_, event] = LogReader(run.log_path).of(QuestionsReasked)
    [flip] = event.flips
    assert (flip.question_id, flip.before, flip.after) == (question, first.before, first.after)
    assert event.verb == "bisect" and flip.memory_id == first.cause and flip.prompt_before != flip.prompt_after
    before = LogReader(run.log_path).head
    assert first.asks and bisect_price(run, question=question).questions == 0
    again = bisect(run, question=question)
    assert again.asks == again.calls == 0 and again.cause == first.cause and again.prompt == first.prompt
    assert [each.value for each in again.moments] == [each.value for each in first.moments]
    assert LogReader(run.log_path).head == before and verify(run).ok
    assert effect(run, top=1).rows == effect(copied(run, run.path.parent / "bare"), top=1).rows
    [check] = [check for check in verify(run).checks if check.name == "asked again"]
    assert "on states of its iterations" in check.detail


@pytest.mark.slow
def test_the_memory_that_is_found_lies_between_a_right_and_a_wrong_answer(run: Run) -> None:
    _, report = flip_of(run)
    rights = [bool(each.right) for each in report.prompt if each.right is not None]
    [cause] = [each for each in report.prompt if each.item.memory_id == report.cause]
    last = next(each.value for each in report.moments if each.marker == report.after)
    assert cause.right == bool(last) == rights[-1]
    place = report.prompt.index(cause)
    assert all(each.right != cause.right for each in report.prompt[:place] if each.right is not None)
    # What was asked just before it may be the step of all else, which the table shows, too.
    shown = [each.right for each in report.prompt]
    shown.insert(sum(not each.is_new for each in report.prompt), report.between)
    first = report.moments[[each.marker for each in report.moments].index(report.before)].value
    known = [first, *shown]
    place = known.index(cause.right, 1)
    assert known[place - 1] is not None and bool(known[place - 1]) != cause.right


def test_ends_that_agree_are_said_after_two_prompts(run: Run) -> None:
    question, gold = next(iter(held_out(run).items()))
    learner = Planted(gold, "")  # always right
    report = bisect(run, question=question, execution=learner)
    assert report.before == report.after == report.cause == "" and report.flips == ()
    assert len(learner.asked) <= 2 and {each.value for each in report.moments} <= {1.0, None}


@pytest.mark.slow
def test_the_answers_of_an_exam_are_on_record(run: Run) -> None:
    first, last = (dict(examine(run, at=at, questions=8).answers) for at in ("start", "latest"))
    same = next(name for name in first if first[name] == last[name])
    assert bisect_price(run, question=same).questions == 0
    report = bisect(run, question=same, execution=Planted("", ""))
    assert report.asks == 0 and {report.moments[0].source, report.moments[-1].source} == {"record"}


@pytest.mark.slow
def test_a_memory_that_went_out_of_use_is_what_flips_an_answer(tmp_path: Path) -> None:
    config = msgspec.structs.replace(LONG, iterations=3)
    paused = mage_es.Runtime(limits=mage_es.Limits(max_iterations=2))
    with pytest.raises(BudgetReached):
        mage_es.evolve(config, runs_dir=tmp_path, run_id="paused", runtime=paused)
    run = Run("paused", tmp_path / "paused")
    question, [cases] = next(iter(prompts(copied(run, tmp_path / "examined"), ["iter-1"], 1).items()))
    memory, text = next(iter(cases.items()))
    for name in (name for name, other in texts(run).items() if other == text):
        curate(run, name, action="quarantine", reason="it misleads", by="alice")
    mage_es.resume(run, runtime=mage_es.Runtime(limits=mage_es.Limits(max_iterations=3)))
    report = bisect(run, question=question, good="iter-1", execution=Planted(held_out(run)[question], text))
    assert (report.before, report.after, report.cause) == ("iter-1", "iter-2", memory)
    [cause] = [each for each in report.prompt if each.item.memory_id == memory]
    assert not cause.is_new and cause.right is False and cause.item.status == "quarantined"


@pytest.mark.slow
def test_a_budget_stops_the_search_and_the_same_call_goes_on(run: Run) -> None:
    other = copied(run, run.path.parent / "other")
    question, whole = flip_of(other)
    with pytest.raises(BudgetReached):
        bisect(run, question=question, runtime=mage_es.Runtime(limits=mage_es.Limits(max_calls=1)))
    assert sum(1 for _ in LogReader(run.reasked.log_path).of(ModelCalled)) == 1
    notes = list[mage_es.ProgressNote]()
    rest = bisect(run, question=question, runtime=mage_es.Runtime(observer=notes.append))
    assert rest.cause == whole.cause and rest.asks == whole.asks - 1
    assert all(0 < note.done <= note.total for note in notes) and notes[-1].done == notes[-1].total


def test_an_answer_without_a_verdict_ends_the_search_with_the_reason(run: Run) -> None:
    class Gone(Planted):
        async def complete(self, request: Request) -> Completion:
            raise mage_es.PrerequisiteError("the model is gone")

    question = next(iter(held_out(run)))
    with pytest.raises(PrerequisiteError, match="the model is gone"):
        bisect(run, question=question, execution=Gone("", ""))


def test_a_metric_flips_where_its_level_first_gets_past_that_of_the_earlier_moment(run: Run) -> None:
    rows = {row.iteration: row for row in summarise(run).rows}
    report = bisect(run, metric="anchors")
    whole = [row for row in rows.values() if not row.anchors_unmeasured]
    assert 2 <= len(whole) < len(rows)
    levels = [row.anchor_correct / row.anchor_total for row in whole]
    names = ["start" if row.iteration < 0 else f"iter-{row.iteration}" for row in whole]
    assert {each.marker: each.value for each in report.moments if each.value is not None} == dict(
        zip(names, levels, strict=True)
    )
    is_past = [level > levels[0] if levels[-1] > levels[0] else level < levels[0] for level in levels]
    flip = is_past.index(True)
    assert (report.before, report.after) == (names[flip - 1], names[flip])
    assert report.change == diff(run, run, at=(report.before, report.after))
    assert len(report.flips) == sum(now != was for was, now in pairwise(is_past))
    assert not run.reasked.path.exists() and report.asks == 0


def test_a_state_of_which_few_anchors_were_asked_is_not_compared(run: Run) -> None:
    report = bisect(run, metric="anchors")
    few = [each for each in report.moments if each.value is None]
    assert few and all(0 < each.measured < each.anchors == LONG.anchors for each in few)
    assert all(each.measured == each.anchors for each in report.moments if each.value is not None)
    with pytest.raises(UsageError, match=rf"no value at {few[0].marker} \({few[0].measured} of {LONG.anchors} anchors"):
        bisect(run, metric="anchors", good=few[0].marker)


@pytest.mark.parametrize("metric", ["accuracy", "mastery"])
def test_a_metric_has_a_level_wherever_something_is_on_record(run: Run, metric: str) -> None:
    report = bisect(run, metric=metric)
    assert all(each.value is not None and 0 <= each.value <= 1 for each in report.moments)
    assert report.moments[0].marker == ("iter-0" if metric == "accuracy" else "start")
    if metric == "mastery":
        state = state_of(run, LogReader(run.log_path))
        skills = state.graph.skills()
        assert report.moments[-1].value == sum(map(state.slots.mastery, skills)) / len(skills)


def test_what_cannot_be_searched_is_refused_with_what_can(run: Run) -> None:
    class Other(Planted):
        name = "builtin/copier"

    question = next(iter(held_out(run)))
    with pytest.raises(UsageError, match=r"Give either a metric \(anchors, accuracy, mastery\) or a question"):
        bisect(run)
    with pytest.raises(UsageError, match="Give either a metric"):
        bisect(run, metric="anchors", question=question)
    with pytest.raises(UsageError, match=r"no metric 'anchor'.*anchors"):
        bisect(run, metric="anchor")
    with pytest.raises(UsageError, match="has no value at start: the first is at iter-0"):
        bisect(run, metric="accuracy", good="start")
    with pytest.raises(UsageError, match="long has no question 'wordmath-tst-1'"):
        bisect(run, question="wordmath-tst-1")
    with pytest.raises(UsageError, match="iter-3 is not before iter-1"):
        bisect_price(run, question=question, good="iter-3", bad="iter-1")
    with pytest.raises(UsageError, match=r"seq:9 is not the end of an iteration"):
        bisect(run, question=question, good="seq:9")
    with pytest.raises(UsageError, match="not the model that answered, builtin/analogist"):
        bisect(run, question=question, execution=Other("", ""))
    with pytest.raises(UsageError, match="builtin/copier is not the judge of the run"):
        bisect(run, question=question, judge=Other("", ""))
    assert first_event(LogReader(run.log_path)).execution_model == "builtin/analogist"


class Imitating(Echo):
    """Answers rightly if its prompt shows any case."""

    async def complete(self, request: Request) -> Completion:
        who, rest = request.prompt.rpartition(" has ")[::2]
        number = int(rest.split()[0]) if " has " in who else 0
        return Completion(text=f"Answer: {8 * number} of {who.split()[-1]}", input_tokens=1, output_tokens=1)


@pytest.mark.slow
def test_a_flip_of_a_subjects_question_tells_nothing_once_its_key_is_gone_and_still_holds(tmp_path: Path) -> None:
    run = stopped(tmp_path / "runs", Echo())
    mage_es.resume(run, models=models_with(Echo()))
    assert bisect(run, question="row-1", execution=Imitating()).flips and verify(run).ok
    assert not in_clear(run.path)
    [*_, before] = LogReader(run.log_path).of(QuestionsReasked)
    erase(run, subject="customer-1")
    [*_, after] = LogReader(run.log_path).of(QuestionsReasked)
    hashes = {before.flips[0].prompt_before, before.flips[0].prompt_after}
    assert hashes.isdisjoint({after.flips[0].prompt_before, after.flips[0].prompt_after})
    assert verify(run).ok
