"""The verb `rejudge`: recorded answers judged again, by a model or another scorer, beside the verdicts on record.

Rules
    - Nothing in the run changes: its verdicts and what it learned from them, its exams, its digests.
    - The answers are those of one exam; of a run without exams, those to the questions that it learned from; of a
      baseline, its own.
    - A judge sees question, right answer and answer, as in a run (session/judge.py), whatever the scorer says.
      Truncated, refused and empty answers are wrong, and no judge sees them. An opinion that is unreadable or missing
      counts as wrong, and is counted separately (askings/agreement.py).
    - An answer that the scorer left undecided does not count towards agreement: there is nothing to agree with.
    - Only a judge costs calls. They are recorded where `effect` records what it asks again (askings/reasking.py), so
      that the same call continues after a stop, and is free later; equal answers to one question are judged once. The
      run's log gets the result once all answers were judged.
    - Another scorer reads the reply of the question's last call, or the answer itself if it has no reply. What it finds
      follows from the record, and is not recorded.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mage_es.engine.askings.agreement import Agreement, Opinion, agreement
from mage_es.engine.askings.reasking import Replies, asking_again, replies_of
from mage_es.engine.askings.rejudging import RecordedAnswer, RecordedAnswers, recorded_answers
from mage_es.engine.benchmarks.tasks.benchmark import Tasks
from mage_es.engine.benchmarks.tasks.scorers import Scoring, name_of, require_scorer, scorer_of
from mage_es.engine.benchmarks.tasks.spec import parse
from mage_es.engine.courses import Ask
from mage_es.engine.models.registry import require_model
from mage_es.engine.run.asking_price import JUDGED, AskingPrice, price_of
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.exams import ExamRecord, exam_records
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.questions import all_questions
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import first_event, reopen_world, require_scoring, state_of
from mage_es.engine.seams.benchmark import Benchmark, scored
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.model import Model
from mage_es.engine.session.judge import template_of
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.events import vocabulary as v
from mage_es.events.errors import Interrupted, UsageError
from mage_es.events.log import LogReader


class RejudgedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer, whether it is `right` on record, None if that is undecided, and whether it would be `now`."""

    question_id: str
    task_type: str
    answer: str
    right: bool | None
    now: bool


class RejudgeReport(msgspec.Struct, frozen=True, kw_only=True):
    """The answers of an `exam` (or if "", those to the questions that the run learned from, or a baseline's), judged
    again `by` a model or a scorer.

    Of `total` questions `right` are right on record, and `now` would be. `lost` ones have no answer and are wrong
    either way; `unseen` ones were cut, refused or empty, so no judge saw them, and are wrong either way, too.
    `undecided` ones are not right on record; `agreement` is over the others. `erased` ones can no longer be
    read, so no other number counts them. `made` calls were made now.
    """

    run_id: str
    exam: str
    by: str
    total: int
    right: int
    now: int
    lost: int
    undecided: int
    erased: int
    agreement: Agreement
    answers: tuple[RejudgedAnswer, ...]
    made: int = 0
    unseen: int = 0


@typed
def rejudge_price(
    run: Run | Path | str,
    *,
    judge: Model,
    exam: int | None = None,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    prices: Prices | None = None,
) -> AskingPrice:
    """Return what `rejudge` with the same arguments costs: judging by what this judge took for answers of the run, or
    if it judged none, by the length of the prompts, assuming that no reply is asked for twice. No model is called.
    Raises what `rejudge` raises."""
    require_model("judge", judge)
    answers = _recorded(as_run(run), exam, data_dir, benchmark)
    known = replies_of(answers.run, answers.reader, {"judge": judge.name})
    left = [move.request for move, _ in _unasked(answers, known)]
    ends = (answers.led(each, known) for each in answers.found)
    like = [end.replies for end in ends if isinstance(end, Opinion) and end.replies]
    return price_of(judge.name, left, prices or Prices(), reply=JUDGED, like=like)


@typed
async def arejudge(
    run: Run | Path | str,
    *,
    judge: Model | None = None,
    scorer: str | Scoring | None = None,
    exam: int | None = None,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
) -> RejudgeReport:
    """Return how many recorded answers of an exam are right according to a judge, or to another scorer of the user's
    own tasks, and how far that agrees with the verdicts on record. `exam` is its number (default: the newest, without a
    control if there is one).

    Raises:
        UsageError: Neither or both of them are given; there is no such exam, or no answer; the questions are episodes,
            or have no other scorer; or dollars are limited and the judge has no price.
        PrerequisiteError: The world of the run, or its right answers, are missing, or the judge cannot be reached.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the same call continues.
    """
    answers, runtime = _recorded(as_run(run), exam, data_dir, benchmark), runtime or Runtime()
    if judge is not None and scorer is None:
        require_model("judge", judge)
        runtime.require_prices({"judge": judge.name})
        opinions, made = await _judged(answers, judge, runtime)
        return _report(answers, opinions, by=judge.name, template=template_of(answers.world.benchmark), made=made)
    if scorer is not None and judge is None:
        return _report(answers, _scored(answers, name := name_of(scorer)), by=name)
    raise UsageError("Give either a judge (a model) or a scorer.")


rejudge = blocking(arejudge)


def _recorded(run: Run, exam: int | None, data_dir: Path | str | None, benchmark: Benchmark | None) -> RecordedAnswers:
    reader = LogReader(run.log_path)
    first_event(reader)
    taken = _exam(run, reader, exam)
    world = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, frozen=True)
    require_scoring(world, "judging anew")
    if is_sequential(world.benchmark):
        raise UsageError(f"The tasks of {world.benchmark.name} are episodes, which their environment scores.")
    answers = recorded_answers(run, reader, world, taken)
    if not answers.found:
        of = f"The exam {taken.opened.exam}" if taken else run.id
        raise UsageError(f"{of} has no answer that could be judged again.")
    return answers


def _exam(run: Run, reader: LogReader, number: int | None) -> ExamRecord | None:
    """Return the exam with a number, or the newest one, preferably without a control; None if none is complete.
    Raises `UsageError`."""
    complete = {record.number: record for record in exam_records(reader) if record.closed}
    if number and number not in complete:
        known = f"complete are {', '.join(map(str, complete))}" if complete else "none is complete"
        raise UsageError(f"{run.id} has no complete exam {number}: {known}.")
    own = [name for name, record in complete.items() if record.opened.control == "none"]
    return complete[number or max(own or complete)] if complete else None


# ------------------------------------------------------------ judged anew


async def _judged(answers: RecordedAnswers, judge: Model, runtime: Runtime) -> tuple[list[Opinion], int]:
    """Return an opinion on each answer, and how many calls that took."""
    known, made = replies_of(answers.run, answers.reader, {"judge": judge.name}), 0
    if left := _unasked(answers, known):
        state, waiting, done, errors = state_of(answers.run, answers.reader), iter(left), 0, list[Exception]()

        def found() -> v.QuestionsReasked:
            judged = (answers.result(judge.name, answers.opinions(known)),) if done == len(left) else ()
            return v.QuestionsReasked(verb="rejudge", judged=judged)

        async with asking_again(
            answers.run, answers.reader, answers.world, {"judge": judge}, runtime, "rejudge", found
        ) as asking:

            async def work() -> None:
                nonlocal done
                for _, answer in waiting:
                    if errors or runtime.stop():
                        return
                    try:
                        while isinstance(move := answers.led(answer, asking.book.replies), Ask):
                            if not await asking.write(state, -1, move, (answer.question.id,)):
                                break
                    except Exception as error:  # raised once the calls in flight, which are paid for, are recorded
                        errors.append(error)
                        return
                    done += 1
                    runtime.observer(asking.note(done, len(left), phase="judged again"))

            async with asyncio.TaskGroup() as group:
                for _ in range(min(runtime.workers, len(left))):
                    group.create_task(work())
            known, made = asking.book.replies, asking.book.calls
            if errors:
                raise errors[0]
            if done < len(left):
                raise Interrupted("Stopped before all answers were judged.")
    return answers.opinions(known), made


def _unasked(answers: RecordedAnswers, known: Replies) -> list[tuple[Ask, RecordedAnswer]]:
    """Return each request that has no reply on record, with an answer that it is about."""
    moves = ((answers.led(each, known), each) for each in answers.found)
    return list({move.request.sha256: (move, each) for move, each in moves if isinstance(move, Ask)}.values())


def _scored(answers: RecordedAnswers, scorer: str) -> list[Opinion]:
    own, started = answers.world.benchmark, first_event(answers.reader)
    if not isinstance(own, Tasks):
        raise UsageError(f"{own.name} is scored by its own rules: only your own tasks can have another scorer.")
    spec = parse(own.name, scorer=scorer)
    require_scorer(spec.scorer)
    problems = map(scorer_of(spec.scorer, spec.labels).problem, (each.question for each in answers.found))
    if problem := next(filter(None, problems), ""):
        raise UsageError(f"The scorer {scorer} does not fit these tasks: {problem}.")
    other = Tasks(spec, all_questions(own), started.data_sha256)
    verdicts = (scored(other, each.question, each.reply or each.event.answer) for each in answers.found)
    return [Opinion(float(verdict.correct)) for verdict in verdicts]


def _report(
    answers: RecordedAnswers, opinions: Sequence[Opinion], *, by: str, template: str = "", made: int = 0
) -> RejudgeReport:
    pairs = list(zip(answers.found, opinions, strict=True))
    decided = [(each.case, said) for each, said in pairs if each.right is not None]
    return RejudgeReport(
        run_id=answers.run.id,
        exam=answers.exam,
        by=by,
        total=len(pairs) + answers.lost,
        right=sum(bool(each.right) for each, _ in pairs),
        now=sum(said.is_right for _, said in pairs),
        lost=answers.lost,
        undecided=len(pairs) - len(decided),
        erased=answers.erased,
        agreement=agreement([case for case, _ in decided], [said for _, said in decided], model=by, template=template),
        answers=tuple(
            RejudgedAnswer(
                question_id=each.question.id,
                task_type=each.event.task_type,
                answer=each.event.answer,
                right=each.right,
                now=said.is_right,
            )
            for each, said in pairs
        ),
        made=made,
        # A scorer sees all of them.
        unseen=sum(not (said.replies or said.problem) for _, said in decided) if template else 0,
    )
