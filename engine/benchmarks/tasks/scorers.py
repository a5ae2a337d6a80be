"""Scorers for the user's own tasks, by name: how an answer is asked for, and when a reply is right.

    exact       the final answer is a right one, as a person would mark it (sameness.py)
    contains    the final answer contains a right one, word for word
    f1          F1 of common words; one half is right
    number      the final number equals the right one
    choice      the letter of the right option; with labels, the right label
    judge       exact; other answers go to the judge model, if one is set (--judge)
    regex, json, sql, python    see engine/bench/structured.py
    MODULE:FUNCTION a user's function of the reply and the question: a score, right or wrong

No scorer raises an error. A user's function runs in a separate process with a time limit: at worst its verdict is
undecided.
"""

import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from mage_es.engine.benchmarks.letters import LETTER_FORMAT, chosen, chosen_in_form, contained
from mage_es.engine.benchmarks.numbers import ANSWER_FORMAT, INSTRUCTION, number_in, read_number, score_number
from mage_es.engine.benchmarks.tasks.sameness import holds, is_same, share
from mage_es.engine.sandbox.apart import Apart, Unreturned
from mage_es.engine.seams.answer_form import answer_in_form
from mage_es.engine.seams.benchmark import Question, Traits, Verdict, failed
from mage_es.engine.seams.extraction import plain_answer, read_answer
from mage_es.engine.seams.plugins import faulty, load, plugins
from mage_es.events.errors import UsageError

_DECIMAL_COMMA = re.compile(r"[0-9],[0-9]{1,2}(?![0-9])")
FINISH = 'Finish with a line that has "Answer: <>" and then the answer, as short as it can be.'


class TaskScore(msgspec.Struct, frozen=True):
    """How right a reply is, from 0 to 1 (one half or more is right), and why; `show` prints the reason."""

    value: float
    reason: str = ""


class Scoring(Protocol):
    """A user's scorer: any function of a reply and its task."""

    def __call__(self, reply: str, task: Question, /) -> float | bool | TaskScore | Verdict:
        """Return how right a reply is, from 0 to 1 (one half or more is right), or a complete verdict."""


_GIVEN: dict[str, Scoring] = {}


class Scorer(NamedTuple):
    answer_format: str
    verdict: Callable[[Question, str], Verdict]
    extract: Callable[[str], str] = plain_answer
    instruction: str = Traits().instruction
    problem: Callable[[Question], str] = lambda question: ""
    """Why a task cannot be checked, "" if it can."""
    require: Callable[[], None] = lambda: None
    """Raises `PrerequisiteError` if a library is missing."""


def right_answers(question: Question) -> Sequence[str]:
    answers: list[str] = json.loads(question.meta["answers"])
    return answers


def _is_strictly_same(answer: str, right: str) -> bool:
    """A comma groups digits, and never begins a fraction."""
    return is_same(answer, right) and not _DECIMAL_COMMA.search(answer)


def _compared(score: Callable[[str, str], float], question: Question, reply: str) -> Verdict:
    """Score the final answer; it is strictly right only if it also has the required form."""
    rights, formal = right_answers(question), answer_in_form(reply)
    if any(_is_strictly_same(formal, right) for right in rights):
        return Verdict(answer=formal, score=1.0, strict=True)
    answer = plain_answer(reply)
    return Verdict(answer=answer, score=float(max(score(answer, right) for right in rights)), strict=False)


_exact, _contains, _f1 = (partial(_compared, score) for score in (is_same, holds, share))


def _number(question: Question, reply: str) -> Verdict:
    verdicts = [score_number(right.replace(",", ""), reply) for right in right_answers(question)]
    return max(verdicts, key=lambda verdict: (verdict.score, verdict.strict))


def _choice(question: Question, reply: str) -> Verdict:
    options: dict[str, str] = json.loads(question.meta["options"])
    rights, formal = right_answers(question), chosen_in_form(reply, options)
    is_strict = formal in rights
    letter = formal if is_strict else chosen(reply, options)
    return Verdict(answer=letter, score=float(letter in rights), strict=is_strict)


def _label(labels: Sequence[str], question: Question, reply: str) -> Verdict:
    """Judge by the only label in the final answer; a longer label hides a shorter one inside it."""
    rights = [right.casefold() for right in right_answers(question)]
    formal, options = answer_in_form(reply), dict(zip(labels, labels, strict=True))
    if formal in labels and formal.casefold() in rights:
        return Verdict(answer=formal, score=1.0, strict=True)
    label = read_answer(reply, lambda text: contained(text, options)) or ""
    return Verdict(answer=label, score=float(label.casefold() in rights), strict=False)


def _judge(question: Question, reply: str) -> Verdict:
    verdict = _exact(question, reply)
    is_open = not verdict.correct and bool(verdict.answer)
    return msgspec.structs.replace(verdict, near_miss=is_open)


def _no_number(question: Question) -> str:
    bad = [answer for answer in right_answers(question) if read_number(answer) is None]
    return f"answer: {bad[0]!r} is not a number, and the scorer number needs one" if bad else ""


def _no_options(question: Question) -> str:
    has_options = bool(json.loads(question.meta["options"]))
    return "" if has_options else "options: there are none, and the scorer choice needs them"


def _no_label(labels: Sequence[str], question: Question) -> str:
    known = {label.casefold() for label in labels}
    bad = [answer for answer in right_answers(question) if answer.casefold() not in known]
    return f"answer: {bad[0]!r} is none of the labels {', '.join(labels)}" if bad else ""


SCORERS: Mapping[str, Scorer] = {
    "exact": Scorer(FINISH, _exact),
    "contains": Scorer(FINISH, _contains),
    "f1": Scorer(FINISH, _f1),
    "number": Scorer(ANSWER_FORMAT, _number, extract=number_in, instruction=INSTRUCTION, problem=_no_number),
    "choice": Scorer(LETTER_FORMAT, _choice, problem=_no_options),
    "judge": Scorer(FINISH, _judge),
}
"""Our own; wings and packages offer more by the entry points `mage_es.scorers`."""


def scorer_names() -> list[str]:
    return [*SCORERS, *plugins("mage_es.scorers")]


def _named(name: str) -> Scorer:
    scorer = SCORERS.get(name) or load("mage_es.scorers", name)
    if not isinstance(scorer, Scorer):
        raise faulty(
            "mage_es.scorers", name, f"is {scorer!r:.80}, and not a `Scorer` (mage_es.engine.benchmarks.tasks)"
        )
    return scorer


def scorer_of(name: str, labels: Sequence[str]) -> Scorer:
    """Return a scorer; with labels it lists them, and looks for one of them. Its libraries are loaded on first use. Its
    verdict raises what `require_scorer` raises.
    """
    if ":" in name:
        return Scorer(FINISH, OwnFunction(name))
    if not labels:
        return _named(name)
    lines = (f'"Answer: <{label}>"' for label in labels)
    return Scorer(
        f"Finish with one of these lines: {', '.join(lines)}.",
        partial(_label, labels),
        problem=partial(_no_label, labels),
    )


def require_scorer(name: str) -> None:
    """Raise `UsageError` for a function that does not exist, `PrerequisiteError` for a missing library."""
    if ":" in name:
        function_of(name)
    else:
        _named(name).require()


def name_of(scorer: str | Scoring) -> str:
    """Return what a run records for a scorer: its name, or the MODULE:FUNCTION of a function, which this process then
    knows.

    Another process, such as one that resumes the run, imports it by that name.
    """
    if isinstance(scorer, str):
        return scorer
    if not callable(scorer):
        raise UsageError(f"The scorer {scorer!r:.80} is neither a name nor a function of a reply and its task.")
    try:
        is_fit = not inspect.iscoroutinefunction(scorer) and bool(inspect.signature(scorer).bind("", None))
    except TypeError:
        is_fit = False
    except ValueError:  # a C function, whose signature is unknown
        is_fit = True
    if not is_fit:
        raise UsageError(f"The scorer {scorer!r:.80} must be a plain function of two values, a reply and its task.")
    called = re.sub(r"\W+", "_", getattr(scorer, "__qualname__", type(scorer).__name__)).strip("_")
    name = f"{scorer.__module__}:{called}"
    _GIVEN[name] = scorer
    return name


def function_of(name: str) -> Scoring:
    """Return the function that `module:function` names; the module may lie in the current folder."""
    if name in _GIVEN:
        return _GIVEN[name]
    module, _, called = name.partition(":")
    if module.partition(".")[0] in sys.stdlib_module_names:  # a run's folder must not choose what executes its replies
        raise UsageError(
            f"The scorer {name} is from Python's own library, which has no scorers: give a module of yours."
        )
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    try:
        with redirect_stdout(sys.stderr):  # what the module prints is not a command's result
            found = getattr(import_module(module), called)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"The scorer {name} cannot be loaded: {error}. Give MODULE:FUNCTION of a module in this folder, or of one "
            "that is installed."
        ) from error
    if not callable(found):
        raise UsageError(f"The scorer {name} is not a function, but {type(found).__name__}.")
    scorer: Scoring = found
    return scorer


SECONDS = 10.0
"""How long a user's function may take for one reply by default."""


class OwnFunction:
    """A user's function as a rule: `seconds` is its time limit."""

    def __init__(self, name: str) -> None:
        self.seconds = SECONDS
        self._name = name
        self._apart: Apart | None = None

    def __call__(self, question: Question, reply: str) -> Verdict:
        if self._apart is None:
            self._apart = Apart(partial(_by_function, self._name), self.seconds, is_importable=self._name not in _GIVEN)
        self._apart.seconds = self.seconds
        try:
            verdict: Verdict = self._apart(question, reply)
        except Unreturned as problem:
            return failed(reply, str(problem))
        return verdict


def _by_function(name: str, question: Question, reply: str) -> Verdict:
    """Return the verdict of a function, which may raise."""
    given = function_of(name)(reply, question)
    if isinstance(given, Verdict):
        return given
    score = given if isinstance(given, TaskScore) else TaskScore(given)
    if isinstance(score.value, str) or not hasattr(score.value, "__float__"):
        raise TypeError(f"{name} returned {given!r}; return True, False, a number from 0 to 1, or a Score")
    value = float(score.value)
    return Verdict(answer=plain_answer(reply), score=value, strict=value == 1, why=str(score.reason))
