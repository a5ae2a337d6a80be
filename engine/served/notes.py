"""What a served run inserts before a user's turn: a note, and after it cases as turns of the chat.

Rules
    - Both equal the beginning of an answer prompt, up to its question, byte for byte: what was learned is served in the
      layout in which the guard judged it. With small models, notes did harm after the question, or between it and the
      cases.
    - They contain only memories, as turns and in the sections and quotations of an answer prompt
      (rules/ingredients.py), without skill, instruction or answer format: the client's own prompt says how to work and
      reply. So the replies of cases are the right answers, after their reasoning if the run reasons, without the run's
      own mark.
    - They depend only on the state at the marker and on the memories' ids, so `verify` can render them again from the
      log.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, pairwise
from typing import Literal, NamedTuple, cast

from mage_es.engine.rules.forms import USUAL, WORKED, form_of
from mage_es.engine.rules.ingredients import ASKS, CASES, Near, as_lines, as_turns, nearest_last, noted, remembered
from mage_es.engine.rules.prompt import BARE, NOTES, QUESTION, headed, render_known
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.model import BETWEEN_TURNS
from mage_es.engine.seams.tokens import estimated_tokens
from mage_es.events.digests import sha256_text
from mage_es.events.vocabulary import ServedLayout, Span
from mage_es.projections.fold import State

MinSimilarity = float | Literal["auto"]


class CaseLayout(NamedTuple):
    """How a note looks: the form of its cases; `answers_only`, whether cases shown as turns omit the reasoning; and the
    sentence before notes ("": this program's own)."""

    form: ServedLayout = "turns"
    answers_only: bool = False
    preface: str = ""


def layout_of(setting: Setting, state: State) -> CaseLayout:
    form = form_of(setting, state)
    # Which cases there are is settled when they are retrieved.
    form = cast(ServedLayout, USUAL if form == WORKED else form)
    return CaseLayout(form, setting.route == "direct", setting.templates.get(NOTES, ""))


class Note(NamedTuple):
    """What precedes a turn: the questions of cases with their replies, as separate turns, the first beginning with the
    notes; without cases, the start of the turn's text; and the ids of all memories, in order."""

    text: str
    memories: tuple[str, ...]
    turns: tuple[tuple[str, str], ...] = ()

    @property
    def said(self) -> tuple[str, ...]:
        """All texts, in order."""
        return (*chain.from_iterable(self.turns), *([self.text] if self.text else []))

    @property
    def sha256(self) -> str:
        """The hash of all texts; empty if there are none."""
        return sha256_text("\x00".join(self.said)) if self.said else ""


NOTHING = Note("", ())


class NoteBounds(NamedTuple):
    """The limits of a note: the least cosine of a memory ("auto": as measured; 0: no limit), the task types that get a
    note (empty: all), the most tokens, turns included, by an upper estimate (0: no limit), and the form of its cases
    ("": that of the run's own prompts)."""

    min_similarity: MinSimilarity = "auto"
    task_types: tuple[str, ...] = ()
    max_tokens: int = 0
    layout: ServedLayout | Literal[""] = ""


DEFAULT_BOUNDS = NoteBounds()


def kept_within(state: State, memories: Mapping[str, float], layout: CaseLayout, most: int) -> tuple[str, ...]:
    """Return the memories, by cosine, that fit a note of `most` tokens: the farthest are left out first."""
    kept = [*memories]
    while most and kept and estimated_tokens("\n".join(note_of(state, kept, layout).said)) > most:
        kept.remove(min(reversed(kept), key=lambda name: memories[name]))
    return tuple(kept)


def in_order(state: State, hits: Sequence[Near], layout: CaseLayout) -> list[Near]:
    """Return retrieved memories in the order in which an answer prompt shows them."""
    if layout.form == "sections":
        return [*hits]
    # Strategies keep the order in which they were found: a prompt has them in sections, before all turns.
    strategies = [hit for hit in hits if state.memory.row(hit.memory_id).kind == "type_strategy"]
    return [*strategies, *nearest_last([hit for hit in hits if hit not in strategies])]


def quotations_of(state: State, memories: Collection[str], layout: CaseLayout) -> tuple[Span, ...]:
    """Return the places of the memories in the text before a question, and so in a prompt that begins with it."""
    return _rendered(state, memories, layout)[1]


def note_of(state: State, memories: Collection[str], layout: CaseLayout) -> Note:
    """Return the note that shows these memories, `NOTHING` without any. Raises `KeyError` for an unknown id."""
    note, spans = _rendered(state, memories, layout)
    return note._replace(memories=tuple(span.source.removeprefix("memory/") for span in spans))


def _rendered(state: State, memories: Collection[str], layout: CaseLayout) -> tuple[Note, tuple[Span, ...]]:
    # By ids alone and in order: an anchor's plan and an inference's record have nothing else in common.
    titled, cases = remembered(state, memories, BARE), []
    if layout.form != "sections":
        cases = as_turns(map(state.memory.row, memories), answer_format=BARE, answers_only=layout.answers_only)
        titled = {title: quotes for title, quotes in titled.items() if title not in CASES}
    are_lines = layout.form == "lines"
    text, spans, turns = render_known(noted(titled), as_lines(cases) if are_lines else cases, preface=layout.preface)
    if not cases:
        return Note(text and f"{text}{headed(QUESTION)}", ()), spans
    if are_lines:
        # One message: a client's own turn continues it as the last question, and needs no role of its own.
        return Note(f"{text}{ASKS}", ()), spans
    said = [text[start:end].removesuffix(BETWEEN_TURNS) for start, end in pairwise((0, *turns))]
    return Note("", (), tuple(zip(said[::2], said[1::2], strict=True))), spans
