"""The judge: a model that is asked about an answer if the benchmark's own rule cannot decide it.

Rules
    - The rule comes first. What it finds right is final; what it leaves undecided goes to the judge, as does a near
      miss, or anything that it finds wrong if the benchmark says that this question is cross-checked.
    - The judge sees the question, the expected and the given answer, as data inside JSON strings, and nothing else.
    - A reply cut at its limit is wrong, whatever it says so far, and no judge is asked: the model had not settled on an
      answer.
    - A reply without a score in [0, 1] and a reason (in the strict form: without yes or no) is rejected, and the judge
      is asked again at most twice. Without a usable reply, or a judge, or if the judge refuses permanently, the rule's
      verdict is final; an undecided answer then stays undecided.
    - A scorer that runs in a process of its own is asked by a move, for which no other course waits.
    - A judge's calls are moves of the question's course: durable before anything follows from them, found again by a
      resumed run, and counted in a tier of their own. A judge is not guidance, so an exam may have one.
"""

from collections.abc import Generator, Mapping
from types import MappingProxyType

import msgspec

from mage_es.engine.briefs import JudgeBrief, JudgeReply
from mage_es.engine.courses import Ask, Course, Fact, score_of
from mage_es.engine.rules.prompt import Templates
from mage_es.engine.seams.benchmark import Benchmark, Question, Verdict, may_be_judged, scored
from mage_es.engine.session.call import typed_reply, typed_request

TEMPLATE = "judge_v1"
"""The default template; a template's id is recorded as the purpose of every call."""
STRICT = "judge_strict_v1"
"""The template for answers that are either right or wrong."""


class StrictReply(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's verdict with nothing between right and wrong."""

    is_correct: bool
    explanation: str = ""

    @property
    def score(self) -> float:
        return float(self.is_correct)


_REPLIES: Mapping[str, type[JudgeReply] | type[StrictReply]] = {TEMPLATE: JudgeReply, STRICT: StrictReply}


def template_of(benchmark: Benchmark) -> str:
    template: str = getattr(benchmark, "judge_template", TEMPLATE)
    return template


def judged(
    course: Course,
    question: Question,
    *,
    benchmark: Benchmark,
    has_judge: bool,
    is_apart: bool = False,
    templates: Templates = MappingProxyType({}),
) -> Course:
    """Follow a course to its end and add the verdict of the rule or the judge.

    An episode brings its own verdict, the environment's score; that is final. A rule that `is_apart`, in its own
    process, is asked by a move.

    [agents, Critic] The rule comes first. A judge, a separate tier in every ledger, decides what the rule leaves open
    and, in a cross-checked benchmark, what the rule calls wrong.
    """
    finish = yield from course
    if finish.verdict is not None:
        return finish
    verdict = (yield from score_of(question, finish.reply)) if is_apart else scored(benchmark, question, finish.reply)
    if finish.reason in ("truncated", "looped"):
        wrong = Verdict(answer=verdict.answer, score=0.0, strict=False, passing=verdict.passing)
        return finish._replace(verdict=wrong)
    if has_judge and may_be_judged(benchmark, question, verdict):
        # Without a usable reply the rule's verdict holds: a judge that fails must not make answers right or wrong.
        verdict = (yield from opinion(question, verdict, template_of(benchmark), templates)) or verdict
    return finish._replace(verdict=verdict)


def opinion(
    question: Question, ruled: Verdict, template: str, templates: Templates = MappingProxyType({})
) -> Generator[Ask, Fact, Verdict | None]:
    """Ask the judge about an answer and return its verdict, None if no reply could be used."""
    # Not the learner's reasoning, which could argue for its answer.
    brief = JudgeBrief(question=question.question, expected=question.gold, answer=ruled.answer)
    form = _REPLIES[template]
    request = typed_request(template, brief, form, templates)
    asked = Ask(question.id, request, agent="Critic", tier="judge", purpose=template, typed=form, is_spare=True)
    reply, called = yield from typed_reply(asked, form)
    # The model of the recorded call: a resumed run may have another judge, but not for this verdict.
    if reply is None or called is None:
        return None
    return Verdict(answer=ruled.answer, score=reply.score, strict=ruled.strict, by=called.model)
