"""What every event is made of: the base struct, value parts, and the words that fields are limited to."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec

# Rewards and posteriors are integers in millionths (`_micro`): sums of integers do not depend on order.
MICRO = 1_000_000

# Recorded words: a new one may be added, an old one never changes its meaning.
Phase = Literal[
    "open", "plan", "explore", "evaluate", "update", "evolve", "snapshot", "close", "exam", "log", "serve", "form"
]
Outcome = Literal["principle", "failure_memory", "success_memory", "retrieval_recipe", "abstracted_pattern"]
Purpose = Literal["fresh", "revisit", "anchor", "exam", "ask", "explore", "bare", "again", "trial", "form"]
Tier = Literal["execution", "guidance", "judge", "embedder"]

# Little-endian float32; stored in the side file of a segment, because vectors do not compress.
EmbeddingBytes = Annotated[bytes, msgspec.Meta(extra={"column": "vector"})]

# Said here, on the field, and read from there by whatever seals, checks and shows texts (shapes.py, `fields_marked`).
SubjectText = Annotated[str, msgspec.Meta(extra={"private": True})]
"""May be a subject's, or tell of one: it is recorded under the subject's key (private.py)."""
LearnedText = Annotated[str, msgspec.Meta(extra={"learned": True})]
"""Goes into the graph or a prompt: it must hold no guarded question (engine/rules/leaks.py)."""
LearnedSubjectText = Annotated[SubjectText, msgspec.Meta(extra={"learned": True})]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A value inside an event; never recorded on its own."""


class Origin(Part, frozen=True, kw_only=True):
    """Where something learned comes from. Bound when written, as a lineage that is guessed later proves nothing."""

    facts: tuple[str, ...] = ()
    """Fact ids of the verdict and the replies that it was made from, in hexadecimal digits."""
    writer: str = ""
    """Model that wrote it."""
    saw: str = "nothing"
    """What its writer was shown of right answers: errors, answers or solutions; `nothing`: a verdict chose it among
    replies to questions."""
    by: str = ""
    """Person or key that gave it; empty: the run itself."""


class Sent(Part, frozen=True, kw_only=True):
    """What was sent to a model, in pieces: each text is in a log once, where it is first sent, and has a number."""

    # Numbers and not hashes, which do not compress: the texts of a prompt are named in some ten bytes.
    parts: tuple[int, ...] = ()
    """Numbers of the texts that it consists of. For a call: its system message, its terms (a JSON object: temperature,
    max_tokens, reply_schema, sample), and its other messages. For a note: its texts. Empty if nothing was sent."""
    begins: tuple[int, ...] = ()
    """Places in `parts`, from 0, at which another message begins. User and assistant take turns."""
    first: int = 0
    """Number of the first of `texts`; 0 for none."""
    texts: tuple[SubjectText, ...] = ()
    """The texts that nothing before had; their numbers follow one another."""


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """A fact. Subclasses name their stable tag as `class X(Event, frozen=True, kw_only=True, tag="noun.verbed")`.

    `version` is the schema version of the payload (`sv` in the record); `stream` is the pattern of `subject`.
    """

    version: ClassVar[int] = 1
    stream: ClassVar[str] = "run"

    @property
    def subject(self) -> str:
        """What the fact is about, such as `question/q17`; the stream that the record belongs to."""
        return self.stream.format(self)


def tag_of(event: Event | type[Event]) -> str:
    return str(event.__struct_config__.tag)
