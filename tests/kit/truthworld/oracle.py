"""The oracle of truthworld: the true effect of every memory and the best bundle of every question, by the law.

It knows the world and asks no model. So what the engine claims about memories (that one supported an answer or is to
blame for it, what the answer would have been without it) can be measured against the truth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from typing import Literal, NamedTuple, Protocol, TypeVar

from mage_es.engine.seams.benchmark import Question
from tests.kit.truthworld.benchmark import TruthWorld
from tests.kit.truthworld.claims import Claim, claims_in, is_true
from tests.kit.truthworld.law import LAW, Informed, Law, claims_effect, draw, probability, route_effect
from tests.kit.truthworld.puzzles import Puzzle, read_puzzle
from tests.kit.truthworld.world import ROUTES, HiddenWorld

MemoryKind = Literal["helpful", "useless", "harmful", "poisoned"]
BUNDLE = 3
"""K, section 3.5: most memories of a bundle."""


class Remembered(Protocol):
    """What the oracle needs of a memory: a row of the memory projection, or the event that made it.

    `outcome` is its kind of node, such as `success_memory`; `question_id` is "" for a principle.
    """

    @property
    def outcome(self) -> str: ...
    @property
    def task_type(self) -> str: ...
    @property
    def question_id(self) -> str: ...
    @property
    def recognise(self) -> str: ...
    @property
    def reasoning(self) -> str: ...


M = TypeVar("M", bound=Remembered)


class Offer(NamedTuple):
    """What a memory offers for one question: its right and its wrong claims about the question's marks."""

    right: frozenset[Claim]
    wrong: frozenset[Claim]

    def beats(self, other: Offer) -> bool:
        """Return whether this can replace another in any bundle without making it worse."""
        return self.right >= other.right and self.wrong <= other.wrong


class Oracle:
    """The truth about one world. All averages are exact: over every question of the benchmark."""

    def __init__(self, benchmark: TruthWorld, law: Law = LAW) -> None:
        self.world: HiddenWorld = benchmark.world
        self._benchmark, self._law = benchmark, law

    def success_probability(
        self, question: Question, bundle: Iterable[Remembered], *, route: str = "cot", strategy: str = ""
    ) -> float:
        """Return how likely the execution model is to answer rightly with these memories in its prompt. [Theorem 4]

        Args:
            question: A question of this world.
            bundle: Every memory in the prompt, principles included.
            route: The routing arm that the question is asked by.
            strategy: The skill's strategy, where the prompt has one.
        """
        memories = list(bundle)
        if route in ("cot", "cot_principles"):  # which of them it was shows in the prompt alone
            has_principles = any(memory.outcome == "principle" for memory in memories)
            route = "cot_principles" if has_principles else "cot"
        return probability(self.world, self._puzzle(question), informed(memories, strategy), route=route, law=self._law)

    def answers_rightly(
        self, question: Question, bundle: Iterable[Remembered], *, route: str = "cot", strategy: str = ""
    ) -> bool:
        """Return whether the execution model answers rightly with these memories (a counterfactual)."""
        chance = self.success_probability(question, bundle, route=route, strategy=strategy)
        return draw(self.world, self._puzzle(question)) < chance

    def effect(self, memory: Remembered) -> float:
        """Return what a memory alone adds to the probability of a right answer, averaged over its type's questions.

        It is what the memory says that counts, by the same route (`cot`) with it and without it.
        """
        counts = self._marks[memory.task_type]
        stated, none = informed([memory]), informed([])
        task_type = self.world.named(memory.task_type)
        total = 0.0
        for marks, count in counts.items():
            puzzle = Puzzle(task_type, 1, marks)
            with_it = probability(self.world, puzzle, stated, route="cot", law=self._law)
            total += count * (with_it - probability(self.world, puzzle, none, route="cot", law=self._law))
        return total / counts.total()

    def effect_on(self, question: Question, memory: Remembered, *, beside: Sequence[Remembered] = ()) -> float:
        """Return what a memory adds to the probability of one question beside others of a bundle, by route `cot`."""
        puzzle = self._puzzle(question)
        stated, without = informed([*beside, memory]), informed(beside)
        with_it = probability(self.world, puzzle, stated, route="cot", law=self._law)
        return with_it - probability(self.world, puzzle, without, route="cot", law=self._law)

    def kind(self, memory: Remembered) -> MemoryKind:
        """Return a memory's kind by the sign of its effect; poisoned if a poisoned solution is its source."""
        effect = self.effect(memory)
        if abs(effect) < 1e-12:
            return "useless"
        if effect > 0:
            return "helpful"
        source = self._questions.get(memory.question_id)
        if source is not None and memory.outcome == "failure_memory" and source.meta["solution"] == "poisoned":
            return "poisoned"
        return "harmful"

    def route_effect(self, task_type: str, route: str) -> float:
        return route_effect(self.world.named(task_type), route, self._law)

    def best_route(self, task_type: str) -> str:
        """Return the best route of a task type, all memories being equal."""
        return max(ROUTES, key=lambda route: self.route_effect(task_type, route))

    def best_bundle(self, question: Question, memories: Iterable[M], *, size: int = BUNDLE) -> tuple[M, ...]:
        """Return a bundle of at most `size` of the memories with the largest probability of a right answer.

        It is optimal, not a guess: a memory is left out only if another of those that are kept offers at least
        the same right claims and at most the same wrong ones, and all bundles of the rest are compared. Fewer
        memories win a tie, then those that come first.

        [Theorem 4] eps is the share of questions whose bundle is not this one; nothing may be quarantined or superseded
        in between.
        """
        marks = self._puzzle(question).marks
        kept: list[tuple[Offer, M]] = []
        for memory in memories:
            offer = self._offer(memory, marks)
            if offer.right and not any(other.beats(offer) for other, _ in kept):
                kept = [(other, one) for other, one in kept if not offer.beats(other)] + [(offer, memory)]
        bundles = (tuple(m for _, m in chosen) for n in range(size + 1) for chosen in combinations(kept, n))
        return max(bundles, key=lambda bundle: self._gain(marks, bundle))

    def _offer(self, memory: Remembered, marks: Sequence[str]) -> Offer:
        claims = frozenset(claim for claim in _claims(memory) if claim.mark in marks)
        right = frozenset(claim for claim in claims if is_true(self.world, claim))
        return Offer(right, claims - right)

    def _gain(self, marks: Sequence[str], bundle: Iterable[Remembered]) -> float:
        return round(claims_effect(self.world, marks, informed(bundle), self._law), 9)

    def _puzzle(self, question: Question) -> Puzzle:
        puzzle = read_puzzle(question.question, self.world)
        if puzzle is None:
            raise ValueError(f"the question {question.id} is none of this world: {question.question[:80]!r}")
        return puzzle

    @cached_property
    def _questions(self) -> Mapping[str, Question]:
        splits = (self._benchmark.questions("evolution"), self._benchmark.questions("test"))
        return {question.id: question for questions in splits for question in questions}

    @cached_property
    def _marks(self) -> Mapping[str, Counter[tuple[str, ...]]]:
        """How often each set of marks is asked about, by task type."""
        found: dict[str, Counter[tuple[str, ...]]] = {}
        for question in self._questions.values():
            marks = tuple(sorted(self._puzzle(question).marks))
            found.setdefault(question.task_type, Counter())[marks] += 1
        return found


def informed(bundle: Iterable[Remembered], strategy: str = "") -> Informed:
    """Return what a prompt with these memories (and this strategy of the skill) states."""
    shown, told = set[Claim](), set(claims_in(strategy))
    for memory in bundle:
        (told if memory.outcome == "principle" else shown).update(_claims(memory))
    return Informed(frozenset(shown), frozenset(told))


def _claims(memory: Remembered) -> frozenset[Claim]:
    return claims_in(f"{memory.recognise}\n{memory.reasoning}")
