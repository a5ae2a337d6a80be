"""What clients say: recorded once, corrected by the last word, and turned into rewards and memories by a publish."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.commands import Curate, Curation, RecordFacts
from mage_es.engine.decide import decide
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.rules.setting import Setting
from mage_es.engine.serving.rules.feedback import Feedback, GiveFeedback, give_feedback, last_words
from mage_es.engine.serving.rules.publishing import Publish, SettlePublish, decide_publish, decide_settling
from mage_es.events import vocabulary as v
from mage_es.events.errors import Conflict, UsageError
from mage_es.projections.bandits import PRIOR, Posterior
from tests.engine.rules.states import Built, setting_of
from tests.engine.rules.test_curriculum import judged
from tests.engine.rules.test_leaks import SECRET, committed
from tests.kit.plain_events import plain

VECTOR = np.array([1, 0], dtype=np.float32)
RIGHT, WRONG = True, False
ARMS = ("similar", "balanced")


def inference(
    name: str, *, key: str = "", session: str = "s", arm: str = "similar", **changes: Any
) -> v.InferenceOpened:
    fields: dict[str, Any] = {
        "inference": name,
        "session": session,
        "key": key,
        "shape": "chat",
        "model": "m",
        "treatment": "memory",
        "marker": 0,
        "task_type": "t",
        "is_typed": False,
        "arm": arm,
        "probability": 0.5,
        "memories": (),
        "note_sha256": "",
        "turn_sha256": "",
        "turns": 0,
    }
    return v.InferenceOpened(**fields | changes)


def anchor_plan(k: int, name: str, memories: Sequence[str]) -> v.QuestionPlanned:
    shown = tuple(v.Retrieved(memory_id=each, similarity=1.0) for each in memories)
    return plain(v.QuestionPlanned, iteration=k, purpose="anchor", question_id=name, task_type="t", memories=shown)


def anchor_answer(k: int, name: str, *, correct: bool = True) -> v.AnswerJudged:
    return msgspec.structs.replace(judged(k, "t", correct=correct, purpose="anchor"), question_id=name)


class Heard:
    """A served run in memory: what was said of it, and the publishes so far."""

    def __init__(self, *inferences: v.InferenceOpened, setting: Setting | None = None) -> None:
        self.built, self.setting = Built(), setting or setting_of()
        self.inferences = {one.inference: one for one in inferences}
        self.events: list[v.Event] = []
        self.iteration = 0

    def say(
        self, value: Any, about: str = "inf-1-1", *, once: str = "a", key: str = "", trust: Any = "full", **more: Any
    ) -> list[v.Event]:
        """Give feedback on an inference, or on a session where `about` names none, and record it."""
        one = self.inferences.get(about)
        thing = {"inference_id": about} if one else {"session_id": about}
        metric = more.pop("metric", "good")
        known = {word.feedback: word for word in self.of(v.FeedbackGiven)}
        question = more.pop("question", "How many?")
        said = Feedback(metric=metric, value=value, idempotency_key=once, **thing, **more)
        command = GiveFeedback(said, key, trust, one.session if one else about, question, VECTOR, "t")
        earlier = give_feedback(self.setting, self.built.state, command)[0].event
        assert isinstance(earlier, v.FeedbackGiven)
        found = known.get(earlier.feedback)
        drafts = self._decide(give_feedback(self.setting, self.built.state, command._replace(earlier=found)))
        return self._record([draft.event for draft in drafts if draft.event != found]) or [
            draft.event for draft in drafts
        ]

    def publish(
        self, key: str = "", *, verdict: Any = "accepted", judges: int = 2, is_review: bool = False
    ) -> list[v.Event]:
        """Publish what a key said, with a guard that says `verdict` and so many anchors that can judge what is new;
        return the events but for its own. With `is_review`: publish what a person approved of it.
        """
        k = self.iteration
        approved = [event for event in self.of(v.ProposalReviewed) if event.verdict == "approved"]
        reviews = {event.memory_id: event for event in approved if is_review}
        settled = {event.memory_id for event in self.of(v.ProposalSettled) if event.verdict != "waiting"}
        proposals = [
            event
            for event in self.of(v.MemoryProposed)
            if event.memory_id not in settled and (not is_review or event.memory_id in reviews)
        ]
        words = [word for word in self.of(v.FeedbackGiven) if word.key == key]
        kept = {word.feedback for word in last_words(self.of(v.FeedbackGiven))}
        golden = {event.feedback for event in self.of(v.MemoryProposed) if event.is_gold}
        own = [one for one in self.inferences.values() if one.key == key]
        update = Publish(k, key, words, own, proposals, self.of(v.BanditUpdated), golden & kept, reviews)
        done = self._record(
            [draft.event for draft in self._decide(decide_publish(self.setting, self.built.state, update))]
        )
        rewarded = [event for event in done if isinstance(event, v.BanditUpdated)]
        born = [event.memory_id for event in done if isinstance(event, v.MemoryAppended)]
        for name in (anchors := [f"anchor-{place}" for place in range(judges)]):
            self._record([anchor_plan(k, name, born), anchor_answer(k, name)])
        decided = {"correct": 0, "total": 0, "against": 0, "drop": 0.0, "p_value": 1.0, "smallest_drop": 0.0}
        decided |= {"best": 0, "best_drop": 0.0, "best_p_value": 1.0}
        self._record([v.GuardDecided(iteration=k, verdict=verdict, **decided)])  # type: ignore[arg-type]
        settling = SettlePublish(k, rewarded, dict.fromkeys(anchors, VECTOR), {"t": 0.9}, golden)
        after = self._decide(decide_settling(self.built.state, settling))
        self.iteration += 1
        return done + self._record([draft.event for draft in after])

    def _decide(self, drafts: Sequence[v.Draft]) -> list[v.Draft]:
        return decide(self.setting, self.built.state, RecordFacts(drafts))

    def curate(self, name: str, action: Curation) -> v.Event:
        command = Curate(name, action, "read it", "alice", len(self.events))
        [event] = [draft.event for draft in decide(self.setting, self.built.state, command)]
        return self._record([event])[0]

    def of(self, cls: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, cls)]

    def posterior(self, arm: str = "similar") -> Posterior:
        return self.built.state.bandits.posterior("search", "t", arm)

    def _record(self, events: list[v.Event]) -> list[v.Event]:
        self.events += events
        for event in events:
            self.built.state.apply(event)
        return events


# ------------------------------------------------------------ what may be said


@pytest.mark.parametrize(
    ("value", "kind", "micro"),
    [(True, "bool", v.MICRO), (False, "bool", 0), (0.25, "float", 250_000), (1, "float", v.MICRO)],
)
def test_bools_and_numbers_are_scores(value: object, kind: str, micro: int) -> None:
    [event] = Heard(inference("inf-1-1")).say(value)
    assert isinstance(event, v.FeedbackGiven) and (event.kind, event.value_micro) == (kind, micro)


@pytest.mark.parametrize(
    "value",
    [
        *(float("nan"), float("inf"), -0.1, 1.1, 2, None, [], 10**400),
        *(
            {},
            {"answer": ""},
            {"answer": 4},
            {"answer": "4", "gold": "4"},
            "\ud800",
            "x" * 32_001,
            {"answer": "x" * 4_001},
        ),
    ],
)
def test_what_is_no_value_is_refused_and_shown(value: object) -> None:
    heard = Heard(inference("inf-1-1"))
    with pytest.raises(UsageError, match=r"value|demonstration|answer|Unicode"):
        heard.say(value)
    assert not heard.events


@pytest.mark.parametrize(
    "fields",
    [
        *({"metric": ""}, {"metric": "m" * 129}, {"metric": "so\nlved"}),
        *({"once": ""}, {"once": "k" * 129}, {"session_id": "s"}),
    ],
)
def test_names_are_given_short_and_of_one_thing(fields: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"empty|characters|one thing"):
        Heard(inference("inf-1-1")).say(RIGHT, **fields)


def test_the_same_again_is_the_same_fact_and_another_body_a_conflict() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2"))
    first = heard.say(0.5)
    assert heard.say(0.5) == first and len(heard.events) == 1
    for other in ({"value": 0.6}, {"value": 0.5, "metric": "bad"}, {"value": 0.5, "about": "inf-1-2"}):
        with pytest.raises(Conflict, match="'a'"):
            heard.say(**other)  # type: ignore[arg-type]
    heard.say(0.6, once="b")
    assert len(heard.events) == 2


def test_each_key_has_its_own_idempotency_keys() -> None:
    heard = Heard(inference("inf-1-1", key="ours"), inference("inf-1-2", key="theirs"))
    heard.say(RIGHT, "inf-1-1", key="ours")
    heard.say(WRONG, "inf-1-2", key="theirs")
    assert len(heard.events) == 2


# ------------------------------------------------------------ rewards


def test_a_score_rewards_the_arm_of_its_inference_when_it_is_published() -> None:
    heard = Heard(inference("inf-1-1"))
    heard.say(0.25)
    assert heard.posterior() == PRIOR
    heard.publish()
    assert heard.posterior() == (v.MICRO + 250_000, v.MICRO + 750_000, 1)
    assert heard.publish() == [v.PhaseCompleted(iteration=1, phase="update")], "published once"


def test_a_late_correction_moves_the_posterior_by_the_difference() -> None:
    heard = Heard(inference("inf-1-1"))
    heard.say(RIGHT)
    heard.publish()
    heard.say(WRONG, once="b")
    heard.publish()
    assert heard.posterior() == (v.MICRO, 2 * v.MICRO, 1)


def test_a_text_moves_nothing_and_takes_no_score_back() -> None:
    heard = Heard(inference("inf-1-1"))
    heard.say(RIGHT)
    heard.say("splendid", once="b")
    heard.publish()
    assert heard.posterior() == (2 * v.MICRO, v.MICRO, 1)


@pytest.mark.parametrize("treatment", ["holdback", "shadow", "off", "none"])
def test_only_what_got_memories_rewards_an_arm(treatment: v.Treatment) -> None:
    heard = Heard(inference("inf-1-1", treatment=treatment), inference("inf-1-2", probability=1.0))
    heard.say(RIGHT)
    heard.say(RIGHT, "inf-1-2", once="b")
    heard.say(RIGHT, "s", once="c")
    heard.publish()
    assert heard.posterior() == PRIOR


def test_a_key_that_is_not_trusted_is_only_recorded() -> None:
    heard = Heard(inference("inf-1-1"))
    heard.say(RIGHT, trust="none")
    [said] = heard.say({"answer": "4"}, once="b", trust="scores")
    assert isinstance(said, v.FeedbackGiven) and "trust is not full or gold" in said.unused
    heard.publish()
    assert heard.posterior() == PRIOR and not heard.of(v.MemoryAppended)


def test_however_much_is_said_an_inference_is_one_pull() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2", session="other"))
    for place in range(50):
        heard.say(WRONG, metric=f"m{place}", once=str(place))
    heard.say(RIGHT, "inf-1-2", once="x")
    heard.publish()
    assert heard.posterior() == (2 * v.MICRO, 2 * v.MICRO, 2)


WORDS = st.lists(
    st.tuples(
        st.sampled_from(["inf-1-1", "inf-1-2", "inf-1-3", "s", "other"]),
        st.sampled_from(["good", "fast"]),
        st.one_of(st.booleans(), st.sampled_from([0.1, 0.333, 0.7]), st.just("fine")),
    ),
    max_size=12,
)


@settings(deadline=None, max_examples=60)
@given(WORDS, st.data())
def test_order_repetition_and_when_it_is_published_change_no_posterior(
    words: list[tuple[str, str, object]], data: st.DataObject
) -> None:
    inferences = [inference("inf-1-1"), inference("inf-1-2", arm="balanced"), inference("inf-1-3", session="other")]
    one, other = Heard(*inferences), Heard(*inferences)
    numbered = list(enumerate(words))
    for place, (about, metric, value) in numbered:
        one.say(value, about, metric=metric, once=str(place))
    one.publish()
    # Things in another order, each with its words in theirs; some said again; publishes in between.
    turn = {thing: data.draw(st.integers(0, 9), label="turn") for thing in {each[:2] for each in words}}
    for place, (about, metric, value) in sorted(numbered, key=lambda each: (turn[each[1][:2]], each[0])):
        for _ in range(data.draw(st.integers(1, 2), label="times")):
            other.say(value, about, metric=metric, once=str(place))
        if data.draw(st.booleans(), label="publishes"):
            other.publish(verdict=data.draw(st.sampled_from(["accepted", "soft_rollback"]), label="verdict"))
    other.publish()
    for arm in ARMS:
        assert one.posterior(arm) == other.posterior(arm)


# ------------------------------------------------------------ memories


def test_a_demonstration_waits_as_a_proposal_and_is_a_memory_once_it_is_published() -> None:
    heard = Heard(inference("inf-1-1"))
    said, proposed = heard.say({"answer": "4", "reasoning": "2 + 2 = 4", "wrong_answer": "5"})
    assert isinstance(said, v.FeedbackGiven) and isinstance(proposed, v.MemoryProposed)
    assert said.memory_id == proposed.memory_id and not len(heard.built.state.memory)
    heard.publish()
    row = heard.built.state.memory.row(proposed.memory_id)
    assert (row.outcome, row.kind, row.answer, row.wrong_answer) == ("failure_memory", "specific", "4", "5")
    assert row.origin.facts and [event.verdict for event in heard.of(v.ProposalSettled)] == ["published"]


def test_what_the_guard_refuses_goes_into_quarantine_and_is_not_proposed_again() -> None:
    heard = Heard(inference("inf-1-1"))
    heard.say({"answer": "5"})
    heard.say(RIGHT, once="b")
    heard.publish(verdict="soft_rollback")
    assert [event.by for event in heard.of(v.MemoryQuarantined)] == ["guard"]
    assert not heard.built.state.memory.slice("success", "t").ids
    assert [event.verdict for event in heard.of(v.ProposalSettled)] == ["refused"]
    assert heard.posterior() == PRIOR, "its rewards were taken back"
    [again] = heard.say({"answer": "5"}, once="c")
    assert isinstance(again, v.FeedbackGiven) and "took it out of use" in again.unused
    heard.publish()
    assert heard.posterior() == (2 * v.MICRO, v.MICRO, 1), "and tried again"


def test_a_corrected_demonstration_is_not_published_but_another_keys_is() -> None:
    heard = Heard(inference("inf-1-1", key="a"), inference("inf-1-2", key="b"))
    heard.say({"answer": "4"}, key="a")
    heard.say({"answer": "4"}, "inf-1-2", key="b")
    heard.say({"answer": "6"}, key="a", once="b")
    heard.publish("a")
    assert [event.answer for event in heard.of(v.MemoryAppended)] == ["6"]
    heard.publish("b")
    assert [event.answer for event in heard.of(v.MemoryAppended)] == ["6", "4"]


def test_a_demonstration_taken_back_by_its_only_key_is_refused() -> None:
    heard = Heard(inference("inf-1-1"))
    heard.say({"answer": "4"})
    heard.say({"answer": "6"}, once="b")
    heard.publish()
    assert {event.verdict for event in heard.of(v.ProposalSettled)} == {"published", "refused"}
    assert [event.answer for event in heard.of(v.MemoryAppended)] == ["6"]


def test_a_proposal_that_holds_a_held_out_question_is_refused_without_its_words() -> None:
    guarded = Guarded([committed("held_out", SECRET)])
    heard = Heard(inference("inf-1-1"), setting=setting_of()._replace(guarded=guarded))
    events = heard.say({"answer": "4", "reasoning": f"Learn this: {SECRET}"})
    assert not heard.of(v.MemoryProposed) and isinstance(events[-1], v.MemoryRefused)
    heard.publish()
    assert not heard.of(v.MemoryAppended)


# ------------------------------------------------------------ what waits for a person


def waiting(heard: Heard, value: Any = None, **more: Any) -> str:
    """Have a demonstration wait for a review; return its memory's id."""
    said, _ = heard.say(value or {"answer": "4"}, **more)
    heard.publish(judges=1)
    assert isinstance(said, v.FeedbackGiven)
    return said.memory_id


def test_what_too_few_anchors_can_judge_waits_out_of_use_for_a_person() -> None:
    heard = Heard(inference("inf-1-1"))
    name = waiting(heard)
    [settled] = heard.of(v.ProposalSettled)
    assert settled.verdict == "waiting" and "anchors that were asked with it, 1 can judge it" in settled.reason
    assert [trial.question_id for trial in settled.trials] == ["anchor-0"] and settled.floor == 0.9
    assert heard.built.state.memory.row(name).status == "quarantined"
    assert heard.publish() == [v.PhaseCompleted(iteration=1, phase="update")], (
        "it waits for a person, not for a publish"
    )


def test_what_is_approved_is_in_use_from_the_next_publish_on_and_needs_no_anchor() -> None:
    heard = Heard(inference("inf-1-1"))
    name = waiting(heard)
    reviewed = heard.curate(name, "approve")
    assert reviewed == v.ProposalReviewed(memory_id=name, verdict="approved", reason="read it", by="alice")
    assert heard.built.state.memory.row(name).status == "quarantined"
    heard.publish(judges=0, is_review=True)
    assert heard.built.state.memory.row(name).status == "active"
    assert heard.built.state.memory.slice("success", "t").ids == [name]
    assert [event.verdict for event in heard.of(v.ProposalSettled)] == ["waiting", "published"]
    with pytest.raises(UsageError, match="waits for no review, it is active"):
        heard.curate(name, "reject")
    heard.curate(name, "quarantine")
    assert not heard.built.state.memory.slice("success", "t").ids


def test_what_gold_says_needs_no_anchor_that_can_judge_it_but_the_guard_refuses_it_all_the_same() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2"))
    said, proposed = heard.say({"answer": "4"}, trust="gold")
    assert isinstance(said, v.FeedbackGiven) and isinstance(proposed, v.MemoryProposed) and proposed.is_gold
    heard.publish(judges=0)
    assert heard.built.state.memory.row(said.memory_id).status == "active"
    refused, _ = heard.say({"answer": "5"}, "inf-1-2", once="b", trust="gold")
    heard.publish(judges=0, verdict="soft_rollback")
    assert isinstance(refused, v.FeedbackGiven)
    assert heard.built.state.memory.row(refused.memory_id).status == "quarantined"


def test_what_gold_says_approves_the_same_of_another_key() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2", key="crm"))
    name = waiting(heard)
    said, _, reviewed = heard.say({"answer": "4"}, "inf-1-2", once="b", key="crm", trust="gold")
    assert isinstance(said, v.FeedbackGiven) and said.memory_id == name
    assert isinstance(reviewed, v.ProposalReviewed)
    assert (reviewed.memory_id, reviewed.verdict, reviewed.by) == (name, "approved", "crm")
    heard.publish("crm", judges=0, is_review=True)
    assert heard.built.state.memory.row(name).status == "active"


@pytest.mark.parametrize("hidden", ["\U000e0050\U000e0061\U000e0079", "\u200b", " \n!"])
def test_gold_approves_no_question_that_holds_more_than_its_own(hidden: str) -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2", key="crm"))
    name = waiting(heard, question=f"How many?{hidden}")
    [said] = heard.say({"answer": "4"}, "inf-1-2", once="b", key="crm", trust="gold")
    assert isinstance(said, v.FeedbackGiven) and not said.memory_id
    assert name in said.unused and "in other letters" in said.unused


def test_gold_approves_no_wrong_answer_but_its_own() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2", key="crm"))
    waiting(heard, {"answer": "4", "wrong_answer": "Pay it to DE00 6666."})
    [said] = heard.say({"answer": "4", "wrong_answer": "5"}, "inf-1-2", once="b", key="crm", trust="gold")
    assert isinstance(said, v.FeedbackGiven) and not said.memory_id and "another wrong answer" in said.unused


def test_what_gold_approved_and_took_back_waits_again() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2", key="crm"))
    name = waiting(heard)
    heard.say({"answer": "4"}, "inf-1-2", once="b", key="crm", trust="gold")
    heard.say({"answer": "6"}, "inf-1-2", once="c", key="crm", trust="gold")
    heard.publish(judges=0, is_review=True)
    assert heard.built.state.memory.row(name).status == "quarantined"
    assert heard.built.state.traffic.verdict(name) == "waiting"
    [again] = heard.say({"answer": "4"}, "inf-1-2", once="d", key="crm", trust="gold")
    assert isinstance(again, v.FeedbackGiven) and not again.memory_id, "what gold cannot decide is for a person"
    heard.curate(name, "approve")
    heard.publish(judges=0, is_review=True)
    assert heard.built.state.memory.row(name).status == "active", "a person may approve it all the same"


def test_what_gold_approved_stays_so_if_the_key_that_proposed_it_takes_it_back() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2", key="crm"))
    name = waiting(heard)
    heard.say({"answer": "4"}, "inf-1-2", once="b", key="crm", trust="gold")
    heard.say({"answer": "6"}, once="c")
    for key in ("", "crm"):
        heard.publish(key, judges=0, is_review=True)
    assert heard.built.state.memory.row(name).status == "active"


def test_what_two_keys_with_gold_say_alike_is_gold() -> None:
    heard = Heard(inference("inf-1-1", key="crm"), inference("inf-1-2", key="erp"))
    said, _ = heard.say({"answer": "4"}, key="crm", trust="gold")
    heard.say({"answer": "4"}, "inf-1-2", once="b", key="erp", trust="gold")
    heard.publish("crm", judges=0)
    assert isinstance(said, v.FeedbackGiven)
    assert heard.built.state.memory.row(said.memory_id).status == "active"


def test_a_key_that_became_gold_approves_what_it_said_before_but_once() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2"))
    name = waiting(heard)
    assert len(heard.say({"answer": "4"}, "inf-1-2", once="b", trust="gold")) == 3
    [again] = heard.say({"answer": "4"}, "inf-1-2", once="c", metric="other", trust="gold")
    assert isinstance(again, v.FeedbackGiven) and not again.memory_id
    heard.publish(judges=0, is_review=True)
    assert heard.built.state.memory.row(name).status == "active"


def test_what_a_model_proposes_with_a_key_of_gold_lends_that_no_word() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2"), inference("inf-1-3"))
    heard.say({"answer": "4"}, question="How many?\u200b")  # a tool's proposal, which has no more than full trust
    said, _ = heard.say({"answer": "4"}, "inf-1-2", once="b", trust="gold")
    heard.publish(judges=0)
    assert isinstance(said, v.FeedbackGiven)
    row = heard.built.state.memory.row(said.memory_id)
    assert (row.status, row.question) == ("active", "How many?")
    heard.say({"answer": "5"}, once="c")
    said, _ = heard.say({"answer": "5"}, "inf-1-3", once="d", trust="gold")
    heard.say({"answer": "6"}, "inf-1-3", once="e", trust="gold")
    heard.publish(judges=0)
    assert isinstance(said, v.FeedbackGiven)
    assert heard.built.state.memory.row(said.memory_id).status == "quarantined", "gold took it back"


def test_what_gold_says_too_waits_for_the_turn_of_gold() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2", key="crm"))
    heard.say({"answer": "4"}, question="How many?\u200b")
    said, _ = heard.say({"answer": "4"}, "inf-1-2", once="b", key="crm", trust="gold")
    heard.publish(judges=0)
    heard.publish("crm", judges=0)
    assert isinstance(said, v.FeedbackGiven)
    row = heard.built.state.memory.row(said.memory_id)
    assert (row.status, row.question) == ("active", "How many?")


def test_what_a_person_rejects_while_a_publish_reads_stays_out_of_use() -> None:
    heard = Heard(inference("inf-1-1"))
    name = waiting(heard)
    reviewed = heard.curate(name, "approve")
    heard.curate(name, "reject")
    assert isinstance(reviewed, v.ProposalReviewed)
    words = heard.of(v.FeedbackGiven)
    stale = Publish(1, "", words, (), heard.of(v.MemoryProposed), (), frozenset(), {name: reviewed})
    [mark] = decide_publish(heard.setting, heard.built.state, stale)
    assert isinstance(mark.event, v.PhaseCompleted)


def test_gold_brings_back_nothing_that_was_rejected_and_no_key_without_it_approves() -> None:
    heard = Heard(inference("inf-1-1"), inference("inf-1-2", key="crm"))
    name = waiting(heard)
    [other] = heard.say({"answer": "4"}, "inf-1-2", once="b", key="crm", trust="full")
    assert isinstance(other, v.FeedbackGiven) and not other.memory_id
    heard.curate(name, "reject")
    [again] = heard.say({"answer": "4"}, "inf-1-2", once="c", key="crm", trust="gold")
    assert isinstance(again, v.FeedbackGiven) and not again.memory_id


def test_what_gold_said_first_is_gold_whoever_repeats_it_before_the_publish() -> None:
    heard = Heard(inference("inf-1-1", key="crm"), inference("inf-1-2"))
    said, _ = heard.say({"answer": "4"}, key="crm", trust="gold")
    heard.say({"answer": "4"}, "inf-1-2", once="b")
    heard.publish("crm", judges=0)
    assert isinstance(said, v.FeedbackGiven)
    assert heard.built.state.memory.row(said.memory_id).status == "active"


def test_what_gold_took_back_is_judged_like_what_any_other_key_says() -> None:
    heard = Heard(inference("inf-1-1", key="crm"), inference("inf-1-2"))
    said, _ = heard.say({"answer": "4"}, key="crm", trust="gold")
    heard.say({"answer": "4"}, "inf-1-2", once="b")
    heard.say({"answer": "6"}, key="crm", once="c", trust="gold")
    heard.publish("crm", judges=0)
    heard.publish(judges=0)
    assert isinstance(said, v.FeedbackGiven)
    assert heard.built.state.memory.row(said.memory_id).status == "quarantined"


def test_what_is_rejected_stays_in_the_log_and_out_of_use_for_good() -> None:
    heard = Heard(inference("inf-1-1"))
    name = waiting(heard)
    heard.curate(name, "reject")
    for action in ("approve", "release", "quarantine"):
        with pytest.raises(UsageError, match=r"rejected"):
            heard.curate(name, action)  # type: ignore[arg-type]
    heard.publish(is_review=True)
    assert heard.built.state.memory.row(name).status == "quarantined"
    [again] = heard.say({"answer": "4"}, once="c")
    assert isinstance(again, v.FeedbackGiven) and not again.memory_id


def test_a_release_is_no_way_around_the_review() -> None:
    heard = Heard(inference("inf-1-1"))
    name = waiting(heard)
    with pytest.raises(UsageError, match="out of use until it is reviewed"):
        heard.curate(name, "release")


def test_what_was_approved_and_the_guard_refuses_is_out_of_use_again() -> None:
    heard = Heard(inference("inf-1-1"))
    name = waiting(heard)
    heard.curate(name, "approve")
    heard.publish(judges=0, is_review=True, verdict="soft_rollback")
    assert [event.verdict for event in heard.of(v.ProposalSettled)] == ["waiting", "refused"]
    assert heard.built.state.memory.row(name).status == "quarantined"


def test_what_its_key_corrected_while_it_waited_is_refused() -> None:
    heard = Heard(inference("inf-1-1"))
    name = waiting(heard)
    heard.curate(name, "approve")
    heard.say({"answer": "6"}, once="b")
    heard.publish(judges=0, is_review=True)
    assert [(e.memory_id == name, e.verdict) for e in heard.of(v.ProposalSettled)] == [
        (True, "waiting"),
        (True, "refused"),
    ]


def test_an_answer_to_another_question_than_the_inference_s_is_refused() -> None:
    heard = Heard(inference("inf-1-1"))
    with pytest.raises(
        UsageError, match=r"question is 'How do I reset.* inference's is 'How many.*Leave `question` out"
    ):
        heard.say({"answer": "Click Forgot.", "question": "How do I reset it?"})
    assert not heard.of(v.FeedbackGiven)


@pytest.mark.parametrize("named", [" how  MANY?\n", "You are a clerk. How many? Answer briefly.", "many?", ""])
def test_the_inference_s_question_may_be_in_a_template_or_spaced_otherwise(named: str) -> None:
    heard = Heard(inference("inf-1-1"))
    heard.say({"answer": "15", "question": named})
    [proposed] = heard.of(v.MemoryProposed)
    assert (proposed.question, proposed.answer) == ("How many?", "15")
