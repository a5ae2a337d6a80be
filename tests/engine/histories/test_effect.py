"""What a memory is worth: questions are asked again without it, once, and the run stays as it was."""

import asyncio
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import mage_es
from mage_es.engine.askings.reasking import asking_again
from mage_es.engine.askings.requests import Requests
from mage_es.engine.auditing.verify import verify
from mage_es.engine.courses import Ask
from mage_es.engine.histories.effect import effect
from mage_es.engine.models.registry import open_model
from mage_es.engine.run.directory import Run, clock, delete_run
from mage_es.engine.run.world import reopen_world, state_of
from mage_es.engine.seams.model import Model, Request
from mage_es.engine.upkeep.backup import backup, restore
from mage_es.engine.upkeep.erase import erase
from mage_es.engine.upkeep.memory import memories
from mage_es.events.errors import BudgetReached, PrerequisiteError, RunLocked, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import ModelCalled, QuestionPlanned, QuestionsReasked, Tier
from tests.bench.effect import measured
from tests.engine.conftest import SMALL
from tests.engine.pears import Echo, in_clear, models_with, stopped
from tests.kit.models import Overheard


def watched() -> Overheard:
    return Overheard(open_model("builtin/analogist", "execution"))


@pytest.fixture
def run(evolved_once: Run, tmp_path: Path) -> Run:
    return Run(evolved_once.id, Path(shutil.copytree(evolved_once.path, tmp_path / "runs" / evolved_once.id)))


def test_without_a_word_nothing_is_asked_and_the_price_is_that_of_the_first_number(run: Run) -> None:
    report = effect(run)
    assert report.rows and report.left.calls >= report.left.questions > 0
    assert not run.reasked.path.exists() and report.made == 0
    assert all(row.paired and row.paired.points is None and row.coin.points is None for row in report.rows)


@pytest.mark.slow
def test_what_is_asked_again_is_recorded_apart_and_paid_for_once(run: Run) -> None:
    before, learner = state_of(run, LogReader(run.log_path)).digests(), watched()
    first = effect(run, top=5, reask=True, execution=learner)
    assert first.made == len(learner.asked) > 0 and first.left.questions == first.unclear == 0
    again = effect(run, top=5, reask=True, execution=learner)
    assert again.rows == first.rows and again.made == 0 and first.made == len(learner.asked)
    for row in first.rows:
        assert (
            row.paired
            and row.paired.pairs == row.paired.questions
            and (row.paired.low is None) == (row.paired.pairs < 30)
        )
    reader = LogReader(run.log_path)
    assert state_of(run, reader).digests() == before and verify(run).ok
    [event] = reader.of(QuestionsReasked)
    assert (event.verb, event.calls) == ("effect", first.made)
    assert (event.head_seq, event.head_chain) == LogReader(run.reasked.log_path).head
    paired = [row.paired for row in first.rows if row.paired]
    assert [(each.pairs, each.won, each.lost) for each in event.without] == [(p.pairs, p.won, p.lost) for p in paired]


@pytest.mark.slow
def test_questions_are_asked_again_while_another_process_writes_the_run(run: Run) -> None:
    with Log.open(run.log_path, clock=clock):
        first = effect(run, top=5, reask=True)
    assert first.made and not list(LogReader(run.log_path).of(QuestionsReasked)) and verify(run).ok
    second = effect(run, top=9, reask=True)
    named = [(event.verb, event.calls) for event in LogReader(run.log_path).of(QuestionsReasked)]
    assert named == [("effect", first.made), ("effect", second.made)] and second.made and verify(run).ok


def test_nothing_is_paid_for_while_another_process_asks_again(run: Run) -> None:
    learner = watched()
    effect(run, top=1, reask=True)
    with Log.open(run.reasked.log_path, clock=clock), pytest.raises(RunLocked):
        effect(run, top=5, reask=True, execution=learner)
    assert not learner.asked


@pytest.mark.slow
def test_verify_names_a_damaged_file_of_what_was_asked_again(run: Run) -> None:
    effect(run, top=2, reask=True)
    [file] = (run.reasked.log_path / "seg").iterdir()
    file.write_bytes(file.read_bytes()[:-40] + bytes(40))
    [failed] = [check for check in verify(run).checks if not check.ok]
    assert failed.name == "asked again" and failed.damaged and file.name in failed.detail


def test_nothing_is_paid_for_twice_where_the_answers_that_the_run_names_are_missing(run: Run) -> None:
    learner = watched()
    effect(run, top=1, reask=True)
    shutil.rmtree(run.reasked.log_path)
    with pytest.raises(PrerequisiteError, match=r"missing.* restore it from a backup"):
        effect(run, top=1, reask=True, execution=learner)
    assert not learner.asked and not run.reasked.log_path.exists()


@pytest.mark.slow
def test_what_a_renamed_run_asks_again_is_its_own(run: Run) -> None:
    renamed = Run("renamed", run.path.rename(run.path.parent / "renamed"))
    effect(renamed, top=1, reask=True)
    assert [check.detail for check in verify(renamed).checks if not check.ok] == []


def test_a_prompt_is_asked_again_with_everything_but_the_memory(run: Run) -> None:
    name = effect(run, top=1).rows[0].name
    effect(run, memory=name[:12], reask=True)
    log, own = LogReader(run.log_path), LogReader(run.reasked.log_path)
    asked = {(plan.iteration, plan.purpose, plan.question_id): plan for plan in log.of(QuestionPlanned)}
    again = list(own.of(QuestionPlanned))
    assert again
    for plan in again:
        was = asked[plan.iteration, plan.purpose, plan.question_id]
        assert [hit for hit in was.memories if hit.memory_id != name] == list(plan.memories)
        same = {each: getattr(was, each) for each in ("memories", "prompt_sha256", "spans", "seen", "principles")}
        assert msgspec.structs.replace(plan, **same) == was
    for call in own.of(ModelCalled):
        request = Requests(own).request(call.sent)
        assert request is not None and request.sha256 == call.request_sha256


def test_a_reply_that_the_run_has_for_the_same_request_is_not_asked_for(run: Run) -> None:
    learner = watched()
    effect(run, reask=True, execution=learner)
    had = {call.request_sha256 for call in LogReader(run.log_path).of(ModelCalled)}
    asked = [request.sha256 for request in learner.asked]
    assert had.isdisjoint(asked) and len(asked) == len(set(asked))


@pytest.mark.slow
def test_a_budget_stops_it_and_the_same_call_goes_on(run: Run) -> None:
    other = Run(run.id, Path(shutil.copytree(run.path, run.path.parent.parent / "other" / run.id)))
    whole = effect(other, reask=True)
    with pytest.raises(BudgetReached):
        effect(run, reask=True, runtime=mage_es.Runtime(limits=mage_es.Limits(max_calls=3)))
    assert sum(1 for _ in LogReader(run.reasked.log_path).of(ModelCalled)) == 3 < whole.made
    stopped = [event.calls for event in LogReader(run.log_path).of(QuestionsReasked)]
    rest = effect(run, reask=True)
    assert (
        [event.calls for event in LogReader(run.log_path).of(QuestionsReasked)]
        == [*stopped, rest.made]
        == [3, rest.made]
    )
    assert rest.rows == whole.rows and 3 + rest.made == whole.made


@pytest.mark.slow
def test_what_was_paid_for_is_named_at_once_even_if_a_second_signal_cuts_its_count_short(run: Run) -> None:
    reader = LogReader(run.log_path)
    world, state = reopen_world(reader, data_dir=None, frozen=True), state_of(run, reader)

    def cut_short() -> QuestionsReasked:
        raise KeyboardInterrupt

    async def ask() -> None:
        models: dict[Tier, Model] = {"execution": watched()}
        async with asking_again(run, reader, world, models, mage_es.Runtime(), "effect", cut_short) as asking:
            await asking.write(state, -1, Ask("again", Request(prompt="How much is 1 plus 1?"), purpose="trial"), ())

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(ask())
    [event] = LogReader(run.log_path).of(QuestionsReasked)
    assert (event.verb, event.calls, event.without) == ("effect", 1, ())
    assert (event.head_seq, event.head_chain) == LogReader(run.reasked.log_path).head and verify(run).ok


def test_what_cannot_be_measured_is_refused_with_what_can(run: Run) -> None:
    with pytest.raises(UsageError, match="not the model that answered, builtin/analogist"):
        effect(run, reask=True, execution=open_model("builtin/copier", "execution"))
    with pytest.raises(UsageError, match=r"builtin/copier is not the judge of the run, which has none.*rejudge"):
        effect(run, reask=True, judge=open_model("builtin/copier", "execution"))
    with pytest.raises(UsageError, match="give only one of memory, kind and task type"):
        effect(run, kind="principle", memory="abcd")
    with pytest.raises(UsageError, match=r"no memory of the kind 'principal'.*principle"):
        effect(run, kind="principal")
    with pytest.raises(UsageError, match="learned nothing with the id zzzz"):
        effect(run, memory="zzzz")


def test_a_kind_is_left_out_as_one(run: Run) -> None:
    report = effect(run, kind="success_memory", reask=True)
    [row] = report.rows
    assert row.paired and row.paired.pairs == row.paired.questions > 0
    names = {item.memory_id for item in memories(run, at="latest").items if item.kind == "success_memory"}
    for plan in LogReader(run.reasked.log_path).of(QuestionPlanned):
        assert names.isdisjoint(hit.memory_id for hit in plan.memories)


@pytest.mark.slow
def test_each_toss_of_the_coin_counts_on_its_side(tmp_path: Path, start: Callable[..., Run]) -> None:
    tossing = start(tmp_path, msgspec.structs.replace(SMALL, coin=0.5))
    [row] = effect(tossing, kind="success_memory").rows
    names = {item.memory_id for item in memories(tossing, at="latest").items if item.kind == "success_memory"}
    log = LogReader(tossing.log_path)
    plans = [plan for plan in log.of(QuestionPlanned) if plan.coin and not plan.is_bare]
    kept, left = (
        sum(hit.memory_id in names for side in sides for hit in side)
        for sides in ([plan.memories for plan in plans], [plan.left_out for plan in plans])
    )
    assert (row.coin.with_it, row.coin.without) == (kept, left) and kept > 1 and left > 1
    assert effect(tossing).pooled


def test_a_backup_has_what_was_asked_again_and_a_deleted_run_leaves_nothing(run: Run, tmp_path: Path) -> None:
    rows = effect(run, top=2, reask=True).rows
    assert backup(run, str(tmp_path / "kept")).exams == 0
    assert restore(str(tmp_path / "kept"), runs_dir=tmp_path / "back", name="back").exams == 0
    back = Run("back", tmp_path / "back" / "back")
    assert effect(back, top=2, reask=True).made == 0 and effect(back, top=2).rows == rows
    delete_run(run)
    assert not run.path.exists()


@pytest.mark.slow
def test_texts_of_subjects_are_sealed_there_too_and_go_with_their_key(tmp_path: Path) -> None:
    run = stopped(tmp_path / "runs", Echo())
    mage_es.resume(run, models=models_with(Echo()))
    assert effect(run, reask=True, execution=Echo()).made
    assert not in_clear(run.path)
    before = [call.text for call in LogReader(run.reasked.log_path).of(ModelCalled)]
    erase(run, subject="customer-1")
    after = [call.text for call in LogReader(run.reasked.log_path).of(ModelCalled)]
    assert len(before) == len(after) and before != after and verify(run).ok


@pytest.mark.slow
def test_of_memories_with_a_known_effect_sign_and_interval_are_right(tmp_path: Path) -> None:
    found = [one for seed in (1, 5) for one in measured(tmp_path, seed, questions=120, top=6)]
    clear = [one for one in found if abs(one.truth) > 10]
    assert clear and all(one.is_sign_right for one in clear)
    covered = [one.is_covered for one in found if one.is_covered is not None]
    assert covered and all(covered)
