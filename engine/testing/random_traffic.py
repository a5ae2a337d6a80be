"""Random but valid events of a served run: a process, its inferences, feedback and proposals."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import get_args

from mage_es.events.digests import sha256_text
from mage_es.events.vocabulary import (
    MICRO,
    Event,
    FeedbackGiven,
    InferenceClosed,
    InferenceOpened,
    MemoryProposed,
    Origin,
    ProposalReviewed,
    ProposalSettled,
    RecordingResumed,
    RequestShape,
    ServingStarted,
    Treatment,
)

DIMENSION = 8


def served(random: Random, k: int, task_type: str, skill: str) -> Iterator[Event]:
    """Yield what one process recorded after iteration `k` was closed."""
    process = k + 2
    yield ServingStarted(
        process=process,
        learn="propose",
        holdback_micro=random.randrange(MICRO),
        salt=sha256_text("salt")[:32],
        has_texts=False,
        upstream="",
    )
    if not random.randrange(3):
        yield RecordingResumed(process=process, interruption=1, lost=random.randrange(9))
    for number in range(1, random.randrange(2, 5)):
        inference = f"inf-{process}-{number}"
        session = f"inf-{process}-{random.randint(1, number)}"
        yield InferenceOpened(
            inference=inference,
            session=session,
            key="",
            shape=random.choice(get_args(RequestShape)),
            model="scripted/one",
            treatment=random.choice(get_args(Treatment)),
            marker=k,
            task_type=task_type,
            is_typed=False,
            arm="balanced",
            probability=1.0,
            memories=(),
            note_sha256="",
            turn_sha256=sha256_text(inference),
            turns=0,
        )
        outcome = random.choice(("answered", "left", "failed"))
        yield InferenceClosed(
            inference=inference,
            outcome="answered" if outcome == "answered" else "left" if outcome == "left" else "failed",
            status=200,
            problem="",
            input_tokens=random.randrange(100),
            cached_tokens=-1,
            output_tokens=random.randrange(100),
            latency_us=random.randrange(10**6),
            overhead_us=random.randrange(10**3),
        )
        if random.random() < 0.7:
            yield from _feedback(random, k, inference, session, task_type, skill)


def _feedback(random: Random, k: int, inference: str, session: str, task_type: str, skill: str) -> Iterator[Event]:
    feedback, proposal = sha256_text(f"{k}/{inference}")[:32], sha256_text(f"proposal/{k}/{inference}")[:32]
    yield FeedbackGiven(
        feedback=feedback,
        inference=inference,
        session=session,
        metric="right",
        kind="demonstration",
        value_micro=0,
        text="2",
        key="",
    )
    yield MemoryProposed(
        memory_id=proposal,
        feedback=feedback,
        key="",
        outcome="success_memory",
        task_type=task_type,
        skill=skill,
        question="How many are left?",
        reasoning="",
        answer="2",
        wrong_answer="",
        origin=Origin(by="client"),
        embedding=bytes(4 * DIMENSION),
    )
    if random.random() < 0.5:
        verdict = random.choice(("refused", "waiting"))
        yield ProposalSettled(
            memory_id=proposal,
            iteration=k + 1,
            verdict="refused" if verdict == "refused" else "waiting",
            reason="the guard",
        )
        if verdict == "waiting" and random.random() < 0.7:
            decided = random.choice(("approved", "rejected"))
            yield ProposalReviewed(
                memory_id=proposal,
                verdict="approved" if decided == "approved" else "rejected",
                reason="read",
                by="alice",
            )
