"""The seam of a benchmark: questions in two upstream splits, a scorer, and how a prompt asks for the answer.

Rules
    - `gold`, `solution` and `meta` are never shown to the learner.
    - `solution` (the worked reference solution) is read only for evolution questions, even if others have one.
    - `score` is a pure function of the question and the reply's text.
    - If a benchmark has no test questions, the run makes a test split. Near-duplicates go into one split together.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from mage_es.engine.seams.extraction import plain_answer
from mage_es.events.errors import MageError, last_line

Split = Literal["evolution", "test"]
SPLITS: tuple[Split, ...] = ("evolution", "test")
TaskTypeSource = Literal["metadata", "input", "gold", "none"]
ONE_TYPE = "task"
"""The single task type of questions without one."""
TEST_SHARE = 0.3
"""The share of a benchmark with one split that is never learned from."""
LONGEST_REPLY = 1_000_000
"""Most characters of a reply that is scored by rule."""
FAILED = "scorer failed"
"""The kind of reason if a scorer gave no score."""
_LONGEST_ANSWER, _LONGEST_WHY, _SHOWN = 20_000, 400, 1500
ContextRole = Literal["material", "instruction", "question"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question of a benchmark.

    `task_type` is the benchmark's own label; the benchmark's `task_type_source` says what it is made from. It is "" if
    that metadata is missing: such a question is typed from its text. `meta` is what else the scorer must know, and who
    gave the right answer (`by`). `stub` is the end of a question that stops where its answer belongs, omitted if the
    learner should reason first; `titles` are those of the context's paragraphs, if any. `subject` is the person or
    customer whose texts these are, "" for none: they are encrypted and can be erased. `family` names a group of
    phrasings, where known; the exam reports separately on families that evolution never shows.
    """

    id: str
    benchmark: str
    split: Split
    task_type: str
    question: str
    context: str = ""
    gold: str
    solution: str = ""
    family: str = ""
    stub: str = ""
    titles: tuple[str, ...] = ()
    meta: Mapping[str, str] = {}
    subject: str = ""


class Repeat(msgspec.Struct, frozen=True):
    """A question that is in no split because another question has the same, or nearly the same, text."""

    id: str
    of: str
    nearly: bool

    def __str__(self) -> str:
        return f"{self.id} {'nearly ' if self.nearly else ''}repeats {self.of}"


def is_test(question_id: str) -> bool:
    """[section 4, STBench, the split] The hash of file and position decides: about three tenths are the test split. So
    the division is the same on every machine, and adding questions does not move others to another split.
    """
    return hash_share(question_id) < TEST_SHARE


def hash_share(question_id: str) -> float:
    """Return the position of an id's hash among all hashes, from 0 to 1."""
    return int.from_bytes(hashlib.sha256(question_id.encode()).digest()[:8], "big") / 2**64


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A scorer's verdict. `answer` is what was extracted from the reply ("" if nothing); score in [0, 1].
    `strict`: it is right by upstream's own rule, or right in exactly the required form (`answer_form.py`).

    `undecided` means that the rule cannot tell, but a judge may; if none does, the answer is neither right nor wrong
    and teaches nothing. It is `failed` if the scorer itself is at fault; several in a row stop a run. `why` says why: a
    kind, by which such answers are counted, and after a colon the details; for any other verdict it is what `show`
    prints, and is not logged, since it may give the right answer away. A `near_miss` is wrong by the rule, unless a
    judge disagrees. `by` is who decided: `rule` or a judge's model. `passing` is the least score of a correct answer.
    """

    answer: str
    score: float
    strict: bool
    undecided: bool = False
    failed: bool = False
    near_miss: bool = False
    by: str = "rule"
    passing: float = 0.5
    why: str = ""

    @property
    def correct(self) -> bool:
        return self.score >= self.passing


def may_be_judged(benchmark: Benchmark, question: Question, verdict: Verdict) -> bool:
    """Return whether a judge, if there is one, decides on an answer after the rule.

    It decides what the rule leaves undecided, near misses and, where the benchmark's `is_cross_checked` says so, any
    non-empty answer that the rule calls wrong.

    [section 4, semantic judge] If the judge's reply cannot be used, the rule's verdict holds. Without a judge an answer
    that resembles the expected one is wrong, and what the rule cannot tell is undecided.
    """
    if verdict.undecided or verdict.near_miss:
        return True
    is_cross_checked: Callable[[Question], bool] = getattr(benchmark, "is_cross_checked", nowhere)
    return not verdict.correct and verdict.answer.strip() != "" and is_cross_checked(question)


def scored(benchmark: Benchmark, question: Question, reply: str) -> Verdict:
    """Return a benchmark's verdict on a reply. Nothing that a model writes can end a run with an error.

    A reply over `LONGEST_REPLY` characters is wrong. If the scorer raises, or returns something that is not a score,
    the verdict is undecided and `failed`; a judge sees the end of the reply. Raises `MageError`, such as
    `PrerequisiteError` for a missing library: no reply causes that.
    """
    if len(reply) > LONGEST_REPLY:
        why = f"too long: {len(reply)} characters, of which no rule reads over {LONGEST_REPLY}"
        return Verdict(answer=_end_of(reply), score=0.0, strict=False, why=why)
    try:
        verdict = benchmark.score(question, reply)
        if verdict.undecided:
            return msgspec.structs.replace(verdict, answer=verdict.answer[:_LONGEST_ANSWER], score=0.0, strict=False)
        if not 0 <= verdict.score <= 1:
            raise ValueError(f"the score {verdict.score} is not between 0 and 1")
        return msgspec.structs.replace(verdict, answer=verdict.answer[:_LONGEST_ANSWER])
    except MageError:
        raise
    except Exception as error:  # a scorer may be anyone's code, and must not end the run
        return failed(reply, last_line(error))


def failed(reply: str, problem: str) -> Verdict:
    """Return the verdict for a failure of the scorer itself."""
    why = f"{FAILED}: {problem}"[:_LONGEST_WHY]
    return Verdict(answer=_end_of(reply), score=0.0, strict=False, undecided=True, failed=True, why=why)


def _end_of(reply: str) -> str:
    return reply[-_SHOWN:].strip()


def nowhere(question: Question) -> bool:
    """Cross-check no question: the rule's decision is final."""
    return False


def everywhere(question: Question) -> bool:
    """Cross-check every question."""
    return True


class Traits(NamedTuple):
    """What the rules must know about the kind of benchmark; these are the defaults for missing attributes."""

    context_role: ContextRole = "material"
    """What a question's `context` holds: `material` that the answer is drawn from, `instruction` if it is the same for
    all questions and counts as no context, `question` if the question itself includes the material."""
    task: str = ""
    """What to do with each question, if the questions do not say so: every prompt begins with it."""
    instruction: str = "Reason step by step."
    """How to work towards the answer, if the prompt leaves room for it. A skill's own instruction replaces it."""
    labels: int = 0
    """How many answers there are to choose from, the same for every question; 0 without such a list."""
    is_type_asked: bool = False
    """Whether a question's text says what type it is, as when each type is a task of its own: then neither its type nor
    its id reveals more about the answer than the question does."""
    is_open_ended: bool = False
    """Whether its episodes have no goal other than to get as far as possible: every achievement is a success in
    itself."""


def traits_of(benchmark: Benchmark) -> Traits:
    own: dict[str, Any] = {name: getattr(benchmark, name, usual) for name, usual in Traits()._asdict().items()}
    return Traits(**own)


def column_roles_of(benchmark: Benchmark) -> Mapping[str, str]:
    """Return the column of a user's table for each role, "" for none; nothing if no table was read."""
    own: Mapping[str, str] = getattr(benchmark, "column_roles", {})
    return own


def options_of(question: Question) -> int:
    """Return how many options a question itself offers, or 0."""
    return len(json.loads(question.meta.get("options", "{}")))


def giver_of(question: Question) -> str:
    """Return who gave a question's right answer, or "" if unknown."""
    return question.meta.get("by", "")


def extract_of(benchmark: Benchmark) -> Callable[[str], str]:
    """Return the function that reads the final answer from a reply: the benchmark's own `extract`, else
    `plain_answer`."""
    own: Callable[[str], str] = getattr(benchmark, "extract", plain_answer)
    return own


class Benchmark(Protocol):
    """A source of questions with checkable answers."""

    name: str
    licence: str
    task_type_source: TaskTypeSource
    """What the questions' own `task_type` is made from: `metadata` (which is printed) and `input`, a rule on the text,
    may be used anywhere; `gold` labels only the evolution questions, on demand; with `none`, types mean nothing.
    With `gold` or `none`, a run induces task types from texts."""
    answer_format: str
    """One sentence that tells the model how to end its answer, such as `Finish with a line such as "Answer: <Oslo>".`:
    the text between < and > is an example of an answer, which prompts show without these two marks; the rest is also
    the form in which worked examples end. Choose one that is hardly ever right, since a small model may copy it; for
    numbers give none (`a line that has "#### <>" and then the number`)."""
    data_sha256: str
    """Hash of everything that was read, or of the generator's version and seed."""

    def questions(self, split: Split) -> Sequence[Question]:
        """Return all questions of an upstream split, in upstream order."""

    def score(self, question: Question, reply: str) -> Verdict:
        """Judge a reply by rule. An answer that cannot be read is wrong, or `undecided` if the rule cannot tell. Call
        it through `scored`, which copes with its failures.
        """
