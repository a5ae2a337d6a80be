"""The judge: a third role, asked about an answer only where the benchmark's own rule does not have the last word.

Rules
    - The rule first: what it holds right is never put to a judge. What it leaves undecided always is, and what it holds
      wrong where the benchmark says that it is cross-checked.
    - The judge is shown question, expected and given answer, as data inside JSON strings, and nothing else.
    - A reply that is no score in [0, 1] with a reason (or, in the strict form, no yes or no) is rejected, and the judge
      is asked again at most twice. If no reply can be used, or there is no judge, the rule's verdict stands; what that
      leaves undecided counts as wrong, and the verdict says that nobody decided.
    - A judge's calls are part of the course of a question: durable before anything follows from them, found again by
      a resumed run, counted in a tier of their own. A judge is no guidance: an exam may have one.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Annotated

import msgspec

from mage_es.engine.benchmarks.protocol import Benchmark, Question, Verdict, may_be_judged
from mage_es.engine.calling import read_reply
from mage_es.engine.courses import Ask, Course, Fact, Move
from mage_es.engine.guiding import MOST_REPAIRS, asked_again
from mage_es.engine.models.seam import Request
from mage_es.engine.rules.prompt import instruction_length, render_guidance
from mage_es.events.vocabulary import ModelCalled

TEMPLATE = "judge_v1"
"""The template of a benchmark that names no other; its id is recorded as the purpose of every call."""
STRICT = "judge_strict_v1"
"""The template for answers that are wholly right or wrong."""
NOBODY = "nobody"
"""Who decided an answer that no rule could decide and no judge did."""
_TOKENS = 512


class JudgeBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a judge is told."""

    question: str
    expected: str
    answer: str


class JudgeReply(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's verdict: how right the answer is, and why."""

    score: Annotated[float, msgspec.Meta(ge=0, le=1)]
    reason: str


class StrictReply(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's verdict where nothing lies between right and wrong."""

    is_correct: bool
    explanation: str = ""

    @property
    def score(self) -> float:
        """Return 1 or 0."""
        return float(self.is_correct)


_REPLIES: Mapping[str, type[JudgeReply] | type[StrictReply]] = {TEMPLATE: JudgeReply, STRICT: StrictReply}


def template_of(benchmark: Benchmark) -> str:
    """Return the template that a benchmark's judge is asked with: its `judge_template`, if it has one."""
    template: str = getattr(benchmark, "judge_template", TEMPLATE)
    return template


def judged(course: Course, question: Question, *, benchmark: Benchmark, has_judge: bool) -> Course:
    """Follow a course to its end and give the verdict: by the rule, or by a judge where the answer is its matter.

    The verdict that an episode brings with it, its environment's own score, stands.
    """
    finish = yield from course
    if finish.verdict is not None:
        return finish
    verdict = benchmark.score(question, finish.reply)
    if has_judge and may_be_judged(benchmark, question, verdict):
        verdict = (yield from opinion(question, verdict, template_of(benchmark))) or verdict
    if verdict.undecided:
        verdict = msgspec.structs.replace(verdict, by=NOBODY)
    return finish._replace(verdict=verdict)


def opinion(question: Question, ruled: Verdict, template: str) -> Generator[Move, Fact, Verdict | None]:
    """Ask the judge about the answer of the rule's verdict, and return its own; None where no reply could be used."""
    brief = JudgeBrief(question=question.question, expected=question.gold, answer=ruled.answer)
    form = _REPLIES[template]
    prompt = render_guidance(template, {}, msgspec.json.encode(brief).decode())
    schema = msgspec.json.encode(msgspec.json.schema(form)).decode()
    fixed, repair = instruction_length(prompt), ""
    for attempt in range(1 + MOST_REPAIRS):
        request = Request(prompt=prompt + repair, max_tokens=_TOKENS, reply_schema=schema, fixed=fixed)
        fact = yield Ask(
            question.id, request, agent="Critic", tier="judge", purpose=template, attempt=attempt, typed=form
        )
        assert isinstance(fact, ModelCalled)
        reply, problem = read_reply(fact.text, form, stop_reason=fact.stop_reason)
        if reply is not None:
            return Verdict(answer=ruled.answer, score=reply.score, strict=ruled.strict, by=fact.model)
        repair = asked_again(fact.text, problem)
    return None
