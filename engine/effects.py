"""What the moves of a course do in the world: models are called, tools are run; facts come back as drafts.

One method for each kind of move, in a table; what a move needs of the world is given when the effects are made.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from mage_es.engine.batching import BatchGate
from mage_es.engine.calling import Record, make
from mage_es.engine.commands import (
    Call,
    Command,
    RecordAct,
    RecordFailure,
    RecordSearch,
    RecordToolRun,
    RecordTrimming,
)
from mage_es.engine.courses import Act, Ask, Look, Move, Use
from mage_es.engine.decide import decide
from mage_es.engine.models.line import Line
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.search.protocol import Page
from mage_es.engine.search.registry import Searches
from mage_es.engine.setting import Setting
from mage_es.events.envelope import Draft
from mage_es.events.errors import LogError
from mage_es.events.vocabulary import Phase, QuestionPlanned, Tier
from mage_es.projections.fold import State

SIMILAR = 5
"""Titles that are named where a page is not there, as in the original ReAct."""

Handler = Callable[[Phase, QuestionPlanned, Any, int], Awaitable[Sequence[Draft]]]
"""Makes one kind of move for a planned question: (phase, plan, move, causation) -> facts, the move's own first."""


class Effects:
    """The effects of one session. `lines` maps each tier that may be called to its line; `record` is for failures."""

    def __init__(
        self,
        setting: Setting,
        state: State,
        lines: Mapping[Tier, Line | BatchGate],
        sandbox: Sandbox,
        *,
        record: Record,
        searches: Searches | None = None,
    ) -> None:
        self._setting, self._state, self._lines = setting, state, lines
        self._sandbox, self._record, self._searches = sandbox, record, searches
        self._handlers: dict[type[Move], Handler] = {
            Ask: self._ask,
            Use: self._use,
            Look: self._look,
            Act: self._act,
        }

    async def perform(self, phase: Phase, planned: QuestionPlanned, move: Move, causation: int) -> Sequence[Draft]:
        """Make a move and return the facts that it leaves, the one that its course is sent first.

        A call that failed for good leaves a `CallFailed`, which no course is sent: it has come to its end. One whose
        prompt did not fit leaves a `BundleTrimmed` first, as long as its prompt can do without something.

        Raises:
            PrerequisiteError: A model cannot be reached, or the sandbox cannot be started.
            LogError: A tier is called that this session has no model for.
        """
        return await self._handlers[type(move)](phase, planned, move, causation)

    async def _ask(self, phase: Phase, planned: QuestionPlanned, move: Ask, causation: int) -> Sequence[Draft]:
        line = self._lines.get(move.tier)
        if line is None:
            raise LogError(f"This session has no model for the {move.tier} tier; it may not call it.")
        call = Call(
            iteration=planned.iteration,
            phase=phase,
            tier=move.tier,
            agent=move.agent,
            purpose=move.purpose or planned.purpose,
            about=move.about,
            attempt=move.attempt,
            request_sha256=move.request.sha256,
            model=line.name,
            causation=causation,
        )
        came: Command = await make(call, move.request, line=line, record=self._record, typed=move.typed)
        if isinstance(came, RecordFailure) and came.failed.fault.kind == "too_long" and move.droppable:
            came = RecordTrimming(call, came.failed, planned, move.droppable[0])
        return decide(self._setting, self._state, came)

    async def _use(self, phase: Phase, planned: QuestionPlanned, move: Use, causation: int) -> Sequence[Draft]:
        tool = self._state.tools.tool(move.tool_id)
        outcome = await asyncio.to_thread(self._sandbox.run, tool.source, move.arguments)
        ran = RecordToolRun(
            phase=phase,
            planned=planned,
            tool_id=move.tool_id,
            arguments=move.arguments,
            result=outcome.result,
            problem=outcome.problem,
            causation=causation,
        )
        return decide(self._setting, self._state, ran)

    async def _look(self, phase: Phase, planned: QuestionPlanned, move: Look, causation: int) -> Sequence[Draft]:
        if self._searches is None:
            raise LogError("This session has nothing to search in; it may not look anything up.")
        search = self._searches.of(move.question)

        def found() -> tuple[Sequence[Page], Sequence[str]]:
            if move.passages:
                return search.passages(move.query, count=move.passages), ()
            page = search.page(move.query)
            return ((page,), ()) if page else ((), search.similar(move.query, count=SIMILAR))

        pages, similar = await asyncio.to_thread(found)
        answered = RecordSearch(phase, planned, move, search.name, pages, similar, causation)
        return decide(self._setting, self._state, answered)

    async def _act(self, phase: Phase, planned: QuestionPlanned, move: Act, causation: int) -> Sequence[Draft]:
        return decide(self._setting, self._state, RecordAct(phase, move.fact, causation))
