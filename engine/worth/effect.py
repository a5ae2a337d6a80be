"""What memories are worth, in three numbers that are never mixed.

    pairs        questions whose prompt showed them, asked again without them, against the recorded answers
    coin         questions for which the coin let one in, against those for which it left one out
    association  questions that saw them, against questions of the same types that did not

Rules
    - A question counts once among the pairs and in the association: as it was last asked. Asking again says nothing
      about an earlier prompt of the same question.
    - Everything else in a prompt that is asked again stays: its other cases, the skill's text, the route. The freed
      place is not filled, so a pair shows what a memory adds to the others shown with it.
    - Each toss counts, since all are independent. By intention to treat: a memory that did not fit the model's context
      still counts as let in. The coin gives the only number of the three that needs neither calls nor assumptions.
    - The association also contains the difference between questions that are near to a memory and those that are not.
      Revisits are left out: they are asked because they were missed, so whatever they are shown would look harmful.
    - Bare prompts, recalled answers and episodes are not counted: they show nothing, have no prompt, or retrieve at
      every step.
    - Below LEAST_PAIRS pairs, or `live_gain.LEAST` questions on either side, no interval is given.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.rules.distributions import fisher_exact
from mage_es.engine.rules.probation import is_measured, tosses_of
from mage_es.engine.worth.live_gain import Difference, compare_sides
from mage_es.events import vocabulary as v

LEAST_PAIRS = 30
"""How many pairs an interval needs: with this many, the standard error is 6 points if one pair in nine differs."""
PromptKey = tuple[int, str, str]
"""Identifies one asking of a question: iteration, purpose and question."""


class Prompted(NamedTuple):
    """A question as it was planned at event `seq`: the memories that it was `shown`, those `trimmed` from its prompt
    because they did not fit, and whether its answer was right according to event `judged`."""

    seq: int
    phase: v.Phase
    planned: v.QuestionPlanned
    shown: frozenset[str]
    trimmed: frozenset[str]
    right: bool
    judged: int

    @property
    def key(self) -> PromptKey:
        return self.planned.iteration, self.planned.purpose, self.planned.question_id


class Without(NamedTuple):
    """A repeated asking without some of the memories that the first one showed."""

    asking: Prompted
    removed: frozenset[str]

    @property
    def name(self) -> tuple[PromptKey, frozenset[str]]:
        return self.asking.key, self.removed


Reasked = Mapping[tuple[PromptKey, frozenset[str]], bool | None]
"""Whether the answer without some memories was right, by asking and memories; None if it is undecided."""


def askings(records: Iterable[v.Record]) -> list[Prompted]:
    """Return every prompt, with or without memories, that was answered, in the order of the log; `records` are those of
    plans, trimmings and verdicts."""
    plans, trimmed = dict[PromptKey, v.Record](), dict[PromptKey, set[str]]()
    found = []
    for record in records:
        match record.event:
            case v.QuestionPlanned() as planned if is_measured(planned):
                plans[planned.iteration, planned.purpose, planned.question_id] = record
            case v.BundleTrimmed() as trim:
                trimmed.setdefault((trim.iteration, trim.purpose, trim.question_id), set()).add(trim.memory_id)
            case v.AnswerJudged() as judged:
                key = (judged.iteration, judged.purpose, judged.question_id)
                if (plan := plans.pop(key, None)) and isinstance(plan.event, v.QuestionPlanned):
                    out = frozenset(trimmed.get(key, ()))
                    shown = frozenset((*plan.event.principles, *(hit.memory_id for hit in plan.event.memories))) - out
                    found.append(Prompted(plan.seq, plan.phase, plan.event, shown, out, judged.correct, record.seq))
    return sorted(found)


def to_ask(found: Sequence[Prompted], names: frozenset[str]) -> list[Without]:
    """Return what to ask again to learn what these memories are worth: each question that saw one, as it was last asked
    with it."""
    last = _last(found, lambda asking: not names.isdisjoint(asking.shown))
    return [Without(asking, asking.shown & names) for asking in last.values()]


def to_ask_all(found: Sequence[Prompted], names: frozenset[str]) -> list[Without]:
    """Return every prompt of EVALUATE that showed any of these memories, to ask again and see what they changed."""
    return [
        Without(asking, asking.shown & names)
        for asking in found
        if asking.phase == "evaluate" and not names.isdisjoint(asking.shown)
    ]


WANTED: Mapping[str, Callable[[Sequence[Prompted], frozenset[str]], list[Without]]] = {
    "effect": to_ask,
    "what-if": to_ask_all,
}
"""What each verb asks again about memories."""


def reasked(records: Iterable[v.Record], found: Sequence[Prompted]) -> Reasked:
    """Return how the prompts `found` in a run were answered again; `records` are the plans and verdicts of those
    answers."""
    shown = {asking.key: asking.shown for asking in found}
    removed = dict[tuple[PromptKey, int], frozenset[str]]()
    answers = dict[tuple[PromptKey, frozenset[str]], bool | None]()
    for record in records:
        match record.event:
            case v.QuestionPlanned() as planned:
                key: PromptKey = (planned.iteration, planned.purpose, planned.question_id)
                left = {*planned.principles, *(hit.memory_id for hit in planned.memories)}
                if key in shown:  # what `bisect` asked is no prompt of the run
                    removed[key, record.ordinal] = shown[key] - left
            case v.AnswerJudged() | v.AnswerUndecided() as event:
                key = (event.iteration, event.purpose, event.question_id)
                right = event.correct if isinstance(event, v.AnswerJudged) else None
                if key in shown:
                    answers[key, removed[key, record.ordinal]] = right
    return answers


def asked_without(verb: str, found: Sequence[Prompted], names: frozenset[str], answers: Reasked) -> v.AskedWithout:
    """Return a verb's results about memories, as a run records them."""
    wanted = WANTED[verb](found, names)
    pairs = pairs_of(wanted, answers)
    return v.AskedWithout(
        memories=tuple(sorted(frozenset().union(*(each.removed for each in wanted)))),
        pairs=len(pairs),
        won=pairs.count((True, False)),
        lost=pairs.count((False, True)),
    )


def too_few(pairs: int) -> str:
    """Say why this many pairs have no interval."""
    return f"too few: {pairs} of {LEAST_PAIRS}"


def pairs_of(wanted: Iterable[Without], reasked: Reasked) -> list[tuple[bool, bool]]:
    """Return for each question that was asked again whether it was right with the memories, and without."""
    answers = ((each.asking.right, reasked.get(each.name)) for each in wanted)
    return [(learned, without) for learned, without in answers if without is not None]


def coin_of(found: Sequence[Prompted], names: frozenset[str]) -> Difference:
    """Return the difference, let in minus left out, over the tosses for these memories."""
    return compare_sides(
        (is_out, float(asking.right))
        for asking in found
        for is_out, hit in tosses_of(asking.planned)
        if hit.memory_id in names
    )


def chance_of(coin: Difference) -> float | None:
    """Return the two-sided p of Fisher's exact test on the two sides of a coin; None without an interval."""
    if coin.missing or coin.mean_with_memory is None or coin.mean_held_back is None:
        return None
    sides = ((coin.mean_with_memory, coin.with_memory), (coin.mean_held_back, coin.held_back))
    (right, asked), (other_right, other_asked) = ((round(mean * n), n) for mean, n in sides)
    return fisher_exact(right, asked - right, other_right, other_asked - other_right)


def association_of(found: Sequence[Prompted], names: frozenset[str]) -> Difference:
    """Return the difference, seen minus not seen, over questions of the same types since the first that saw one; no
    revisit counts on either side."""
    found = [asking for asking in found if asking.planned.purpose != "revisit"]
    saw = _last(found, lambda asking: not names.isdisjoint(asking.shown))
    types = {asking.planned.task_type for asking in saw.values()}
    since = min((asking.seq for asking in found if not names.isdisjoint(asking.shown)), default=0)
    others = _last(found, lambda asking: asking.seq >= since and asking.planned.task_type in types)
    unseen = [asking for name, asking in others.items() if name not in saw]
    return compare_sides(
        (is_out, float(a.right)) for is_out, side in ((False, saw.values()), (True, unseen)) for a in side
    )


def _last(found: Sequence[Prompted], is_meant: Callable[[Prompted], bool]) -> dict[str, Prompted]:
    return {asking.planned.question_id: asking for asking in found if is_meant(asking)}
