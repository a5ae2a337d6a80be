"""What a prompt does without where it does not fit the model's context: memories first, the last-ranked one first."""

from collections.abc import Collection, Sequence

import msgspec

from mage_es.engine.courses import Ask
from mage_es.events.vocabulary import BundleTrimmed, QuestionPlanned


def droppable(planned: QuestionPlanned) -> tuple[str, ...]:
    """Return the ids of what can be left out of a plan's prompts, first what goes first.

    [Eq. 4, context limits] A prompt that does not fit loses its least similar memory, then the next, then the last
    principle; question, context and skill are never cut. Each drop is an event and holds for later calls of the
    question. The arms that were pulled are rewarded all the same: texts that do not fit are part of what choosing them
    brings.
    """
    # Sorting keeps equals in their order, so of equals the one that is later in the bundle goes first.
    memories = sorted(reversed(planned.memories), key=lambda hit: hit.similarity)
    return (*(hit.memory_id for hit in memories), *reversed(planned.principles))


def without(planned: QuestionPlanned, dropped: Collection[str]) -> QuestionPlanned:
    """Return the plan as if it had been made without some memories and principles. [Eq. 4, context limits]"""
    if not dropped:
        return planned
    return msgspec.structs.replace(
        planned,
        memories=tuple(hit for hit in planned.memories if hit.memory_id not in dropped),
        principles=tuple(name for name in planned.principles if name not in dropped),
    )


def trimming_of(move: Ask, recorded: Sequence[BundleTrimmed]) -> BundleTrimmed | None:
    # The hash of the request ties it to exactly this prompt: what another prompt left out says nothing of this one.
    sought = (move.about, move.request.sha256, move.droppable[:1])
    return next((each for each in recorded if (each.about, each.request_sha256, (each.memory_id,)) == sought), None)
