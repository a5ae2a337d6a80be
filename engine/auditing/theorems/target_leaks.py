"""No target leak: a question's task type, its id and its split do not give its answer away, as far as one can tell.

A run says so when it begins; `verify` checks it in the run's folder alone: splits, questions and their gold answers.

A run takes the task type of its file as given: it chooses memories by it, names skills by it, and prints it. A type
that was derived from the answer therefore reaches every prompt of an exam, and the exam then measures the type.

Rules
    - Types and ids: the commonest answer of each value is learned on evolution questions and tried on the anchors and
      held-out questions, and vice versa. It gives the answer away if it is right more often than both the commonest
      answer of all and the commonest answer of the value that the text suggests: significantly by the exact sign test,
      and by five questions in a hundred. So a type that is part of the question (sums and capitals in one file) gives
      nothing away, since the text says the same.
    - Only a benchmark's own types count (`metadata`). One derived from texts is a function of the text. Where each type
      is a task of its own (`is_type_asked`, as in STBench), neither types nor ids count.
    - A type or an id gives the answer away by containing it, compared with those of other questions: plain, backwards,
      in ROT13, base64 or hexadecimal digits, or as a common hash. That shows in small files too, where a text that
      suggests the type hides what the type reveals. Another code of answers that all differ cannot be told from a name.
    - An id gives the answer away also by what is left without its numbers (`billing-17`). An id that is only a row
      number says nothing.
    - A split gives the answer away if all but a few held-out questions have one answer that is rarer among the
      questions learned from.
    - Eight tests at most, each at 1 in 1,000: a run without a leak fails by chance at most once in 120.
"""

import base64
import codecs
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from heapq import nsmallest
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.tasks import OWN_TASKS
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.rules.distributions import fisher_exact, sign_test
from mage_es.engine.rules.leaks import NOTHING_ALIKE, Guarded
from mage_es.engine.rules.splits import Splits, recorded_splits
from mage_es.engine.run.questions import all_questions, stored_questions
from mage_es.engine.run.task_typing import Typer
from mage_es.engine.seams.benchmark import Benchmark, Question, column_roles_of, hash_share, traits_of
from mage_es.engine.seams.check import Check
from mage_es.events.facts.private import is_erased
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import RunStarted, SplitCommitted

NAME = "target leaks"
CHANCE = 0.001
"""A finding does not count as chance below this p value."""
LEAST_SHARE = 0.05
"""The least share of questions whose answers something must give away to count as a leak."""
BOUND = f"p {CHANCE:g} at {LEAST_SHARE:.0%}"
ALL_BUT_A_FEW = 0.95
_MOST = 2000
"""Most questions to compare on each side: with more, effects too small to matter in an exam would be significant."""
_QUOTED = "Instruction or labels hold a question of the split {}, and every prompt holds these. Leave it out."
_BY_PLACE = re.compile(r"(test-)?row-\d+\+*")
_DIGITS, _WORDS = re.compile(r"\d+"), re.compile(r"[^\W\d_]+|\d+")


class Disclosure(NamedTuple):
    """How much something (`task type`, `id`, `split`) reveals about the answers to `asked` questions. It is right for
    `right` of them, against `plain` without it; `better` and `worse` count the questions that only one of these gets
    right, `p` is the exact test's. `learned` counts the questions whose answers were known; `on` and `tried` name the
    two sides."""

    what: str
    example: str
    learned: int
    asked: int
    right: int
    plain: int
    better: int
    worse: int
    p: float
    on: str = "evolution"
    tried: str = "anchors and held-out"

    @property
    def is_leak(self) -> bool:
        return self.p < CHANCE and self.better - self.worse >= LEAST_SHARE * self.asked

    def __str__(self) -> str:
        by = f"by what {self.learned} of {self.on} have" if self.learned else "against that of another question"
        return (
            f"The {self.what} gives the answer away: {by}, it is right for {self.right} of {self.asked} questions "
            f"({self.tried}), and without it {self.plain} are (p {self.p:.0e}), as {self.example}"
        )


def disclosures(
    questions: Mapping[str, Question],
    splits: Splits,
    *,
    task_types: str,
    is_type_asked: bool = False,
    only_leaks: bool = False,
) -> list[Disclosure]:
    """Return what task types, ids and the split reveal about the answers: leaks first, the most certain at the top.
    `task_types` is what the types in use are made from, as a run records it (`task_type_source`). With `only_leaks`,
    what gives nothing away may have a smaller `plain`: texts are embedded only where they could clear a suspicion.
    """
    known, guarded = _drawn(questions, splits.evolution), _drawn(questions, (*splits.anchors, *splits.held_out))
    if not known or not guarded:
        return []
    exam = _drawn(questions, splits.held_out)
    found = [_by_split(known, exam)] if exam else []
    if task_types == "metadata" and not is_type_asked:
        by_value = _by_value("task type", known, guarded, lambda q: q.task_type, only_leaks)
        by_copy = _by_copy("task type, which holds it", [*known, *guarded], lambda q: q.task_type)
        found.append(by_copy if by_copy.is_leak and not by_value.is_leak else by_value)
    if not is_type_asked and not all(_BY_PLACE.fullmatch(question.id) for question in known):
        found.append(_by_value("id", known, guarded, lambda q: _DIGITS.sub("#", q.id), only_leaks))
        found.append(_by_copy("id, which holds it", [*known, *guarded], lambda q: q.id))
    return sorted(found, key=lambda each: (not each.is_leak, each.p))


def target_leaks(config: Config, benchmark: Benchmark, splits: Splits) -> tuple[str, ...]:
    """Return a sentence for each thing that gives answers away in this split, with what to do about it."""
    questions = {question.id: question for question in all_questions(benchmark)}
    types = benchmark.task_type_source if config.task_types == "benchmark" else "input"
    asked = traits_of(benchmark).is_type_asked
    found = disclosures(questions, splits, task_types=types, is_type_asked=asked, only_leaks=True)
    is_own = bool(column_roles_of(benchmark))
    warnings = tuple(warning(each, is_own=is_own) for each in found if each.is_leak)
    traits = traits_of(benchmark)
    given = [*filter(None, (traits.task, benchmark.answer_format if traits.labels else ""))]
    quoted = Guarded(splits.events).likeness(given) if given else NOTHING_ALIKE
    return (*warnings, _QUOTED.format(quoted.split.replace("_", "-"))) if quoted.is_leak else warnings


def check_target_leaks(reader: LogReader, started: RunStarted) -> Iterator[Check]:
    """Yield a check for each leak, or one that says how close the run is to one."""
    questions, has_gold = stored_questions(reader, started.benchmark)
    committed = list(reader.of(SplitCommitted))
    if not has_gold or not committed:
        why = "this copy was made without gold answers" if questions else "no questions are stored"
        yield Check(name=NAME, ok=True, detail=f"unchecked: {why}", measured="nothing", bound=BOUND)
        return
    splits = recorded_splits(committed, questions)
    by_id = {question.id: question for question in questions}
    found = disclosures(by_id, splits, task_types=started.task_type_source, is_type_asked=started.is_type_asked)
    is_own = started.benchmark.startswith(OWN_TASKS)
    for each in found:
        if each.is_leak:
            measured = f"{each.right} of {each.asked} right, {each.plain} without"
            yield Check(name=NAME, ok=False, detail=warning(each, is_own=is_own), measured=measured, bound=BOUND)
    if not any(each.is_leak for each in found):
        most = max((each.right - each.plain for each in found), default=0)
        named = ", ".join(f"{each.what} {each.right} of {each.asked} ({each.plain} without)" for each in found)
        detail = f"answers right from more than the text: {named}" if found else "unchecked: too few questions"
        yield Check(name=NAME, ok=True, detail=detail, measured=f"{most:+d} right at most", bound=BOUND)


def warning(disclosure: Disclosure, *, is_own: bool) -> str:
    """Return what a leak means and what to do about it; `is_own`: the tasks are the user's own."""
    if disclosure.what == "split":
        way = "Divide the tasks so that each answer is on both sides."
    elif disclosure.what.startswith("task type"):
        way = f"Begin a run without it: {'--columns task_type=' if is_own else '--task-types input'}"
    else:
        way = f"Begin a run {'without them: --columns id=' if is_own else 'with ids that say nothing.'}"
    return f"{disclosure}. An exam then measures the {disclosure.what.partition(',')[0]} and no memory. {way}"


def _drawn(questions: Mapping[str, Question], names: Sequence[str]) -> list[Question]:
    there = [questions[name] for name in names if name in questions]
    readable = [question for question in there if question.gold.strip() and not is_erased(question.question)]
    return nsmallest(_MOST, readable, key=lambda question: (hash_share(question.id), question.id))


def _by_value(
    what: str,
    known: Sequence[Question],
    guarded: Sequence[Question],
    value_of: Callable[[Question], str],
    only_leaks: bool,
) -> Disclosure:
    """Return what a value of a question reveals, learned on the evolution questions, or else on the other side."""

    def tried(learned: Sequence[Question], asked: Sequence[Question], *, is_text_compared: bool) -> Disclosure:
        found = _tried(what, learned, asked, value_of, is_text_compared=is_text_compared)
        # What texts suggest only makes a leak smaller: without a leak, texts need not be compared.
        is_suspect = found.is_leak and not is_text_compared
        return _tried(what, learned, asked, value_of, is_text_compared=True) if is_suspect else found

    there = tried(known, guarded, is_text_compared=not only_leaks)
    back = there if there.is_leak else tried(guarded, known, is_text_compared=False)
    return there if there.is_leak or not back.is_leak else back._replace(on="anchors and held-out", tried="evolution")


def _tried(
    what: str,
    known: Sequence[Question],
    asked: Sequence[Question],
    value_of: Callable[[Question], str],
    *,
    is_text_compared: bool,
) -> Disclosure:
    answers: dict[str, Counter[str]] = {}
    for question in known:
        answers.setdefault(value_of(question), Counter())[_answer(question)] += 1
    commonest = {value: _commonest(counted) for value, counted in answers.items()}
    usual = _commonest(Counter(map(_answer, known)))
    suggested = [usual] * len(asked)
    if is_text_compared and len(commonest) > 1:
        embedder = HashEmbedder()
        typer = Typer([msgspec.structs.replace(q, task_type=value_of(q)) for q in known], embedder)
        texts = [question.question for question in asked]
        suggested = [commonest[value] for value in typer.predict(texts, embedder.encode(texts))]
    right = plain = better = worse = 0
    example = ""
    for question, from_text in zip(asked, suggested, strict=True):
        value, answer = value_of(question), _answer(question)
        is_right, is_plain = commonest.get(value, usual) == answer, answer in (usual, from_text)
        right, plain = right + is_right, plain + is_plain
        better, worse = better + (is_right > is_plain), worse + (is_plain > is_right)
        if is_right and not is_plain and not example:
            example = f"{value!r} for {question.gold!r:.60}"
    return Disclosure(
        what, example, len(known), len(asked), right, plain, better, worse, sign_test(better, better + worse)
    )


def _by_copy(what: str, questions: Sequence[Question], text_of: Callable[[Question], str]) -> Disclosure:
    """Return whether a text beside a question holds its answer more often than the same text of another question."""
    own = [_holds(text_of(question), question) for question in questions]
    # The next one in the order of hashes: a partner drawn at random, the same each time.
    others = [_holds(text_of(questions[place - 1]), question) for place, question in enumerate(questions)]
    better = sum(one > other for one, other in zip(own, others, strict=True))
    worse = sum(other > one for one, other in zip(own, others, strict=True))
    held = (q for q, is_there in zip(questions, own, strict=True) if is_there)
    example = next((f"{text_of(q)!r} for {q.gold!r:.60}" for q in held), "")
    return Disclosure(
        *(what, example, 0, len(questions), sum(own), sum(others), better, worse),
        sign_test(better, better + worse),
        tried="all splits",
    )


def _holds(name: str, question: Question) -> bool:
    parts = _WORDS.findall(name.casefold())
    return any(_is_in(form, parts) for form in _forms(question.gold))


def _is_in(words: Sequence[str], parts: Sequence[str]) -> bool:
    # Most names hold not even the first word, and every run waits for this.
    return words[0] in parts and any(parts[at : at + len(words)] == words for at in range(len(parts)))


@lru_cache(maxsize=2 * _MOST)
def _forms(answer: str) -> Sequence[Sequence[str]]:
    """Return the words of an answer, and those of what it looks like in the codes that commonly hide one."""
    plain, data = answer.casefold(), answer.encode()
    coded = [plain, plain[::-1], codecs.encode(plain, "rot13"), base64.b64encode(data).decode().casefold(), data.hex()]
    for digest in (code(data).hexdigest() for code in (hashlib.md5, hashlib.sha1, hashlib.sha256)):
        coded += [digest, digest[:16], digest[:8]]
    return [words for words in map(_WORDS.findall, coded) if words]


def _by_split(known: Sequence[Question], exam: Sequence[Question]) -> Disclosure:
    before, after = Counter(map(_answer, known)), Counter(map(_answer, exam))
    answer = _commonest(after)
    right, other = after[answer], before[answer]
    share = other / len(known)
    p = 1.0
    if right >= ALL_BUT_A_FEW * len(exam):
        p = fisher_exact(right, len(exam) - right, other, len(known) - other, is_one_sided=True)
        p = min(1.0, len(before | after) * p)
    plain = round(share * len(exam))
    return Disclosure(
        "split", f"{answer!r}", len(known), len(exam), right, plain, max(0, right - plain), 0, p, tried="held-out"
    )


def _answer(question: Question) -> str:
    return " ".join(question.gold.split()).casefold()


def _commonest(counted: Counter[str]) -> str:
    return min(counted, key=lambda answer: (-counted[answer], answer))
