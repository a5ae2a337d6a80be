"""Recorded answers judged again, by a model or another scorer: beside the verdicts on record, and paid for once."""

import json
import shutil
from pathlib import Path

import msgspec
import pytest

import mage_es
from mage_es.cli.paying import judging
from mage_es.engine.askings.agreement import kappa
from mage_es.engine.auditing.verify import verify
from mage_es.engine.histories.rejudge import rejudge, rejudge_price
from mage_es.engine.models.registry import open_model
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.world import state_of
from mage_es.engine.seams.model import MAX_TOKENS, Completion, Model, Request
from mage_es.engine.upkeep.erase import erase
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing.chunks import Viewed
from mage_es.events.errors import BudgetReached, Interrupted, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import AnswerJudged, Event, ModelCalled, QuestionsReasked, Record
from tests.engine.forgery import replace
from tests.engine.pears import Echo, in_clear, models_with, stopped
from tests.engine.viewing.test_chunks import index_of
from tests.kit.models import Saying


class Odd:
    """Finds an answer right if it is odd, whatever was expected."""

    name = "test/odd"

    def __init__(self) -> None:
        self.asked = list[dict[str, str]]()

    async def complete(self, request: Request) -> Completion:
        start = request.prompt.index("```json\n") + len("```json\n")
        brief = json.loads(request.prompt[start : request.prompt.index("\n```", start)])
        self.asked.append(brief)
        return said(json.dumps({"score": float(is_odd(brief["answer"])), "reason": "by its last digit"}))


def half_of_it(text: str) -> Saying:
    """Return a model that says a text to about every other question, and Oslo to the others."""
    return Saying("test/half", lambda request: text if request.prompt.count("?") % 2 else "Answer: Oslo")


def said(text: str) -> Completion:
    return Completion(text=text, input_tokens=1, output_tokens=1)


def is_odd(answer: str) -> bool:
    return answer.strip()[-1:] in ("1", "3", "5", "7", "9")


@pytest.fixture
def run(evolved_once: Run, tmp_path: Path) -> Run:
    return Run(evolved_once.id, Path(shutil.copytree(evolved_once.path, tmp_path / "runs" / evolved_once.id)))


def answered(run: Run) -> list[AnswerJudged]:
    """Return the answers to the questions that a run learned from."""
    return [event for event in LogReader(run.log_path).of(AnswerJudged) if event.purpose in ("fresh", "revisit")]


def capitals(runs_dir: Path, learner: Model) -> Run:
    """Return a run of 24 questions whose answer is Oslo; every second one ends with two question marks."""
    tasks = [
        {"question": f"What is the {place}. capital?" + "?" * (place % 2), "answer": "Oslo"} for place in range(24)
    ]
    config = mage_es.Config(benchmark="capitals", iterations=1, pool=12, held_out=4, anchors=0)
    models = mage_es.Models(execution=learner, guidance=mage_es.open_model("builtin/reference", "guidance"))
    mage_es.evolve(config, tasks=tasks, scorer="exact", models=models, runs_dir=runs_dir, run_id="capitals")
    return Run("capitals", runs_dir / "capitals")


def test_what_a_judge_says_is_counted_beside_the_verdicts_and_changes_none(run: Run) -> None:
    before, judge, own = state_of(run, LogReader(run.log_path)).digests(), Odd(), answered(run)
    price = rejudge_price(run, judge=judge)
    report = rejudge(run, judge=judge)
    assert price.questions == price.calls == report.made == len(judge.asked) > 0 and price.usd is None
    pairs = [(each.correct, is_odd(each.answer)) for each in own]
    assert (report.exam, report.by, report.total) == ("", "test/odd", len(own))
    assert (report.right, report.now) == (sum(was for was, _ in pairs), sum(now for _, now in pairs))
    found = report.agreement
    assert (found.both, found.rule_only) == (pairs.count((True, True)), pairs.count((True, False)))
    assert (found.judge_only, found.neither) == (pairs.count((False, True)), pairs.count((False, False)))
    assert found.kappa == kappa(pairs) and found.predictions == len(pairs)
    assert [(each.question_id, each.right, each.now) for each in report.answers] == [
        (event.question_id, event.correct, is_odd(event.answer)) for event in own
    ]
    assert state_of(run, LogReader(run.log_path)).digests() == before and answered(run) == own


@pytest.mark.slow
def test_what_a_judge_said_is_on_record_and_free_from_then_on(run: Run) -> None:
    first = rejudge(run, judge=Odd())
    [event] = LogReader(run.log_path).of(QuestionsReasked)
    assert (event.verb, event.calls) == ("rejudge", first.made)
    [said] = event.judged
    assert (said.judge, said.exam, said.total, said.right, said.now) == (
        "test/odd",
        "",
        first.total,
        first.right,
        first.now,
    )
    assert sum(call.tier == "judge" for call in LogReader(run.reasked.log_path).of(ModelCalled)) == first.made
    assert verify(run).ok
    judge = Odd()
    again = rejudge(run, judge=judge)
    assert not judge.asked and again.made == 0 and again.answers == first.answers
    assert rejudge_price(run, judge=judge).calls == 0
    marks = [mark["text"] for mark in index_of(Viewed(run))["marks"]]
    result = f"test/odd finds {first.now} of {first.total} answers to its questions right, on record are {first.right}"
    assert f"rejudge, {first.made} calls: {result}" in marks


@pytest.mark.slow
@pytest.mark.parametrize("field", ["now", "right", "total"])
def test_a_result_that_does_not_follow_from_what_the_judge_said_is_found(run: Run, field: str) -> None:
    def better(record: Record) -> Event:
        event = record.event
        if not isinstance(event, QuestionsReasked):
            return event
        [said] = event.judged
        return msgspec.structs.replace(
            event, judged=(msgspec.structs.replace(said, **{field: getattr(said, field) + 1}),)
        )

    rejudge(run, judge=Odd())
    replace(run.log_path, run.path, better)
    [failed] = [check for check in verify(run).checks if not check.ok]
    assert failed.name == "verdicts asked again" and "test/odd found" in failed.detail


@pytest.mark.slow
def test_a_budget_stops_it_and_the_same_call_goes_on(run: Run) -> None:
    with pytest.raises(BudgetReached, match="3 calls is reached"):
        rejudge(run, judge=Odd(), runtime=mage_es.Runtime(limits=mage_es.Limits(max_calls=3)))
    judge = Odd()
    left = rejudge_price(run, judge=judge).calls
    report = rejudge(run, judge=judge, runtime=mage_es.Runtime(limits=mage_es.Limits(max_calls=left)))
    assert report.made == left == len(judge.asked) and len(report.answers) == len(answered(run)) and verify(run).ok


def test_a_stop_keeps_what_was_said_by_then(run: Run) -> None:
    judge = Odd()
    most = rejudge_price(run, judge=judge).calls
    with pytest.raises(Interrupted, match="before all answers were judged"):
        rejudge(run, judge=judge, runtime=mage_es.Runtime(workers=1, stop=lambda: len(judge.asked) >= 3))
    assert len(judge.asked) == 3 and rejudge_price(run, judge=judge).calls == most - 3
    [event] = LogReader(run.log_path).of(QuestionsReasked)
    assert (event.verb, event.calls, event.judged) == ("rejudge", 3, ())


@pytest.mark.slow
def test_an_exam_is_judged_by_its_number_and_the_newest_by_default(run: Run) -> None:
    first, second = examine(run, questions=4), examine(run, at="start", questions=5)
    report = rejudge(run, judge=Odd())
    assert (report.exam, report.total, report.right) == (second.exam_id, 5, second.correct)
    examine(run, questions=3, control="shuffled")
    assert rejudge(run, judge=Odd()).exam == second.exam_id
    report = rejudge(run, judge=Odd(), exam=1)
    assert (report.exam, report.total, report.right) == (first.exam_id, 4, first.correct)
    with pytest.raises(UsageError, match=r"no complete exam 4: complete are 1, 2, 3"):
        rejudge(run, judge=Odd(), exam=4)


@pytest.mark.slow
def test_an_opinion_that_cannot_be_read_is_no_word_for_an_answer(run: Run) -> None:
    class Mute(Odd):
        name = "test/mute"

        async def complete(self, request: Request) -> Completion:
            return said("Surely.")

    report = rejudge(run, judge=Mute())
    assert report.now == 0 and report.agreement.unreadable == len(answered(run))
    assert rejudge(run, judge=Mute()).made == 0 and verify(run).ok


def test_another_scorer_of_own_tasks_reads_the_replies_without_a_call(tmp_path: Path) -> None:
    run = capitals(tmp_path, half_of_it("Answer: it is Oslo"))
    own = answered(run)
    report = rejudge(run, scorer="contains")
    assert (report.by, report.made, report.now) == ("contains", 0, len(own)) and report.right < len(own)
    assert report.agreement.judge_only == len(own) - report.right and not run.reasked.path.exists()
    assert rejudge(run, scorer=lambda reply, task: not reply).now == 0
    for scorer, why in (("number", "is not a number"), ("contain", "no scorer 'contain'")):
        with pytest.raises(UsageError, match=why):
            rejudge(run, scorer=scorer)


def test_what_no_judge_saw_is_counted_apart_as_it_can_only_agree(tmp_path: Path) -> None:
    run = capitals(tmp_path, half_of_it(""))
    report = rejudge(run, judge=Odd())
    empty = sum(not event.answer for event in answered(run))
    assert report.unseen == empty > 0 and report.total == len(answered(run))
    assert rejudge(run, scorer="contains").unseen == 0


def test_what_cannot_judge_is_refused(run: Run) -> None:
    with pytest.raises(UsageError, match="Give either a judge"):
        rejudge(run)
    with pytest.raises(UsageError, match="Give either a judge"):
        rejudge(run, judge=Odd(), scorer="exact")
    with pytest.raises(UsageError, match="wordmath is scored by its own rules"):
        rejudge(run, scorer="exact")
    with pytest.raises(UsageError, match="is a text"):
        rejudge(run, judge="test/odd")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is a text"):
        rejudge_price(run, judge="test/odd")  # type: ignore[arg-type]


@pytest.mark.slow
def test_what_a_judge_saw_of_a_subject_is_sealed_and_goes_with_its_key(tmp_path: Path) -> None:
    run = stopped(tmp_path / "runs", Echo())
    mage_es.resume(run, models=models_with(Echo()))
    report = rejudge(run, judge=Odd())
    assert report.made and not in_clear(run.path)
    erase(run, subject="customer-1")
    later = rejudge(run, judge=Odd())
    assert later.made == 0 and later.erased > 0 and later.total + later.erased == report.total and verify(run).ok


def test_a_second_judge_is_asked_the_same_and_its_own_opinions_count(run: Run) -> None:
    class Kind(Odd):
        name = "test/kind"

        async def complete(self, request: Request) -> Completion:
            await super().complete(request)
            return said('{"score": 1.0, "reason": "why not"}')

    first, kind = rejudge(run, judge=Odd()), Kind()
    second = rejudge(run, judge=kind)
    assert first.now < second.now == second.total and len(kind.asked) == second.made == first.made
    assert rejudge(run, judge=Kind()).made == 0 and verify(run).ok


def test_what_was_asked_while_another_process_wrote_the_run_is_named_later_by_who_asked(run: Run) -> None:
    class Other(Odd):
        name = "test/other"

    with Log.open(run.log_path, clock=clock):
        first = rejudge(run, judge=Odd())
    assert first.made and not [*LogReader(run.log_path).of(QuestionsReasked)]
    with Log.open(run.log_path, clock=clock), pytest.raises(Interrupted):
        rejudge(run, judge=Other(), runtime=mage_es.Runtime(limits=mage_es.Limits(max_calls=3)))
    asked = mage_es.effect(run, reask=True)
    named = [(event.verb, event.calls) for event in LogReader(run.log_path).of(QuestionsReasked)]
    assert named == [("rejudge", first.made), ("rejudge", 3), ("effect", asked.made)] and asked.made and verify(run).ok


def test_the_price_of_a_judge_is_by_what_it_took_so_far_second_askings_included(run: Run) -> None:
    class Long(Odd):
        name = "test/long"

        async def complete(self, request: Request) -> Completion:
            reply, is_second = await super().complete(request), request.max_tokens > MAX_TOKENS
            stop = "end" if is_second else "length"
            return Completion(
                text=reply.text if is_second else "Let me think", input_tokens=700, output_tokens=4100, stop_reason=stop
            )

    first = rejudge_price(run, judge=Long())
    with pytest.raises(BudgetReached):
        rejudge(run, judge=Long(), runtime=mage_es.Runtime(workers=1, limits=mage_es.Limits(max_calls=8)))
    price, judge = rejudge_price(run, judge=Long()), Long()
    report = rejudge(run, judge=judge)
    assert (first.calls, first.output_tokens) == (price.questions + 4, 80 * first.calls), "unknown before it is asked"
    assert (price.calls, price.input_tokens, price.output_tokens) == (
        report.made,
        700 * report.made,
        4100 * report.made,
    )
    assert report.made == 2 * price.questions and "as those judged so far did" in judging(price)
    assert "by the length of the prompts" in judging(first) and "asked for again" in judging(first)


def test_a_judge_that_is_told_to_think_is_dearer(run: Run) -> None:
    quick, slow = (
        open_model(f"openai/m?base_url=http://127.0.0.1:9/v1{more}", "judge") for more in ("", "&thinking=on")
    )
    one, other = rejudge_price(run, judge=quick), rejudge_price(run, judge=slow)
    assert other.output_tokens > 10 * one.output_tokens and one.minutes is None
    assert one.input_tokens > 150 * one.calls, "with the form of the reply"
