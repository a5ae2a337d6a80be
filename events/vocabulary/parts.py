"""What many events of a run share: what they are about, value parts, and the fixed words of some fields."""

from typing import Annotated, ClassVar, Literal

import msgspec

from mage_es.events.facts.event import Event, Part, SubjectText

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


class AboutAsking(Event, frozen=True, kw_only=True):
    """A fact about a question that is asked in an iteration, and why."""

    stream: ClassVar[str] = "question/{0.question_id}"
    iteration: int
    purpose: Purpose
    question_id: str


class AboutTypedAsking(AboutAsking, frozen=True, kw_only=True):
    """The same, with what the question counts as."""

    task_type: str
    skill: str


class AboutCall(Event, frozen=True, kw_only=True):
    """A fact about a call of a model, by its place among the calls of an iteration."""

    stream: ClassVar[str] = "call/{0.tier}/{0.purpose}/{0.about}/{0.attempt}"
    iteration: int
    tier: Tier
    agent: str
    purpose: str
    """Why the model was called."""
    about: str
    attempt: int


class AboutMemory(Event, frozen=True, kw_only=True):
    """A fact about a memory, or about anything else learned that has an id."""

    stream: ClassVar[str] = "memory/{0.memory_id}"
    memory_id: str
