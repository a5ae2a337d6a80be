"""The seam of a method: a way to learn from answered questions, which every rival of MAGE is, too.

A run shows a method the evolution questions in a fixed order, one block after another: what it `prepare`s for each is
asked, and it `observe`s what came of that. Then it is asked the held-out questions, and observes nothing any more.

Rules
    - A method is a function of what it observed: made anew from the log it prepares the same, which is how a run is
      resumed and a prompt shown. So it reads no clock, file or dice of its own.
    - `prepare` is given no gold answer, `observe` what the teacher may see of it (`--teacher-sees`).
    - All methods are asked by the same templates, extraction and scorer; a method says only what comes with a question.
"""

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple, Protocol

import msgspec

from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.seams.embedder import Vectors
from mage_es.engine.seams.model import Request

Writing = Generator[Request, str, None]
"""Asks the writer, and is sent its text: "" for one that was lost, or that quotes what must not be learned."""


class ShownCase(NamedTuple):
    """An earlier question and the reply that a prompt shows for it."""

    question: Question
    reply: str


class PreparedTask(NamedTuple):
    """What comes with a question: cases, the last one next to it, as turns of a chat or else as plain lines.

    `notes` are quoted before it. `first` is what the learner is asked before, and its reply are then the notes;
    `drawn_from` are the ids of the cases that it shows. `reply` takes the place of the model's, which is not asked.
    """

    cases: Sequence[ShownCase] = ()
    are_turns: bool = True
    notes: str = ""
    first: Request | None = None
    drawn_from: tuple[str, ...] = ()
    reply: str | None = None


class RunView(NamedTuple):
    """What a method may know of the run: unit vectors of texts, shape [texts, dimension], the sentence that says how an
    answer ends, whether answers are reasoned, and whether it is shown right answers."""

    embed: Callable[[Sequence[str]], Vectors]
    answer_format: str
    is_reasoned: bool
    sees_gold: bool


class Method(Protocol):
    """A way to learn. An entry point of `mage_es.methods` is a function of `RunView` that returns one."""

    is_asking: bool
    """Whether it needs its own answers to learn; else it is shown the questions with their right answers alone."""
    block: int
    """How many questions are answered before it observes the first of them."""

    def prepare(self, task: Question) -> PreparedTask:
        """Return what to ask of a question, of which it is shown no gold answer."""

    def observe(self, task: Question, reply: str, verdict: Verdict | None) -> Writing | None:
        """Learn from an answer; `verdict` is None where there is none, `task.gold` "" where it may not be seen.

        One that writes yields requests to the writer: the guidance model, or the learner where the run has none. Its
        class then has `is_writing`, else the run has no guidance model.
        """


def blind(question: Question) -> Question:
    """Return a question without anything that could give its answer away."""
    return msgspec.structs.replace(question, gold="", solution="", meta={})


def taught(question: Question, teacher_sees: str) -> Question:
    """Return a question with what a teacher may see of its answer."""
    gold = question.gold if teacher_sees in ("answers", "solutions") else ""
    solution = question.solution if teacher_sees == "solutions" else ""
    return msgspec.structs.replace(blind(question), gold=gold, solution=solution)
