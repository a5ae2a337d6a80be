"""Asking the guidance tier for a typed reply; a new run is paused if several in a row cannot be read."""

from typing import Protocol

from mage_es.engine.rules.prompt import Templates
from mage_es.engine.run.world import World
from mage_es.engine.seams.replies import Reply
from mage_es.engine.session.call import TypedCall, complete_typed
from mage_es.engine.session.clients import Clients
from mage_es.engine.session.recording import Recorder
from mage_es.engine.session.reporting import Reporter
from mage_es.events.errors import LogError, PrerequisiteError
from mage_es.events.vocabulary import Event, IterationPlanned, ModelCalled
from mage_es.projections.fold import State

MOST_UNREADABLE = 3
"""How many unreadable guidance replies in a row pause a new run."""


class Guided(Protocol):
    """Where the phases get guidance for their commands: a session asks for it, an audit reads it from the log."""

    @property
    def world(self) -> World: ...

    @property
    def state(self) -> State: ...

    @property
    def last_plan(self) -> IterationPlanned | None: ...

    async def guide(self, call: TypedCall, reply: type[Reply], /) -> tuple[Reply | None, str]: ...


class Guidance:
    """The guidance tier of one session; `templates` are those with which the run began."""

    def __init__(self, recorder: Recorder, reporter: Reporter, clients: Clients, templates: Templates) -> None:
        self._recorder, self._reporter, self._clients, self._templates = recorder, reporter, clients, templates
        self._is_new, self._unreadable = recorder.state.seq == 0, 0
        self._asked: set[tuple[int, str, str]] = set()

    async def guide(self, call: TypedCall, reply: type[Reply]) -> tuple[Reply | None, str]:
        """Return the guidance tier's typed reply (None if the call failed or no reply was readable) and its fact id.

        Raises `PrerequisiteError` once a new run cannot read several replies in a row; a resumed one warns about it.
        """
        self._reporter.check_stop()
        client = self._clients.by_tier().get("guidance")
        if client is None:
            raise LogError("This session has no guidance model: it can only answer questions.")
        found, fact = await complete_typed(self._recorder, client, call, reply, self._templates)
        # What an earlier process reported is not news, and a failed call is reported by its fault.
        if (call.iteration, call.template, call.about) in self._asked:
            self._unreadable = 0 if found is not None else self._unreadable + 1
            if self._unreadable == MOST_UNREADABLE:
                self._pause(client.name)
        return found, fact

    def observe(self, event: Event) -> None:
        """Note a reply that was just recorded."""
        if isinstance(event, ModelCalled) and event.tier == "guidance":
            self._asked.add((event.iteration, event.purpose, event.about))

    def _pause(self, model: str) -> None:
        problem = (
            f"{model} was asked {MOST_UNREADABLE} times in a row and no reply could be read, repaired or not. "
            "Without guidance a run learns from right answers alone: `mage-es doctor` shows such a reply."
        )
        if self._is_new:
            raise PrerequisiteError(
                f"{problem} The run is paused. `resume` continues without the unreadable replies; or start a new run "
                "with another --guidance model."
            )
        self._reporter.announce(f"WARNING: {problem}")
