"""The judge: a model that is asked about an answer if the benchmark's own rule cannot decide it.

Rules
    - The benchmark's rule comes first. If it finds an answer right, that is final. If it leaves the answer undecided or
      calls it a near miss, the judge is asked. The judge is also asked about an answer that the rule finds wrong if the
      benchmark says that the question is cross-checked.
    - The judge sees only the question, the expected answer and the given answer, all as data inside JSON strings.
    - A reply that was cut at its limit is wrong, whatever it says so far: the model had not settled on an answer. No
      judge is asked.
    - If the judge's reply has no score in [0, 1] or no reason (in the strict form: no yes or no), it is rejected, and
      the judge is asked again at most twice. If there is no usable reply or no judge, or the judge refuses permanently,
      the rule's verdict is final; an undecided answer then remains undecided.
    - A scorer in a process of its own is asked by a move, and no other course waits for it.
    - A judge's calls are moves of the question's course: they are durable before anything follows from them, a resumed
      run finds them again, and they are counted in a tier of their own. A judge is not guidance, so an exam may have
      one.
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

    An episode has its own verdict, the environment's score, which is final. A rule that `is_apart` (in a process of its
    own) is asked by a move.

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
    """Ask the judge about an answer and return its verdict, or None if no reply could be used."""
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
