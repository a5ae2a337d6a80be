"""Publishing: proposals become memories and scores become rewards, in an iteration with a guard.

Rules
    - One key at a time, those whose answers are gold first, each in a separate iteration: if the guard rejects what one
      key planted, no other key loses anything.
    - A reward is about the search arm of an inference that got its memories and had a choice of arms; an inference that
      was held back, or only watched, gives no reward. It is the mean of the last scores given to it or to its session,
      so one inference is one pull, however much feedback there is. Earlier rewards are corrected by the difference.
    - What the guard refuses is as if it had not been published: its memories go into quarantine permanently, and its
      rewards are taken back, to be tried again with the feedback of the next publish.
    - What a key says whose answers are gold is taken in its own words: another key that says the same waits for its
      turn. If it takes back what approved a memory, that waits for a review again.
    - What passes the guard, but no anchor can judge (rules/trials.py), goes into quarantine until a person, or a key
      whose answers are gold, reviews it; so does everything that a client in doubt proposes (engine/rules/doubt.py),
      including its new cases, which no anchor is asked with. What is approved is brought back in an iteration of its
      own, so that no other memory makes it fail.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.commands import shared
from mage_es.engine.rules.bandits import posterior_of, update_of
from mage_es.engine.rules.doubt import why_doubted
from mage_es.engine.rules.guard import GUARD
from mage_es.engine.rules.leaks import texts_of
from mage_es.engine.rules.new_memories import Met
from mage_es.engine.rules.phases import phase_drafts
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.embedder import Vector, from_bytes
from mage_es.engine.serving.rules.feedback import last_words
from mage_es.engine.serving.rules.trials import trials_of, why_undecided
from mage_es.events import vocabulary as v
from mage_es.projections.bandits import Posterior
from mage_es.projections.fold import State
from mage_es.projections.memory import MemoryRow

_TAKEN_BACK = "Its key corrected the demonstration, and no other proposes the same."
_WITHDRAWN = "The key whose answers are gold gave another answer since it approved this one."
_LEAK = "It holds a question that must not be learned."


class Publish(NamedTuple):
    """UPDATE of a publish, for one key: its proposals become memories, its feedback rewards. `words` is all of the
    key's feedback so far, in the log's order; `inferences` are its own that can be rewarded, `proposals` those without
    a final decision, including another key's of the same memory; `rewarded` is what these inferences were rewarded with
    so far. `gold` are the demonstrations, by feedback, that count as right. With `reviews`, by memory, those that were
    approved are taken into use, and nothing else."""

    iteration: int
    key: str
    words: Sequence[v.FeedbackGiven]
    inferences: Sequence[v.InferenceOpened]
    proposals: Sequence[v.MemoryProposed]
    rewarded: Sequence[v.BanditUpdated]
    gold: Set[str] = frozenset()
    reviews: Mapping[str, v.ProposalReviewed] = {}


class SettlePublish(NamedTuple):
    """Follow the guard's verdict on a publish; `rewarded` is what its UPDATE gave. `anchors` are the anchors' vectors
    by id, and `floors`, by task type, the least cosine at which an anchor is near enough to judge a memory, measured
    before this publish (rules/trials.py). `gold` are the demonstrations, by feedback, of keys with gold."""

    iteration: int
    rewarded: Sequence[v.BanditUpdated]
    anchors: Mapping[str, Vector] = {}
    floors: Mapping[str, float] = {}
    gold: Set[str] = frozenset()


class _Weight(NamedTuple):
    """What the rewards of an inference added to a posterior, in millionths; both 0 if it was not rewarded."""

    alpha: int = 0
    beta: int = 0

    def minus(self, other: _Weight) -> _Weight:
        return _Weight(self.alpha - other.alpha, self.beta - other.beta)


def decide_publish(setting: Setting, state: State, command: Publish) -> list[v.Draft]:
    """Return memories and rewards of one key with the mark of UPDATE; only the mark if there is nothing new."""
    events: list[v.Event] = [*_rewards(setting, state, command), *_memories(setting, state, command)]
    *drafts, mark = phase_drafts(command.iteration, "update", events, is_numbered=True)
    return [*drafts, msgspec.structs.replace(mark, correlation=command.key)]


def decide_settling(state: State, command: SettlePublish) -> list[v.Draft]:
    """Return what follows from the guard's verdict for each memory of the iteration, and for its rewards."""
    verdict = state.scores.verdict(command.iteration)
    is_refused = verdict.endswith("rollback")
    events: list[v.Event] = []
    for row in tried(state, command.iteration):
        settled = _settled(row.memory_id, command.iteration, "")
        if is_refused:
            settled = _settled(row.memory_id, command.iteration, f"The guard's verdict: {verdict.replace('_', ' ')}.")
        elif state.traffic.verdict(row.memory_id) != "approved":
            settled = _judged(state, command, row)
        if settled.reason:
            events.append(v.MemoryQuarantined(memory_id=row.memory_id, reason=settled.reason, by=GUARD))
        events.append(settled)
    if is_refused:
        back = {each.question_id: each for each in command.rewarded}
        given = _weights(command.rewarded)
        posteriors: dict[str, Posterior] = {}
        for name, each in sorted(back.items()):
            arm = (each.key, each.arm)
            before = posteriors.get(str(arm)) or state.bandits.posterior("search", *arm)
            update = _moved(before, _Weight().minus(given[name]), each.key, each.arm, name, each.reward_micro)
            posteriors[str(arm)] = Posterior(update.alpha_after, update.beta_after, update.pulls_after)
            events.append(update)
    return [
        v.Draft(event=event, iteration=command.iteration, phase="serve", ordinal=place)
        for place, event in enumerate(events)
    ]


def tried(state: State, iteration: int) -> list[MemoryRow]:
    """Return what an open iteration has taken into use: new memories, and those that a person approved."""
    approved = {each.memory_id for each in state.traffic.proposals("approved")}
    found = (
        row
        for row in state.memory.rows()
        if (row.iteration, row.phase) == (iteration, "serve") or (row.memory_id in approved and row.status == "active")
    )
    return sorted(found, key=lambda row: row.birth)


# ------------------------------------------------------------ memories


def _memories(setting: Setting, state: State, command: Publish) -> Iterator[v.Event]:
    kept = {word.feedback for word in last_words(command.words) if word.kind == "demonstration"}
    by_memory: dict[str, list[v.MemoryProposed]] = defaultdict(list)
    for proposed in command.proposals:
        by_memory[proposed.memory_id].append(proposed)
    met = Met(state.memory)
    for place, (name, all_of_it) in enumerate(sorted(by_memory.items())):
        alive = [proposed for proposed in all_of_it if proposed.feedback in kept]
        right = [proposed for proposed in all_of_it if proposed.feedback in command.gold]
        own = [proposed for proposed in right if proposed.key == command.key] if right else alive
        verdict, review = state.traffic.verdict(name), command.reviews.get(name)
        if verdict not in (("approved",) if review else ("", "waiting")):
            continue  # for the turn with reviews, or decided on since the log was read
        if review and not right and review.by in {proposed.origin.by for proposed in all_of_it if proposed.is_gold}:
            yield _settled(name, command.iteration, _WITHDRAWN, "waiting")
            continue
        if not own and any(proposed.key != command.key for proposed in all_of_it):
            continue  # until the other key's turn
        if not own:
            yield _settled(name, command.iteration, _TAKEN_BACK)
            continue
        if review:
            yield v.MemoryReleased(memory_id=name, reason=review.reason, by=review.by)
            continue
        if verdict:
            continue  # until a person decides
        event = met.again(_memory(own[0], command.iteration, place))
        # What `decide` would refuse must be settled here, where it is known.
        if setting.guarded.likeness(texts_of(event)).is_leak:
            yield _settled(name, command.iteration, _LEAK)
            continue
        yield event
        if not isinstance(event, v.MemoryAppended):  # it already exists, so there is nothing for the guard to judge
            yield _settled(name, command.iteration, "")


def _memory(proposed: v.MemoryProposed, iteration: int, place: int) -> v.MemoryAppended:
    return v.MemoryAppended(
        **shared(proposed, v.MemoryAppended),
        kind="specific" if proposed.outcome == "failure_memory" else "",
        question_id=proposed.feedback,
        recognise="",
        steps=(),
        iteration=iteration,
        phase="serve",
        ordinal=place,
    )


def _judged(state: State, command: SettlePublish, row: MemoryRow) -> v.ProposalSettled:
    """Return the verdict of the anchors that were asked with a memory, if the guard passed the iteration."""
    floor = command.floors.get(row.task_type, 0.0)
    trials = trials_of(state, command.iteration, row.memory_id, from_bytes(row.embedding), command.anchors)
    is_gold = row.question_id in command.gold
    if reason := why_doubted(state.memory, row) or why_undecided(trials, floor, is_gold=is_gold):
        return _settled(row.memory_id, command.iteration, reason, "waiting", floor, trials)
    return _settled(row.memory_id, command.iteration, "", "published", floor, trials)


def _settled(
    name: str,
    iteration: int,
    reason: str,
    verdict: Literal["", "published", "waiting"] = "",
    floor: float = 0.0,
    trials: tuple[v.AnchorTrial, ...] = (),
) -> v.ProposalSettled:
    return v.ProposalSettled(
        memory_id=name,
        iteration=iteration,
        verdict=verdict or ("refused" if reason else "published"),
        reason=reason,
        floor=floor,
        trials=trials,
    )


# ------------------------------------------------------------ rewards


def _rewards(setting: Setting, state: State, command: Publish) -> Iterator[v.BanditUpdated]:
    if not setting.config.bandits:
        return
    said = _scores(command.words)
    before = _weights(command.rewarded)
    posteriors: dict[tuple[str, str], Posterior] = {}
    for one in sorted(command.inferences, key=lambda one: one.inference):
        values = said.get(one.inference, []) + said.get(("", one.session), [])
        if not (values and may_reward(one)):
            continue
        # In whole millionths, summed before the division, so that the order of feedback cannot change the mean.
        reward = sum(values) // len(values)
        change = _Weight(reward, v.MICRO - reward).minus(before.get(one.inference, _Weight()))
        if any(change):
            arm = (one.task_type, one.arm)
            now = posteriors.get(arm) or posterior_of(setting.config, state, "search", *arm)
            update = _moved(now, change, *arm, one.inference, reward)
            posteriors[arm] = Posterior(update.alpha_after, update.beta_after, update.pulls_after)
            yield update


def may_reward(one: v.InferenceOpened) -> bool:
    """Return whether feedback on an inference is evidence about its arm: it was drawn, and its memories shown."""
    return one.treatment == "memory" and bool(one.arm) and one.probability < 1


def _scores(words: Iterable[v.FeedbackGiven]) -> Mapping[object, list[int]]:
    values: dict[object, list[int]] = defaultdict(list)
    for word in last_words(words):
        if word.kind != "demonstration" and word.trust != "none":
            values[word.inference or ("", word.session)].append(word.value_micro)
    return values


def _weights(rewarded: Sequence[v.BanditUpdated]) -> dict[str, _Weight]:
    """Return, for each inference, what its rewards, minus those taken back, added to a posterior."""
    weights: dict[str, _Weight] = {}
    for each in rewarded:
        alpha, beta = each.alpha_after - each.alpha_before, each.beta_after - each.beta_before
        known = weights.get(each.question_id, _Weight())
        weights[each.question_id] = _Weight(known.alpha + alpha, known.beta + beta)
    return weights


def _moved(before: Posterior, change: _Weight, key: str, arm: str, inference: str, reward: int) -> v.BanditUpdated:
    pulls = before.pulls + (change.alpha + change.beta) // v.MICRO
    after = Posterior(before.alpha + change.alpha, before.beta + change.beta, pulls)
    return update_of(("search", key, arm), inference, reward, before, after)
