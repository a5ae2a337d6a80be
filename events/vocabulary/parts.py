"""What many events of a run share: value parts, and the fixed words of some fields."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from mage_es.events.facts.event import Part, SubjectText

# Rewards and posteriors are integers in millionths (`_micro`): sums of integers do not depend on order.
MICRO = 1_000_000

# Recorded words: a new one may be added, an old one never changes its meaning.
Outcome = Literal["principle", "failure_memory", "success_memory", "retrieval_recipe", "abstracted_pattern"]
Purpose = Literal["fresh", "revisit", "anchor", "exam", "ask", "explore", "bare", "again", "trial", "form"]
Tier = Literal["execution", "guidance", "judge", "embedder"]

LearnedText = Annotated[str, msgspec.Meta(extra={"learned": True})]
"""Goes into the graph or a prompt: it must not contain a guarded question (engine/rules/leaks.py)."""
LearnedSubjectText = Annotated[SubjectText, msgspec.Meta(extra={"learned": True})]


class Origin(Part, frozen=True, kw_only=True):
    """Where something learned comes from. Recorded when it is written, because a lineage reconstructed later proves
    nothing."""

    facts: tuple[str, ...] = ()
    """Fact ids of the verdict and the replies that it was made from, in hexadecimal digits."""
    writer: str = ""
    """Model that wrote it."""
    saw: str = "nothing"
    """What its writer was shown: errors, answers or solutions; `nothing` if a verdict chose it among replies to
    questions."""
    by: str = ""
    """Person or key that gave it; empty for the run itself."""


class Sent(Part, frozen=True, kw_only=True):
    """What was sent to a model, in pieces: each text is in a log once, where it is first sent, and has a number."""

    # Numbers and not hashes, which do not compress: some ten bytes name all texts of a prompt.
    parts: tuple[int, ...] = ()
    """Numbers of the texts that it consists of. For a call: its system message, its terms (a JSON object: temperature,
    max_tokens, reply_schema, sample), and its other messages. For a note: its texts. Empty if nothing was sent."""
    begins: tuple[int, ...] = ()
    """Positions in `parts`, from 0, at which another message begins. User and assistant take turns."""
    first: int = 0
    """Number of the first of `texts`; 0 for none."""
    texts: tuple[SubjectText, ...] = ()
    """The texts that are new in the log; their numbers are consecutive."""
