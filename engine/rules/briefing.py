"""How much of a question a brief shows: as much as the teacher may see and the budget allows.

Rules
    - Only `teacher_knowledge` puts a right answer, or the data set's own solution, into a brief.
    - If a brief is too long, every text in it is shortened first; then questions are left out. An event records the
      cut.
    - If a context is cut, passages that hold the answer (where it is known) are kept first, then passages that share
      the rarest words with the question.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from mage_es.engine.briefs import Brief, Case
from mage_es.engine.rules.prompt import Templates, render_guidance
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.tokens import estimated_tokens
from mage_es.events.vocabulary import BriefCut

AnyOf = TypeVar("AnyOf", bound=Brief)

GAP = " [...] "
_PASSAGES = re.compile(r"\n+|(?<=[.!?;]) +")
_WORD = re.compile(r"\w{3,}|\d+")


class Detail(NamedTuple):
    """A brief's limits: wrong and solved questions, characters of a context and of any other text."""

    cases: int
    solved: int
    context: int
    text: int


WHOLE = Detail(1_000_000, 1_000_000, 1_000_000_000, 1_000_000_000)
DETAILS = (
    Detail(6, 6, 4000, 3000),
    Detail(6, 6, 2500, 2000),
    Detail(6, 6, 1500, 1200),
    Detail(6, 5, 900, 800),
    Detail(5, 4, 600, 500),
    Detail(4, 3, 400, 350),
    Detail(3, 2, 250, 250),
    Detail(2, 1, 120, 150),
    Detail(1, 0, 80, 80),
)
"""Each step is shorter than the one before. Six questions tell a teacher as much as twelve."""


class Known(NamedTuple):
    """What the teacher may know about a question's answer, or ""."""

    answer: str
    solution: str


def teacher_knowledge(setting: Setting, question: Question) -> Known:
    """Return the right answer and the data set's own solution, without the answer at its end."""
    match setting.config.teacher_sees:
        case "errors":
            return Known("", "")
        case "solutions":
            return Known(question.gold, _without_answer(question.solution, question.gold))
        case "answers" | "model":
            return Known(question.gold, "")


def _without_answer(solution: str, answer: str) -> str:
    """Return a solution without a last line that only states the answer, which the brief shows separately."""
    before, _, last = solution.rstrip().rpartition("\n")
    said = re.sub(r"^\W*(answer|final answer)?\W*", "", last, count=1, flags=re.IGNORECASE)
    return before if said.strip() == answer.strip() else solution.rstrip()


def case_for_teacher(setting: Setting, question: Question, detail: Detail) -> Case:
    """Return a question without its context, and with as much of its answer as the teacher may see."""
    answer, solution = teacher_knowledge(setting, question)
    return Case(
        question_id=question.id,
        question=clipped(question.question, detail.text),
        answer=clipped(answer, detail.text),
        solution=clipped(solution, detail.text),
    )


def window(context: str, about: str, most: int, *, answer: str = "") -> str:
    """Return the passages of a context that say the most about something, in order, within a number of characters;
    those with the literal answer take precedence."""
    if len(context) <= most:
        return context
    passages = [passage for passage in _PASSAGES.split(context) if passage.strip()]
    words = [_words(passage) for passage in passages]
    shared = Counter(word for of_passage in words for word in of_passage)
    wanted = _words(about)

    def worth(place: int) -> float:
        return sum(1 / shared[word] for word in wanted & words[place])

    said = re.compile(rf"(?<!\w){re.escape(answer)}(?!\w)", re.IGNORECASE)

    def holds(place: int) -> bool:
        return answer != "" and said.search(passages[place]) is not None

    kept, room = list[int](), most - len(GAP)
    for place in sorted(range(len(passages)), key=lambda place: (not holds(place), -worth(place), place)):
        taken = len(passages[place]) + len(GAP)
        if worth(place) and taken <= room:
            kept.append(place)
            room -= taken
    if not kept:
        return clipped(context, most)
    text = ""
    for before, place in zip([-1, *sorted(kept)], sorted(kept), strict=False):
        text += (GAP if place > before + 1 else "\n" if text else "") + passages[place]
    return (text if place == len(passages) - 1 else text + GAP).strip()


def clipped(text: str, most: int) -> str:
    """Return the beginning and the end of a text, within a number of characters: a reply's answer is at its end."""
    if len(text) <= most:
        return text
    head = max(0, most - len(GAP)) * 2 // 3
    tail = max(0, most - len(GAP)) - head
    return text[:head] + GAP + (text[-tail:] if tail else "")


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def fitted(
    setting: Setting, iteration: int, template: str, about: str, brief_of: Callable[[Detail], AnyOf]
) -> tuple[AnyOf, BriefCut | None]:
    """Return the most detailed brief that fits the budget, or else the shortest one, and what was cut."""
    whole = tokens_of(template, brief_of(WHOLE), setting.templates)
    for detail in DETAILS:
        brief = brief_of(detail)
        tokens = tokens_of(template, brief, setting.templates)
        if tokens <= setting.guidance_context:
            break
    if tokens == whole:
        return brief, None
    cut = BriefCut(
        iteration=iteration, purpose=template, about=about, tokens=tokens, tokens_whole=whole, **detail._asdict()
    )
    return brief, cut


def tokens_of(template: str, brief: Brief, templates: Templates) -> int:
    prompt = render_guidance(template, brief, templates)
    return estimated_tokens(prompt.system) + estimated_tokens(prompt.text)
