"""The rule first, a judge where it cannot decide; bounded repair; nobody, where there is no judge."""

import asyncio
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.config import Config
from mage_es.engine.courses import Ask, Course, Finish, advance, begin
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.benchmark import LONGEST_REPLY, Question, Verdict
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.session.call import MOST_REPAIRS
from mage_es.engine.session.judge import STRICT, TEMPLATE, judged
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.resume import resume
from mage_es.engine.viewing.show import show
from mage_es.events.errors import Interrupted, PrerequisiteError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, AnswerUndecided, ModelCalled, QuestionPlanned, ReplyRejected
from mage_es.projections.fold import fold
from tests.kit.truthworld.benchmark import TruthWorld
from tests.kit.truthworld.standings import SAYINGS

BENCHMARK = TruthWorld(42)
ESTATE = next(q for q in BENCHMARK.questions("evolution") if q.gold == "surplus")
SURPLUS = SAYINGS["surplus"][0]
SMALL = Config(benchmark="truthworld", teacher_sees="solutions", seed=7, iterations=1, pool=36, held_out=40, anchors=24)


def answered(reply: str) -> Course:
    """A course that comes to a reply at once."""
    return Finish(reply)
    yield


def follow(course: Course, *replies: str) -> tuple[list[Ask], Finish]:
    """Lead a course to its end with these replies of the judge; return what was asked and the end."""
    waiting, asked, move = list(replies), [], begin(course)
    while not isinstance(move, Finish):
        assert isinstance(move, Ask)
        asked.append(move)
        move = advance(course, fact_of(move, waiting.pop(0)))
    assert not waiting
    return asked, move


def fact_of(move: Ask, text: str) -> ModelCalled:
    return ModelCalled(
        iteration=0,
        tier=move.tier,
        agent=move.agent,
        purpose=move.purpose,
        about=move.about,
        attempt=move.attempt,
        request_sha256=move.request.sha256,
        model="some/judge",
        text=text,
        stop_reason="end",
        input_tokens=1,
        output_tokens=1,
    )


def judge_it(
    reply: str, *replies: str, question: Question = ESTATE, has_judge: bool = True
) -> tuple[list[Ask], Finish]:
    return follow(judged(answered(reply), question, benchmark=BENCHMARK, has_judge=has_judge), *replies)


@pytest.mark.paper("agents, Critic")
@pytest.mark.parametrize("reply", ["#### surplus", "#### debt", "####"])
def test_what_the_rule_decides_where_nothing_is_cross_checked_is_put_to_no_judge(reply: str) -> None:
    asked, finish = judge_it(reply)
    assert asked == []
    assert finish.verdict == BENCHMARK.score(ESTATE, reply)


def test_an_undecided_answer_gets_the_judges_score_and_its_name() -> None:
    asked, finish = judge_it(f"#### {SURPLUS}", '{"score": 0.75, "reason": "nearly"}')
    assert [(move.tier, move.agent, move.purpose, move.about) for move in asked] == [
        ("judge", "Critic", TEMPLATE, ESTATE.id)
    ]
    assert finish.verdict is not None
    assert (finish.verdict.score, finish.verdict.by) == (0.75, "some/judge")
    assert not finish.verdict.undecided


def test_the_judge_is_told_question_expected_and_answer_and_nothing_else_of_the_question() -> None:
    secret = msgspec.structs.replace(ESTATE, context="CONTEXT", solution="SOLUTION", meta={"solution": "META"})
    (move,), _ = judge_it(f"REASONING\n#### {SURPLUS}", '{"score": 1, "reason": ""}', question=secret)
    told = move.request.prompt
    assert ESTATE.question in told and SURPLUS.rstrip(".") in told
    assert not any(word in told for word in ("CONTEXT", "SOLUTION", "META", "REASONING"))


def test_a_reply_of_another_form_is_asked_for_again_with_the_reason() -> None:
    asked, finish = judge_it(f"#### {SURPLUS}", "Yes!", '{"score": 7, "reason": ""}', '{"score": 1, "reason": ""}')
    assert [move.attempt for move in asked] == [0, 1, 2]
    assert "no JSON object" in asked[1].request.prompt
    assert "Yes!" in asked[1].request.prompt
    assert finish.verdict is not None and finish.verdict.correct


def test_a_judge_that_never_replies_in_form_has_decided_nothing() -> None:
    asked, finish = judge_it(f"#### {SURPLUS}", *["Yes!"] * (1 + MOST_REPAIRS))
    assert len(asked) == 1 + MOST_REPAIRS
    assert finish.verdict is not None
    assert finish.verdict.undecided and not finish.verdict.failed


def test_without_a_judge_the_answer_stays_undecided() -> None:
    asked, finish = judge_it(f"#### {SURPLUS}", has_judge=False)
    assert asked == []
    assert finish.verdict is not None
    assert (finish.verdict.undecided, finish.verdict.answer) == (True, SURPLUS.rstrip("."))


class Failing(TruthWorld):
    """A benchmark whose scorer some replies are too much for."""

    def score(self, question: Question, reply: str) -> Verdict:
        if reply == "nan":
            return Verdict(answer=reply, score=float("nan"), strict=False)
        if reply == "deep":
            return self.score(question, reply)
        if reply == "missing":
            raise PrerequisiteError("Run: python -m pip install something")
        raise ValueError("what is this?")


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("?", "scorer failed: ValueError: what is this?"),
        ("nan", "scorer failed: ValueError: the score nan is not between 0 and 1"),
        ("deep", "scorer failed: RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_a_reply_that_the_scorer_fails_on_is_undecided_with_the_reason_and_the_judge_may_still_decide(
    reply: str, why: str
) -> None:
    course = judged(answered(reply), ESTATE, benchmark=Failing(42), has_judge=False)
    _, finish = follow(course)
    assert finish.verdict is not None
    assert finish.verdict.undecided and finish.verdict.failed
    assert finish.verdict.why.startswith(why)
    course = judged(answered(reply), ESTATE, benchmark=Failing(42), has_judge=True)
    asked, finish = follow(course, '{"score": 1, "reason": "right"}')
    assert len(asked) == 1 and reply[-1000:] in asked[0].request.prompt
    assert finish.verdict is not None and finish.verdict.correct


def test_a_reply_that_no_rule_reads_to_its_end_is_wrong_and_says_why() -> None:
    _, finish = follow(judged(answered("x" * (LONGEST_REPLY + 1)), ESTATE, benchmark=BENCHMARK, has_judge=True))
    assert finish.verdict is not None
    assert (finish.verdict.correct, finish.verdict.undecided) == (False, False)
    assert finish.verdict.why == "too long: 1000001 characters, of which no rule reads over 1000000"


def test_a_missing_library_is_no_fault_of_the_reply_and_stops_the_run() -> None:
    with pytest.raises(PrerequisiteError, match="pip install"):
        begin(judged(answered("missing"), ESTATE, benchmark=Failing(42), has_judge=False))


class Garbling:
    """The judge of truthworld, whose first two replies about every other answer are of no form."""

    def __init__(self) -> None:
        self.name = "test/garbling"
        self._model = open_model("truth/judge", "judge")

    async def complete(self, request: Request) -> Completion:
        """Return prose, other prose when that is held against it, and at last what the judge says."""
        done = await self._model.complete(request)
        told, rejected = request.prompt.partition("```rejected")[::2]
        if "Well, yes." in rejected or len(told) % 2:
            return done
        return msgspec.structs.replace(done, text="Well, yes." if rejected else "I think so.")


class Counting:
    """A model that counts what it is asked, and stops the run after some calls."""

    def __init__(self, model: Model, *, stop_after: int | None = None) -> None:
        self.name, self._model, self._stop_after = model.name, model, stop_after
        self.asked = 0

    async def complete(self, request: Request) -> Completion:
        """Count, and return what the model says."""
        self.asked += 1
        await asyncio.sleep(0)
        return await self._model.complete(request)

    def is_enough(self) -> bool:
        """Return whether the run should stop."""
        return self._stop_after is not None and self.asked >= self._stop_after


def models(judge: Model | None) -> Models:
    return Models(open_model("truth/learner", "execution"), open_model("truth/guide", "guidance"), judge)


def run_with(folder: Path, judge: Model | None, *, workers: int = 4) -> Run:
    evolve(SMALL, runs_dir=folder, data_dir=None, runtime=Runtime(workers=workers), run_id="r", models=models(judge))
    return find_run(folder, "r")


def events(run: Run) -> list[object]:
    return [record.event for record in LogReader(run.log_path).records()]


def digests(run: Run) -> object:
    return fold(LogReader(run.log_path)).digests()


@pytest.mark.slow
@pytest.mark.paper("agents, Critic")
def test_in_a_run_the_judge_is_asked_about_exactly_what_the_rule_left_open(tmp_path: Path) -> None:
    found = events(run_with(tmp_path, open_model("truth/judge", "judge")))
    asked = Counter(event.about for event in found if isinstance(event, ModelCalled) and event.tier == "judge")
    decided = Counter(e.question_id for e in found if isinstance(e, AnswerJudged) and e.judge == "truth/judge")
    assert asked == decided and asked
    assert {e.judge for e in found if isinstance(e, AnswerJudged)} == {"rule", "truth/judge"}


@pytest.mark.slow
def test_every_bad_reply_is_a_fact_and_ends_nothing(tmp_path: Path) -> None:
    found = events(run_with(tmp_path, Garbling()))
    rejected = [event for event in found if isinstance(event, ReplyRejected)]
    calls = Counter(event.attempt for event in found if isinstance(event, ModelCalled) and event.tier == "judge")
    assert rejected and {event.tier for event in rejected} == {"judge"}
    assert calls[1] == calls[2] == len(rejected) / 2 < calls[0]
    assert not any(isinstance(event, AnswerUndecided) for event in found)


@pytest.mark.slow
def test_the_number_of_workers_changes_no_digest(tmp_path: Path) -> None:
    found = {str(digests(run_with(tmp_path / str(n), Garbling(), workers=n))) for n in (1, 8, 64)}
    assert len(found) == 1


@pytest.mark.slow
@pytest.mark.parametrize("last", [0, 1])
def test_a_run_stopped_after_an_attempt_asks_the_judge_nothing_twice_and_ends_the_same(
    tmp_path: Path, last: int
) -> None:
    whole = run_with(tmp_path / "whole", Garbling(), workers=1)
    attempts = [e.attempt for e in events(whole) if isinstance(e, ModelCalled) and e.tier == "judge"]
    calls = attempts.index(1) + last
    judge = Counting(Garbling(), stop_after=calls)
    with pytest.raises(Interrupted):
        evolve(
            SMALL,
            runs_dir=tmp_path,
            data_dir=None,
            runtime=Runtime(workers=1, stop=judge.is_enough),
            run_id="r",
            models=models(judge),
        )
    run, again = find_run(tmp_path, "r"), Counting(Garbling())
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=4), models=models(again))
    recorded = sum(isinstance(event, ModelCalled) and event.tier == "judge" for event in events(run))
    assert judge.asked == calls
    assert judge.asked + again.asked == recorded
    assert digests(run) == digests(whole)


@pytest.mark.slow
def test_an_exam_may_ask_the_judge_and_has_no_guidance_calls(tmp_path: Path) -> None:
    run = run_with(tmp_path, open_model("truth/judge", "judge"))
    report = examine(run, at="latest", questions=None, control="none", data_dir=None, runtime=Runtime(workers=4))
    assert report.guidance_calls == 0
    assert report.judge_calls > 0
    assert report.undecided == {}


@pytest.mark.slow
def test_an_inspected_question_shows_the_learners_reply_and_who_decided(tmp_path: Path) -> None:
    run = run_with(tmp_path, open_model("truth/judge", "judge"))
    decided = next(e for e in events(run) if isinstance(e, AnswerJudged) and e.judge == "truth/judge")
    report = show(run, decided.question_id, iteration=decided.iteration, data_dir=None)
    assert report.judge == "truth/judge"
    assert report.reply.endswith(f"#### {decided.answer}.")
    assert report.prompt_verified


@pytest.mark.slow
def test_an_exam_without_a_judge_counts_undecided_answers_apart(tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, judge="")
    evolve(config, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=4), run_id="r")
    report = examine(
        find_run(tmp_path, "r"), at="latest", questions=None, control="none", data_dir=None, runtime=Runtime(workers=4)
    )
    assert report.judge_calls == 0
    sat = find_run(tmp_path, "r").exams()[0]
    left = list(LogReader(sat.log_path).of(AnswerUndecided))
    assert report.undecided == {"other words": len(left)} and left
    asked = len(list(LogReader(sat.log_path).of(QuestionPlanned)))
    assert report.total == len(report.answers) == asked - len(left)


class Exacting(TruthWorld):
    """A benchmark whose answers are wholly right or wrong."""

    judge_template = STRICT


@pytest.mark.paper("section 4, RealMath, the judge")
@pytest.mark.parametrize(("reply", "score"), [(True, 1.0), (False, 0.0)])
def test_a_benchmark_may_have_its_answers_judged_as_wholly_right_or_wrong(reply: bool, score: float) -> None:
    replies = ['{"score": 1, "reason": "x"}', f'{{"is_correct": {str(reply).lower()}, "explanation": "x"}}']
    course = judged(answered(SURPLUS), ESTATE, benchmark=Exacting(42), has_judge=True)
    asked, finish = follow(course, *replies)
    assert [ask.purpose for ask in asked] == [STRICT, STRICT]
    assert "`is_correct`" in asked[1].request.prompt.removeprefix(asked[0].request.prompt)
    assert finish.verdict is not None
    assert (finish.verdict.score, finish.verdict.by) == (score, "some/judge")


@pytest.mark.parametrize("reason", ["truncated", "looped"])
@pytest.mark.parametrize("reply", ["#### surplus", SURPLUS])
def test_a_reply_that_was_cut_is_wrong_whatever_it_says_and_no_judge_is_asked(reply: str, reason: str) -> None:
    def cut() -> Course:
        return Finish(reply, reason=reason)
        yield

    asked, finish = follow(judged(cut(), ESTATE, benchmark=BENCHMARK, has_judge=True))
    verdict = finish.verdict
    assert verdict is not None and not asked and finish.reason == reason
    assert (verdict.correct, verdict.score, verdict.strict, verdict.undecided) == (False, 0.0, False, False)
    assert verdict.answer
