"""Random but valid events of a served run: a process, its inferences, feedback and proposals."""

from collections.abc import Iterator
from random import Random

from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from tests.kit.random_events import drawn


def served(random: Random, k: int, task_type: str, skill: str) -> Iterator[v.Event]:
    """Yield what one process recorded after iteration `k` was closed."""
    process = k + 2
    yield drawn(v.ServingStarted, random, process=process)
    if not random.randrange(3):
        yield drawn(v.RecordingResumed, random, process=process, interruption=1)
    for number in range(1, random.randrange(2, 5)):
        inference = f"inf-{process}-{number}"
        session = f"inf-{process}-{random.randint(1, number)}"
        yield drawn(
            v.InferenceOpened, random, inference=inference, session=session, marker=k, task_type=task_type, memories=()
        )
        yield drawn(v.InferenceClosed, random, inference=inference)
        if random.random() < 0.7:
            yield from _feedback(random, k, inference, session, task_type, skill)


def _feedback(random: Random, k: int, inference: str, session: str, task_type: str, skill: str) -> Iterator[v.Event]:
    feedback, proposal = sha256_text(f"{k}/{inference}")[:32], sha256_text(f"proposal/{k}/{inference}")[:32]
    yield drawn(v.FeedbackGiven, random, feedback=feedback, inference=inference, session=session, kind="demonstration")
    yield drawn(
        v.MemoryProposed,
        random,
        memory_id=proposal,
        feedback=feedback,
        task_type=task_type,
        skill=skill,
        origin=v.Origin(by="client"),
    )
    if random.random() < 0.5:
        verdict = random.choice(("refused", "waiting"))
        yield drawn(v.ProposalSettled, random, memory_id=proposal, iteration=k + 1, verdict=verdict)
        if verdict == "waiting" and random.random() < 0.7:
            yield drawn(v.ProposalReviewed, random, memory_id=proposal)
