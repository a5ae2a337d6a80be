"""An Inspect solver (inspect_ai) that inserts a run's memories before a task's questions.

Rules
    - Every user message with text gets what it would get on its way through a client of `wrap(record=False)`: the same
      memories of the same frozen state, at the same place (engine/serving/shapes.py says which).
    - Nothing is recorded here. The sample's metadata has `mage_es`: run, marker, the ids of the memories that were put
      in, in order, or why there are none: `far`, `bare` or `none`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from anyio import to_thread
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageUser, ContentText
from inspect_ai.solver import Generate, Solver, TaskState, solver

from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.served.frozen import FrozenRun, freeze
from mage_es.engine.served.notes import Note
from mage_es.engine.serving.clients import note_before


@solver  # type: ignore[untyped-decorator]
def with_memory(run: FrozenRun | Run | Path | str, at: str = "latest", generates: bool = False) -> Solver:
    """Return a solver that inserts what a run knew at a marker before each user message; place it before `generate()`.

    With `generates` it then asks the model itself, as the only solver of a task must (`inspect eval --solver`).

    A run is given as an object, by its folder, by its name in the folder `runs`, or as what `mage_es.open_run` returns,
    whose options and marker then hold instead of `at`.

    Raises `UsageError` for what `mage_es.open_run` refuses.
    """
    frozen = run if isinstance(run, FrozenRun) else freeze(as_run(run), at)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        state.messages, state.metadata["mage_es"] = await to_thread.run_sync(partial(_put, frozen, state.messages))
        return await generate(state) if generates else state

    return solve


def _put(frozen: FrozenRun, messages: Sequence[ChatMessage]) -> tuple[list[ChatMessage], dict[str, object]]:
    """Return a conversation with memories, and the metadata about them."""
    said, shown, why, is_first = list[ChatMessage](), dict[str, None](), "none", True
    for message in messages:
        if isinstance(message, ChatMessageUser) and (text := "\n".join(_texts(message)).strip()):
            note, why = note_before(frozen, text, is_first)
            said += _before(message, note)
            shown |= dict.fromkeys(note.memories)
        else:
            said.append(message)
        is_first = is_first and message.role == "system"
    metadata: dict[str, object] = {
        "run": frozen.run.id,
        "marker": frozen.marker,
        "memories": [*shown],
        **({} if shown else {"why": why}),
    }
    return said, metadata


def _before(message: ChatMessageUser, note: Note) -> Iterator[ChatMessage]:
    """Yield a note's turns, and the message with the note's text at the start of its first text."""
    for question, reply in note.turns:
        yield ChatMessageUser(content=question)
        yield ChatMessageAssistant(content=reply)
    if isinstance(message.content, str):
        yield message.model_copy(update={"content": note.text + message.content})
        return
    parts = [*message.content]
    place = next(number for number, part in enumerate(parts) if isinstance(part, ContentText))
    first = parts[place]
    assert isinstance(first, ContentText)
    parts[place] = first.model_copy(update={"text": note.text + first.text})
    yield message.model_copy(update={"content": parts})


def _texts(message: ChatMessageUser) -> list[str]:
    if isinstance(message.content, str):
        return [message.content]
    return [part.text for part in message.content if isinstance(part, ContentText)]
