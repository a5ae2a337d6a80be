"""What was asked again is checked as the rest of a run is: its bytes, whose it is, what it asked, and what it found."""

import shutil
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.reasked import NAME, check_reasked
from mage_es.engine.auditing.theorems.requests import check_requests
from mage_es.engine.auditing.verify import verify
from mage_es.engine.histories.bisect import bisect
from mage_es.engine.histories.effect import effect
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.seams.check import Check
from mage_es.engine.worth.effect import asked_without, askings, reasked
from mage_es.events import vocabulary as v
from mage_es.events.log import Log, LogReader
from tests.engine.forgery import Change, replace

SCORED = f"verdicts {NAME}"


@pytest.fixture(scope="module")
def asked_again(evolved_once: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("asked-again") / evolved_once.id
    run = Run(evolved_once.id, Path(shutil.copytree(evolved_once.path, folder)))
    assert effect(run, top=2, reask=True).made
    return run


@pytest.fixture
def run(asked_again: Run, tmp_path: Path) -> Run:
    return Run(asked_again.id, Path(shutil.copytree(asked_again.path, tmp_path / asked_again.id)))


def checked(run: Run) -> dict[str, Check]:
    return {check.name: check for check in verify(run).checks}


def reasked_alone(run: Run) -> dict[str, Check]:
    """Return the checks of what was asked again, without all the others of a verification."""
    reader = LogReader(run.log_path)
    return {check.name: check for check in (*check_reasked(run, reader), check_requests(run, reader))}


@pytest.mark.slow
def test_what_was_asked_again_is_counted_and_cannot_be_removed_and_a_run_that_asked_nothing_has_no_such_check(
    run: Run, evolved_once: Run
) -> None:
    own = LogReader(run.reasked.log_path)
    check, calls = checked(run)[NAME], sum(1 for _ in own.of(v.ModelCalled))
    assert (
        check.ok
        and f"{calls} calls, 2 results follow from it" in check.detail
        and own.head.chain[:16] in check.measured
    )
    shutil.rmtree(run.reasked.path)
    check = reasked_alone(run)[NAME]
    assert not check.ok and check.damaged and "is missing" in check.detail and "from a backup" in check.detail
    assert NAME not in reasked_alone(evolved_once)


def test_what_was_asked_again_and_the_run_does_not_name_is_in_doubt(run: Run) -> None:
    asked = LogReader(run.reasked.log_path).head.seq
    replace(run.log_path, run.path, lambda record: () if isinstance(record.event, v.QuestionsReasked) else record.event)
    check = reasked_alone(run)[NAME]
    assert check.result == "doubt"
    assert f"{asked} of its events are not on the run's record" in check.detail


def test_what_began_to_be_asked_and_is_not_there_is_in_doubt(run: Run) -> None:
    """As if the asking had been killed, so that the run never named what it had asked."""
    replace(run.log_path, run.path, lambda record: () if isinstance(record.event, v.QuestionsReasked) else record.event)
    [(began, event)] = LogReader(run.log_path).numbered(v.ReaskingBegun)
    assert "begins to ask" not in reasked_alone(run)[NAME].detail

    def emptied(record: v.Record) -> v.Event | tuple[()]:
        return record.event if record.seq <= event.head_seq else ()

    replace(run.reasked.log_path, run.reasked.path, emptied)
    for _ in range(2):
        check = reasked_alone(run)[NAME]
        assert check.result == "doubt" and f"event {began} of the run says that `effect` begins to ask" in check.detail
        shutil.rmtree(run.reasked.path, ignore_errors=True)
    assert effect(run, top=2, reask=True).made
    assert reasked_alone(run)[NAME].result == "doubt"


def test_an_answer_given_again_is_scored_again_as_those_of_the_run_are(run: Run) -> None:
    found = checked(run)
    asked = sum(1 for _ in LogReader(run.reasked.log_path).of(v.AnswerJudged))
    assert found[SCORED].ok and found[SCORED].measured == f"{asked} of {asked} scored again" and not found[SCORED].doubt
    whole = Path(shutil.copytree(run.path, run.path.parent / "whole"))

    def right(record: v.Record) -> v.Event:
        event = record.event
        is_it = isinstance(event, v.AnswerJudged) and not event.correct
        return msgspec.structs.replace(event, correct=True, strict=True, score_micro=v.MICRO) if is_it else event

    def other(record: v.Record) -> v.Event:
        event = right(record)
        if isinstance(event, v.AnswerJudged):
            return msgspec.structs.replace(event, answer="zzz")
        return msgspec.structs.replace(event, text="Answer: zzz") if isinstance(event, v.ModelCalled) else event

    for change, words in ((right, "scored again it is wrong"), (other, "zzz")):
        shutil.rmtree(run.path)
        shutil.copytree(whole, run.path)
        replace(run.reasked.log_path, run.reasked.path, change)
        replace(run.log_path, run.path, vouched(run))
        [check] = (check for check in verify(run).checks if not check.ok)
        assert check.name == SCORED and words in check.detail, check


def vouched(run: Run) -> Change:
    """Return a change that lets the run's log name the present log of what was asked again, and what it shows."""
    own, found = LogReader(run.reasked.log_path), LogReader(run.log_path).records({v.QuestionPlanned, v.AnswerJudged})
    asked = askings(found)
    answers = reasked(own.records({v.QuestionPlanned, v.AnswerJudged}), asked)

    def change(record: v.Record) -> v.Event:
        event = record.event
        if not isinstance(event, v.QuestionsReasked):
            return event
        without = [asked_without(event.verb, asked, frozenset(each.memories), answers) for each in event.without]
        named = {"head_seq": own.head.seq, "head_chain": own.head.chain, "without": tuple(without)}
        return msgspec.structs.replace(event, **named)

    return change


def test_a_changed_byte_is_named_with_its_file_and_with_the_way_out(run: Run) -> None:
    file = max((run.reasked.log_path).rglob("*.*"), key=lambda path: path.stat().st_size)
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    found = checked(run)
    check = found[NAME]
    assert not check.ok and check.damaged and file.name in check.detail and "from a backup" in check.detail
    assert found["log"].ok and found["requests"].ok


def test_the_log_of_another_run_is_not_this_runs(run: Run) -> None:
    first = next(LogReader(run.reasked.log_path).records())
    shutil.rmtree(run.reasked.log_path)
    with Log.create(run.reasked.log_path, run="stranger/reasked", clock=clock) as log:
        log.append([v.Draft(event=first.event, iteration=first.iteration, phase=first.phase, ordinal=first.ordinal)])
    check = reasked_alone(run)[NAME]
    assert not check.ok and f"it is the log stranger/reasked, not {run.id}/reasked" in check.detail


@pytest.mark.slow
def test_a_prompt_that_the_run_never_asked_an_answer_without_one_and_another_request_are_found(run: Run) -> None:
    whole = run.path.parent / "whole"
    shutil.copytree(run.reasked.path, whole)

    def forged(change: Change) -> dict[str, Check]:
        shutil.rmtree(run.reasked.path)
        shutil.copytree(whole, run.reasked.path)
        replace(run.reasked.log_path, run.reasked.path, change)
        return reasked_alone(run)

    def renamed(record: v.Record) -> v.Event:
        event = record.event
        is_plan = isinstance(event, v.QuestionPlanned)
        return msgspec.structs.replace(event, question_id=f"no-{event.question_id}") if is_plan else event

    def unplanned(record: v.Record) -> Iterable[v.Event]:
        return [] if isinstance(record.event, v.QuestionPlanned) else [record.event]

    def restored(record: v.Record) -> v.Event:
        event = record.event
        if not isinstance(event, v.QuestionPlanned):
            return event
        plans = LogReader(run.log_path).of(v.QuestionPlanned)
        keys = ("iteration", "purpose", "question_id")
        [was] = [each for each in plans if all(getattr(each, key) == getattr(event, key) for key in keys)]
        return msgspec.structs.replace(event, memories=was.memories, principles=was.principles)

    def other(record: v.Record) -> v.Event:
        event = record.event
        return msgspec.structs.replace(event, request_sha256="0" * 64) if isinstance(event, v.ModelCalled) else event

    for change, name, words in (
        (renamed, NAME, "the run's log has no answer to no-wordmath"),
        (unplanned, NAME, "has no prompt before it"),
        (restored, NAME, "shows what the run's did not, or all of it"),
        (other, "requests", "asked again: what was sent in the call about"),
    ):
        check = forged(change)[name]
        assert not check.ok and not check.damaged and words in check.detail, change.__name__


def test_a_question_asked_on_a_state_is_one_of_the_run_and_shows_what_that_state_had_learned(
    evolved_once: Run, tmp_path: Path
) -> None:
    run = Run(evolved_once.id, Path(shutil.copytree(evolved_once.path, tmp_path / "run" / evolved_once.id)))
    [question, *_] = LogReader(run.log_path).questions()[0]
    assert bisect(run, question=question.id, bad="iter-0").asks
    whole = Path(shutil.copytree(run.reasked.path, tmp_path / "whole"))

    def checked_after(change: Change) -> Check:
        shutil.rmtree(run.reasked.path)
        shutil.copytree(whole, run.reasked.path)
        replace(run.reasked.log_path, run.reasked.path, change)
        [check] = check_reasked(run, LogReader(run.log_path))
        return check

    def altered(**fields: object) -> Change:
        def change(record: v.Record) -> v.Event:
            event = record.event
            if not isinstance(event, v.QuestionPlanned | v.AnswerJudged):
                return event
            return msgspec.structs.replace(event, **{name: fields[name] for name in fields if hasattr(event, name)})

        return change

    [check] = check_reasked(run, LogReader(run.log_path))
    assert check.ok and "0 prompts of the run" in check.detail and "on states of its iterations" in check.detail
    for change, words in (
        (altered(question_id="nobody"), "nobody is no question of the run"),
        (altered(iteration=7), "was asked on iteration 7, which never ended"),
        (altered(principles=("ffff",)), "shows ffff, which iteration"),
    ):
        check = checked_after(change)
        assert not check.ok and words in check.detail, check.detail


def test_what_a_run_says_of_what_it_asked_again_follows_from_it(run: Run) -> None:
    whole = Path(shutil.copytree(run.log_path, run.path.parent / "whole"))

    def says(**fields: object) -> str:
        def change(record: v.Record) -> v.Event:
            event = record.event
            return msgspec.structs.replace(event, **fields) if isinstance(event, v.QuestionsReasked) else event

        replace(run.log_path, run.path, change)
        [check] = check_reasked(run, LogReader(run.log_path))
        shutil.rmtree(run.log_path)
        shutil.copytree(whole, run.log_path)
        assert check.ok == (not fields)
        return check.detail

    [event] = LogReader(run.log_path).of(v.QuestionsReasked)
    first, second = event.without
    assert says().endswith("2 results follow from it")
    better = msgspec.structs.replace(first, won=first.won + 1)
    assert f"says {better.won} won" in says(without=(better, second))
    assert f"says {event.calls + 1} calls, and {event.calls} are there" in says(calls=event.calls + 1)
    assert "it never had the head" in says(head_chain="0" * 64)
    assert "says what memories are worth, which it does not ask" in says(verb="bisect")


@pytest.mark.slow
def test_a_flip_lies_between_two_answers_on_record(evolved_once: Run, tmp_path: Path) -> None:
    run = Run(evolved_once.id, Path(shutil.copytree(evolved_once.path, tmp_path / evolved_once.id)))
    names = (question.id for question in LogReader(run.log_path).questions()[0])
    assert any((found := bisect(run, question=name)).asks and found.cause for name in names)
    [check] = check_reasked(run, LogReader(run.log_path))
    assert check.ok and "1 result follows from it" in check.detail
    whole = Path(shutil.copytree(run.log_path, tmp_path / "whole"))
    for fields in ({"memory_id": "ffff"}, {"prompt_after": "0" * 64}, {"question_id": "nobody"}):

        def change(record: v.Record, fields: dict[str, str] = fields) -> v.Event:
            event = record.event
            if not isinstance(event, v.QuestionsReasked) or not event.flips:
                return event
            return msgspec.structs.replace(event, flips=(msgspec.structs.replace(event.flips[0], **fields),))

        replace(run.log_path, run.path, change)
        [check] = check_reasked(run, LogReader(run.log_path))
        assert not check.ok and "flips from" in check.detail and "no two answers do" in check.detail
        shutil.rmtree(run.log_path)
        shutil.copytree(whole, run.log_path)
