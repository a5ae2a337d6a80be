"""What one learner learned, tested again for another: which of its memories help, on questions with known answers.

Rules
    - The questions that are asked again are some of those that the parent run learned from, in a seeded order, so that
      a smaller sample is part of a larger one. Each is answered once with what was learned, except its own case, and
      once bare. The test is of what a client would be served: bandits are frozen, and no coin leaves anything out.
    - The two answers form a pair. It is won if only the answer with what was learned is right, and lost if only the
      bare one is. These pairs join those of the anchors, by which the gate decides (rules/benefit.py).
    - A memory's pairs are those of the questions that it was shown to. The memory goes out of use if it lost
      significantly more of them than it won (p at most HARM_P). Other memories were shown with it, so this is an
      association, not a proof.
    - Cases that quote another model's reasoning may do harm even if their facts do not. They are judged together, on
      the questions that were shown such reasoning, and go out of use if more pairs were lost than won. Whatever the
      verdict, if the learner now solves a case's question itself, its own reasoning replaces the quoted one.
    - Out of use means in quarantine: `mage-es memory release` brings a memory back.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.rules.distributions import sign_test
from mage_es.engine.rules.randomness import ranked
from mage_es.engine.rules.setting import Setting
from mage_es.events.vocabulary import Event, MemoryAppended, MemoryQuarantined, MemorySuperseded, QuestionPlanned
from mage_es.projections.fold import State
from mage_es.projections.memory import MemoryRow

HARM_P = 0.1
"""A memory counts as harmful if the sign test's one-sided p is at most this."""
GATE = "gate"
"""The name under which a re-proof takes harmful memories out of use."""


class Showing(NamedTuple):
    """A question that was answered both ways: the memories that it was shown, and whether each answer was right.

    `has_words` is whether their reasoning was shown, not just their answers.
    """

    memories: tuple[str, ...]
    has_words: bool
    learned: bool
    bare: bool


class Proof(NamedTuple):
    """How many questions were shown something, and how many of them were won and lost against the bare prompt."""

    shown: int
    won: int
    lost: int

    def __str__(self) -> str:
        return f"{self.won} won, {self.lost} lost of {self.shown} questions, against the bare prompt"


def recorded_sample(setting: Setting, state: State) -> list[str]:
    """Return the questions to ask again: at most `setting.reproof` of those that the parent learned from."""
    # Without those that were never asked: they have no case, and no answer of the old learner to compare with.
    known = (name for name in setting.evolution if state.questions.history(name))
    return ranked(known, setting.config.seed, purpose="reproof")[: setting.reproof]


def showing_of(planned: QuestionPlanned, *, learned: bool, bare: bool) -> Showing:
    # What asks only for the answer also shows only a case's answer; sections quote everything.
    has_words = planned.form == "sections" or planned.routing_arm != "direct"
    return Showing(tuple(hit.memory_id for hit in planned.memories), has_words, learned, bare)


def showings(state: State) -> list[Showing]:
    """Return the questions of the open iteration that were answered both ways, in id order."""
    progress = state.progress
    return [
        showing_of(
            progress.plan("evaluate", verdict.question_id),
            learned=verdict.correct,
            bare=progress.verdict("open", verdict.question_id).correct,
        )
        for verdict in progress.verdicts("evaluate")
        if progress.is_judged("open", verdict.question_id)
    ]


def proof_of(found: Iterable[Showing]) -> Proof:
    # Both right or both wrong says nothing about the memories, so only differences count.
    pairs = [(each.learned, each.bare) for each in found]
    return Proof(len(pairs), pairs.count((True, False)), pairs.count((False, True)))


def proofs(found: Sequence[Showing]) -> Mapping[str, Proof]:
    """Return the proof of each memory that was shown, by its id."""
    by_memory = defaultdict[str, list[Showing]](list)
    for each in found:
        for name in each.memories:
            by_memory[name].append(each)
    return {name: proof_of(by_memory[name]) for name in sorted(by_memory)}


def proof_of_words(found: Sequence[Showing], others: frozenset[str]) -> Proof:
    """Return the proof of cases with another model's reasoning, on the questions that were shown such reasoning."""
    return proof_of(each for each in found if each.has_words and not others.isdisjoint(each.memories))


def in_others_words(memory: MemoryRow | MemoryAppended, learner: str) -> bool:
    """Return whether a memory quotes the reasoning of a learner other than this one."""
    # A missed question's case has the data set's own solution, and what guidance wrote is no learner's words either.
    has_words = bool(memory.reasoning or memory.steps)
    return memory.outcome == "success_memory" and has_words and memory.origin.writer not in ("", learner)


def harmful(found: Sequence[Showing], others: frozenset[str]) -> Mapping[str, str]:
    """Return by id the memories that go out of use, with the reason; `others` are those in another model's words."""
    words = proof_of_words(found, others)
    # No test, as for a task type: what a new learner could say itself gets no benefit of the doubt.
    reasons = {name: f"In another model's words: {words}." for name in others if words.lost > words.won}
    for name, proof in proofs(found).items():
        chance = sign_test(proof.lost, proof.won + proof.lost)
        if name not in reasons and proof.lost > proof.won and chance <= HARM_P:
            reasons[name] = f"{proof}: chance brings that in {chance:.2g} of such cases."
    return {name: reasons[name] for name in sorted(reasons)}


def words_of_others(state: State) -> Mapping[str, MemoryRow]:
    """Return the memories in use, by id, that are not in the words of the model that answered in this iteration."""
    progress = state.progress
    # By the replies, not the configuration, as the point is who wrote and who answered.
    replied = (each for each in progress.verdicts("evaluate") if progress.is_replied("evaluate", each.question_id))
    learner = next((progress.reply("evaluate", each.question_id).model for each in replied), "")
    return {
        row.memory_id: row for row in state.memory.rows() if row.status == "active" and in_others_words(row, learner)
    }


def reproved(setting: Setting, state: State, harvested: Iterable[Event]) -> Iterator[Event]:
    """Yield the consequences for the memories of an iteration that asked again; `harvested` is what it learned."""
    others = words_of_others(state)
    own = {e.question_id: e.memory_id for e in harvested if isinstance(e, MemoryAppended) and e.reasoning}
    # Two cases of one question would be shown as one, the older first.
    replaced = {name: by for name, row in sorted(others.items()) if (by := own.get(row.question_id))}
    for name, by in replaced.items():
        yield MemorySuperseded(memory_id=name, by=by)
    for name, reason in harmful(showings(state), frozenset(others)).items():
        # What makes way for the learner's own words is already out of use.
        if name not in replaced:
            yield MemoryQuarantined(memory_id=name, reason=reason, by=GATE)
