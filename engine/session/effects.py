"""The effects of a course's moves: call a model, run a tool, look something up. The resulting facts are drafts."""

import asyncio
from collections.abc import Mapping, Sequence

from mage_es.engine.commands import Call, Command, RecordFacts, RecordFailure, RecordTrimming, shared
from mage_es.engine.courses import Act, Ask, Grade, Look, Move, Use
from mage_es.engine.decide import decide
from mage_es.engine.rules.setting import Setting
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.seams.faults import shortened, without_halves
from mage_es.engine.seams.search import Page, Search, bounded, bounded_title
from mage_es.engine.search.registry import Searches
from mage_es.engine.session.call import RecordCommand, make_call
from mage_es.engine.session.queueing import Client
from mage_es.events import vocabulary as v
from mage_es.events.errors import LogError, MageError
from mage_es.projections.fold import State

SIMILAR = 5
"""How many similar titles to name if a page does not exist, as in the original ReAct."""


def looked_up(search: Search, move: Look) -> tuple[Sequence[Page], Sequence[str], str]:
    """Return the pages that a search finds, similar titles if the page does not exist, and what went wrong."""
    try:
        if move.passages:
            return list(map(bounded, search.passages(move.query, count=move.passages))), (), ""
        page = search.page(move.query)
        # As in the original ReAct, similar titles are named only if the page does not exist.
        similar = () if page else map(bounded_title, search.similar(move.query, count=SIMILAR))
        return [bounded(page)] if page else (), tuple(similar), ""
    except MageError:  # the whole corpus cannot be reached
        raise
    except Exception as error:  # its error on this query is not the model's fault and must not stop the run
        return (), (), shortened(without_halves(f"{type(error).__name__}: {error}"))


class Effects:
    """The effects of one session. `clients` has the tiers that a course may call; `record` takes failed attempts."""

    def __init__(
        self,
        setting: Setting,
        state: State,
        clients: Mapping[v.Tier, Client],
        sandbox: Sandbox,
        *,
        record: RecordCommand,
        searches: Searches | None = None,
    ) -> None:
        self._setting, self._state, self._clients = setting, state, clients
        self._sandbox, self._record, self._searches = sandbox, record, searches

    async def perform(
        self, phase: v.Phase, planned: v.QuestionPlanned, move: Move, causation: int
    ) -> Sequence[v.Draft]:
        """Make a move and return its facts as drafts; the course is sent the first.

        A call that failed permanently gives a `CallFailed`, which ends its course. If the prompt did not fit the
        model's context and something can be left out of it, the first fact is a `BundleTrimmed`, and the course asks
        again.

        Raises:
            PrerequisiteError: A model cannot be reached, or the sandbox cannot be started.
            LogError: The session has no model for the tier, or nothing to search in.
        """
        match move:
            case Ask():
                return await self._ask(phase, planned, move, causation)
            case Use():
                return await self._use(phase, planned, move, causation)
            case Look():
                return await self._look(phase, planned, move, causation)
            case Act():
                return self._act(phase, planned, move, causation)
            case Grade():  # scored where the course is followed (session/following.py): it leaves no fact
                raise LogError("A reply is to be scored, and not by a session's effects.")

    async def _ask(self, phase: v.Phase, planned: v.QuestionPlanned, move: Ask, causation: int) -> Sequence[v.Draft]:
        client = self._clients.get(move.tier)
        if client is None:
            # Where frozen inference is enforced: courses get no guidance client, so one that asked for guidance ends
            # here.
            raise LogError(f"This session has no model for the {move.tier} tier.")
        call = Call.of(move, planned.iteration, phase, client.name, purpose=planned.purpose, causation=causation)
        call = call._replace(sources=(planned.question_id,))
        outcome: Command = await make_call(call, move, client=client, record=self._record)
        if isinstance(outcome, RecordFailure) and outcome.failed.fault.kind == "too_long" and move.droppable:
            # Not a failure: a `CallFailed` would end the course, and this one can ask again with one memory fewer.
            outcome = RecordTrimming(call, outcome.failed, planned, move.droppable[0])
        return decide(self._setting, self._state, outcome)

    async def _use(self, phase: v.Phase, planned: v.QuestionPlanned, move: Use, causation: int) -> Sequence[v.Draft]:
        tool = self._state.tools.tool(move.tool_id)
        # The sandbox waits for its worker process, so it must not block the event loop that other courses share.
        outcome = await asyncio.to_thread(self._sandbox.run, tool.source, move.arguments)
        ran = v.ToolRan(**(shared(planned, v.ToolRan) | move._asdict() | outcome._asdict()))
        return self._facts(phase, planned, ran, causation)

    async def _look(self, phase: v.Phase, planned: v.QuestionPlanned, move: Look, causation: int) -> Sequence[v.Draft]:
        if self._searches is None:
            raise LogError("This session has nothing to search in, so it cannot look anything up.")
        search = self._searches.of(move.question)

        # In a thread, like tools: an index may take seconds to load or to search.
        pages, similar, problem = await asyncio.to_thread(looked_up, search, move)
        answered = v.SearchAnswered(
            **shared(planned, v.SearchAnswered),
            place=move.place,
            search=search.name,
            wanted="passages" if move.passages else "page",
            query=move.query,
            titles=tuple(page.title for page in pages) or tuple(similar),
            # The texts themselves, since the corpus may have changed or be missing when the run is resumed or shown.
            texts=tuple(page.text for page in pages),
            problem=problem,
        )
        return self._facts(phase, planned, answered, causation, ordinal=move.place)

    def _act(self, phase: v.Phase, planned: v.QuestionPlanned, move: Act, causation: int) -> Sequence[v.Draft]:
        # Nothing to perform: the course has played the step itself, so that a replay needs no effects.
        step = move.fact.step if isinstance(move.fact, v.EpisodeStepped) else 0
        return self._facts(phase, planned, move.fact, causation, ordinal=step)

    def _facts(
        self, phase: v.Phase, planned: v.QuestionPlanned, event: v.Event, causation: int, *, ordinal: int = 0
    ) -> Sequence[v.Draft]:
        fact = RecordFacts.about(planned, phase, event, causation=causation, ordinal=ordinal)
        return decide(self._setting, self._state, fact)
