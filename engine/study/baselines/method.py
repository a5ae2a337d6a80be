"""The seam of a method: a way to learn from answered questions, as each rival of MAGE is.

A run shows a method the evolution questions in a fixed order, one block after another: each is asked with what the
method `prepare`s for it, and the method `observe`s the outcome. Then it answers the held-out questions, and observes
nothing more. One that must itself choose which questions to ask, and how, has `search` in place of `observe`: it yields
one trial after another.

Rules
    - A method is a function of what it observed: rebuilt from the log, it prepares the same, which is how a run is
      resumed and a prompt is shown. So it reads no clock or file, and derives its random draws from the run's seed.
    - `prepare` is given no gold answer, `observe` what the teacher may see of it (`--teacher-sees`).
    - All methods share templates, extraction and scorer; a method says only what comes with a question.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.seams.embedder import Vectors
from mage_es.engine.seams.model import Request

Writing = Generator[Request, str, None]
"""Asks the writer and is sent its text: "" if that was lost or quotes what must not be learned."""


class ShownCase(NamedTuple):
    """An earlier question and the reply that a prompt shows for it."""

    question: Question
    reply: str


class PreparedTask(NamedTuple):
    """What comes with a question: cases, the last one next to it, as turns of a chat or as plain lines. `notes` are
    quoted before it. `first` is asked of the learner beforehand, and its reply then becomes the notes; `drawn_from` are
    the ids of the cases that it shows. `reply` replaces the model's, which is not asked. `task` replaces the
    benchmark's description of the task; None keeps that."""

    cases: Sequence[ShownCase] = ()
    are_turns: bool = True
    notes: str = ""
    first: Request | None = None
    drawn_from: tuple[str, ...] = ()
    reply: str | None = None
    task: str | None = None


class PromptTrial(NamedTuple):
    """Evolution questions to ask together; `prepared` is what is sent with each, by its id."""

    prepared: Mapping[str, PreparedTask]

    def prepare(self, task: Question) -> PreparedTask:
        return self.prepared[task.id]


class TrialAnswer(NamedTuple):
    """The outcome of a trial's question; without a verdict there is no answer that can be scored."""

    reply: str = ""
    verdict: Verdict | None = None


class Reflection(NamedTuple):
    """Asks the writer about the questions whose ids are `shown`; it is sent the text, as in `Writing`."""

    request: Request
    shown: tuple[str, ...]


PromptSearch = Generator[PromptTrial | Reflection, Any, None]
"""A search: it is sent a text for a reflection and, for a trial, a mapping from each question's id to its
`TrialAnswer`."""


class RunView(NamedTuple):
    """What a method may know about the run: unit vectors of texts, shape [texts, dimension], the sentence that says how
    an answer ends, whether answers are reasoned, whether it is shown right answers, the benchmark's words for the task
    ("": none), the run's seed, from which it derives any random draws, whether its tasks are episodes, and whether
    these are open-ended: then none is simply right, and its score says how far it got."""

    embed: Callable[[Sequence[str]], Vectors]
    answer_format: str
    is_reasoned: bool
    sees_gold: bool
    task: str = ""
    seed: int = 0
    are_episodes: bool = False
    is_open_ended: bool = False


class Preparing(Protocol):
    """Knows what comes with a question."""

    def prepare(self, task: Question) -> PreparedTask:
        """Return what to ask for a question; the gold answer is not shown."""


class Method(Preparing, Protocol):
    """A way to learn. An entry point of `mage_es.methods` is a function of `RunView` that returns one, or one that
    searches."""

    is_asking: bool
    """Whether it needs its own answers to learn; otherwise it is shown only the questions and their right answers."""
    block: int
    """How many questions are answered in a block before it observes the first of them."""

    def observe(self, task: Question, reply: str, verdict: Verdict | None) -> Writing | None:
        """Learn from an answer; `verdict` is None if there is none, and `task.gold` is "" if it may not be seen. For an
        episode, `reply` is the transcript. A method that writes yields requests to the writer: the guidance model, or
        the learner if the run has none. Its class then sets `is_writing`; otherwise the run has no guidance model. A
        class sets `plays` if its cases can be shown in episodes, and `is_modelless` if it needs no model once it has a
        case. `reduced` says how it is reduced, compared with its paper or with all that it learned from."""


@runtime_checkable
class Searching(Preparing, Protocol):
    """A way to learn that chooses for itself what to ask next, until its search or the run's budget ends."""

    def search(self, tasks: Sequence[Question]) -> PromptSearch:
        """Search with these questions, as a teacher may see them; `prepare` then uses the best result so far."""


def blind(question: Question) -> Question:
    """Return a question without anything that could give its answer away."""
    return msgspec.structs.replace(question, gold="", solution="", meta={})


def taught(question: Question, teacher_sees: str) -> Question:
    """Return a question with what a teacher may see of its answer."""
    gold = question.gold if teacher_sees in ("answers", "solutions") else ""
    solution = question.solution if teacher_sees == "solutions" else ""
    return msgspec.structs.replace(blind(question), gold=gold, solution=solution)
