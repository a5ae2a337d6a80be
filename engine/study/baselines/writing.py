"""Methods that write: published rivals, each with its paper's own steps and the content of its prompts in our words.

    dynamic_cheatsheet     one sheet, rewritten after each answer (arXiv 2504.07952, section 2, DC-Cu)
    cheatsheet_retrieval   a sheet for each question, made from the nearest cases (the same, DC-RS)
    reasoning_bank         insights of the nearest earlier question, right or wrong (2509.25140, section 3)
    ace                    a playbook of counted lines that grows by small additions (2510.04618, section 3)
    expel                  insights by voting, and the nearest right answers as cases (2308.10144, section 4)

Rules
    - The writer is the run's guidance model, or the learner itself if it has none. In the exam only the sheet of
      `cheatsheet_retrieval` is written, by the learner.
    - Whether an answer was right is the scorer's verdict, and the right answer is shown if the teacher may see it; the
      papers' models judge themselves if they have neither.
    - A text that was lost, or that quotes a guarded question, is "": the previous one stays.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from mage_es.engine.rules.prompt import by_example, render_guidance
from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.seams.model import Request
from mage_es.engine.study.baselines.method import PreparedTask, RunView, ShownCase, Writing
from mage_es.engine.study.baselines.methods import NearestCases

MOST_TOKENS: Mapping[str, int] = {
    "cheatsheet_v1": 640,
    "cheatsheet_for_v1": 256,
    "insights_v1": 256,
    "playbook_reflect_v1": 256,
    "playbook_update_v1": 128,
    "insight_votes_v1": 192,
}
"""The limit, by template, in tokens, of a text that the learner itself writes: a small model keeps writing until it is
cut off."""
_ASKED, _REPLIED = 4000, 2000
_LINE = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+(\S.*)$", re.MULTILINE)
_ID = re.compile(r"\bb(\d+)\b")
# A quotation mark that opens the insight belongs to it.
_VOTE = re.compile(
    r"^[^\w\n]*(?:(AGREE|DISAGREE|EDIT)[^\w\n]+i(\d+)|ADD)\b[^\w\n\"'\u201c\u2018\u00ab]*(.*)$", re.MULTILINE
)


class Material(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a writer is shown; `task` says what the learner does, and how its answers end."""

    task: str = ""


class AnswerShown(Material, frozen=True, kw_only=True):
    """An answer as it is shown to a writer, with the notes that came with the question."""

    notes: str = ""
    question: str
    reply: str
    is_right: bool
    right_answer: str = ""


class LessonShown(Material, frozen=True, kw_only=True):
    notes: str
    lesson: str


class VoteShown(Material, frozen=True, kw_only=True):
    insights: str
    answers: Sequence[AnswerShown]


class NeighboursShown(Material, frozen=True, kw_only=True):
    question: str
    earlier: Sequence[tuple[str, str]]


def _written(view: RunView, template: str, brief: Material) -> Request:
    task = f"{view.task} {by_example(view.answer_format)}".strip()
    prompt = render_guidance(template, msgspec.structs.replace(brief, task=task))
    return Request(system=prompt.system, prompt=prompt.text, max_tokens=MOST_TOKENS[template])


def _answer_shown(task: Question, reply: str, verdict: Verdict | None, notes: str = "") -> AnswerShown:
    return AnswerShown(
        notes=notes,
        question=f"{task.context}\n\n{task.question}".strip()[:_ASKED],
        reply=reply[:_REPLIED],
        is_right=verdict is not None and verdict.correct,
        right_answer=task.gold,
    )


class DynamicCheatsheet:
    """DC-Cu: a curator rewrites one sheet after each answer."""

    is_asking, is_writing, block = True, True, 1

    def __init__(self, view: RunView) -> None:
        self.view, self._sheet = view, ""

    def prepare(self, task: Question) -> PreparedTask:
        return PreparedTask(notes=self._sheet)

    def observe(self, task: Question, reply: str, verdict: Verdict | None) -> Writing:
        shown = _answer_shown(task, reply, verdict, self._sheet)
        self._sheet = (yield _written(self.view, "cheatsheet_v1", shown)) or self._sheet


class CheatsheetRetrieval(NearestCases):
    """DC-RS: what the nearest cases have in common is compiled for each question.

    Ours keeps no sheet from one question to the next: in an exam nothing is learned.
    """

    plays = False
    reduced = "no sheet is kept: for each question the learner writes one of at most 256 tokens"

    def prepare(self, task: Question) -> PreparedTask:
        cases = super().prepare(task).cases
        if not cases:
            return PreparedTask()
        earlier = [(case.question.question[:_REPLIED], case.reply) for case in cases]
        shown = NeighboursShown(question=task.question[:_ASKED], earlier=earlier)
        first = _written(self.view, "cheatsheet_for_v1", shown)
        return PreparedTask(first=first, drawn_from=tuple(case.question.id for case in cases))


class ReasoningBank(NearestCases):
    """Insights from each answer; a prompt gets those that come from the nearest question."""

    is_writing, block, plays = True, 1, False
    reduced = "no test-time scaling"

    def __init__(self, view: RunView) -> None:
        super().__init__(view)
        self.is_asking = True
        self._insights: dict[str, str] = {}

    def prepare(self, task: Question) -> PreparedTask:
        found = self.nearest(task, 1)
        return PreparedTask(notes=self._insights[found[0].question.id] if found else "")

    def observe(self, task: Question, reply: str, verdict: Verdict | None) -> Writing:
        written = yield _written(self.view, "insights_v1", _answer_shown(task, reply, verdict))
        if lines := _LINE.findall(written)[:3]:
            self._insights[task.id] = "\n".join(f"- {line.strip()}" for line in lines)
            self.cases.append(ShownCase(task, ""))


class PlaybookLine(msgspec.Struct):
    text: str
    helpful: int = 0
    harmful: int = 0


class Ace:
    """A reflector says what helped and what harmed, a curator adds lines, and code merges them.

    A line whose harm outweighs its help is no longer shown, and a near-duplicate is not added: the paper's
    grow-and-refine, by the run's embedder.
    """

    is_asking, is_writing, block = True, True, 1
    most, alike = 60, 0.9
    reduced = "one pass over the questions and one reflection on each answer, where its paper has several of both"

    def __init__(self, view: RunView) -> None:
        self.view = view
        self._lines: dict[int, PlaybookLine] = {}

    @property
    def _kept(self) -> dict[int, PlaybookLine]:
        return {number: line for number, line in self._lines.items() if line.harmful <= line.helpful}

    @property
    def playbook(self) -> str:
        kept = self._kept
        best = sorted(kept, key=lambda number: (kept[number].helpful - kept[number].harmful, number))[-self.most :]
        return "\n".join(f"[b{number}] {kept[number].text}" for number in sorted(best))

    def prepare(self, task: Question) -> PreparedTask:
        return PreparedTask(notes=self.playbook)

    def observe(self, task: Question, reply: str, verdict: Verdict | None) -> Writing:
        thought = yield _written(self.view, "playbook_reflect_v1", _answer_shown(task, reply, verdict, self.playbook))
        for number in _numbers(thought, "helpful"):
            if number in self._lines:
                self._lines[number].helpful += 1
        for number in _numbers(thought, "harmful"):
            if number in self._lines:
                self._lines[number].harmful += 1
        if lesson := _field(thought, "lesson"):
            added = yield _written(self.view, "playbook_update_v1", LessonShown(notes=self.playbook, lesson=lesson))
            for line in _LINE.findall(added)[:2]:
                self._add(line.strip())

    def _add(self, text: str) -> None:
        # A dropped line is not compared: the writer does not see it, and may write it again.
        if kept := self._kept:
            *there, new = self.view.embed([*(line.text for line in kept.values()), text])
            if max(float(vector @ new) for vector in there) >= self.alike:
                return
        self._lines[len(self._lines) + 1] = PlaybookLine(text)


class Insight(msgspec.Struct):
    text: str
    votes: int = 2


class Expel(NearestCases):
    """A writer votes on insights: it agrees, disagrees, edits or adds; an insight without a vote is dropped. The writer
    is shown each wrong answer beside the nearest right one, and right ones in groups of eight.
    """

    is_writing, plays, listed = True, False, 8
    reduced = "one try for each question, where its paper reflects and tries again"

    def __init__(self, view: RunView) -> None:
        super().__init__(view)
        self.is_asking = True
        self._insights: dict[int, Insight] = {}
        self._added = 0
        self._solved: dict[str, AnswerShown] = {}

    @property
    def insights(self) -> str:
        return "\n".join(f"[i{number}] {each.text}" for number, each in self._insights.items())

    def prepare(self, task: Question) -> PreparedTask:
        return super().prepare(task)._replace(notes=self.insights)

    def observe(self, task: Question, reply: str, verdict: Verdict | None) -> Writing | None:
        shown = _answer_shown(task, reply, verdict)
        if not shown.is_right:
            return self._vote([shown, *(self._solved[case.question.id] for case in self.nearest(task, 1))])
        self._solved[task.id] = shown
        self.cases.append(ShownCase(task, reply.strip()[:_REPLIED]))
        return None if len(self._solved) % self.listed else self._vote([*self._solved.values()][-self.listed :])

    def _vote(self, answers: Sequence[AnswerShown]) -> Writing:
        text = yield _written(self.view, "insight_votes_v1", VoteShown(insights=self.insights, answers=answers))
        for word, number, said in [found.groups() for found in _VOTE.finditer(text)][:4]:
            insight = self._insights.get(int(number or 0))
            if not word and said:
                self._added += 1
                self._insights[self._added] = Insight(said.strip())
            elif insight:
                insight.text = said.strip() or insight.text if word == "EDIT" else insight.text
                insight.votes += -1 if word == "DISAGREE" else 1
        self._insights = {number: each for number, each in self._insights.items() if each.votes > 0}


def _field(thought: str, name: str) -> str:
    """Return what follows the name of a field, however the writer set it (`**Lesson:** ...`), "" without it."""
    found = re.search(rf"^\W*{name}\W*:[ *_]*", thought, re.IGNORECASE | re.MULTILINE)
    return thought[found.end() :].strip() if found else ""


def _numbers(thought: str, what: str) -> list[int]:
    line = _field(thought, what).partition("\n")[0]
    return [int(number) for number in _ID.findall(line)]


WRITING: Mapping[str, type[DynamicCheatsheet | CheatsheetRetrieval | ReasoningBank | Ace | Expel]] = {
    "dynamic_cheatsheet": DynamicCheatsheet,
    "cheatsheet_retrieval": CheatsheetRetrieval,
    "reasoning_bank": ReasoningBank,
    "ace": Ace,
    "expel": Expel,
}
