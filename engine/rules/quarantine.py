"""Taking what was learned out of use and bringing it back: memories, recipes, patterns and tools alike, by their ids.

Rules
    - Nothing is deleted: quarantine and release are events with a reason and the name of who decided.
    - What is in quarantine stays there until it is released; what is released is in use again unless something newer
      took its place, or it was pruned.
    - An episode asks the graph at every step, and a resumed one must find it as it was: while any is under way, nothing
      is taken out or brought back. The prompt of a question follows from its plan.
"""

from __future__ import annotations

from mage_es.engine.commands import Curate
from mage_es.engine.rules.step_prompt import STEP_TEMPLATES
from mage_es.events.envelope import Draft
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary import Event, MemoryQuarantined, MemoryReleased
from mage_es.projections.fold import State
from mage_es.projections.progress import PHASE_OF_PURPOSE

QUARANTINED = "quarantined"


def curate(state: State, command: Curate) -> list[Draft]:
    """Return the quarantine or release of something by its id.

    Raises:
        UsageError: Nothing has that id, it is in quarantine already, or it is not in quarantine; or the run was stopped
            in the middle of episodes.
    """
    if under_way := _under_way(state):
        k = state.progress.closed + 1
        raise UsageError(
            f"The run was stopped in the middle of iteration {k}: {under_way} of its episodes are under way, and go on "
            f"by the graph as it is. Let it come to the end of that iteration first: `mage-es resume RUN "
            f"--max-iterations {k + 1}`."
        )
    status = status_of(state, command.memory_id)
    if status is None:
        raise UsageError(f"The run has no memory {command.memory_id}; `mage-es memory list` names them all.")
    if command.action == "quarantine" and status == QUARANTINED:
        raise UsageError(f"{command.memory_id} is in quarantine already; `mage-es memory release` takes it out.")
    if command.action == "release" and status != QUARANTINED:
        raise UsageError(
            f"{command.memory_id} is not in quarantine, it is {status}; "
            "`mage-es memory list --status quarantined` shows what is."
        )
    kind = MemoryQuarantined if command.action == "quarantine" else MemoryReleased
    event: Event = kind(memory_id=command.memory_id, reason=command.reason, by=command.by)
    at = max(-1, state.progress.closed)
    return [Draft(event=event, iteration=at, phase="log", ordinal=command.ordinal)]


def _under_way(state: State) -> int:
    """Return how many episodes of the open iteration are planned and not settled."""
    progress = state.progress
    plans = ((phase, planned) for phase in set(PHASE_OF_PURPOSE.values()) for planned in progress.plans(phase))
    return sum(p.template in STEP_TEMPLATES and not progress.is_settled(phase, p.question_id) for phase, p in plans)


def status_of(state: State, name: str) -> str | None:
    """Return how something stands: active, superseded, pruned, failed or quarantined; None where nothing has the id."""
    if any(view.is_quarantined(name) for view in (state.tools, state.recipes, state.patterns)):
        return QUARANTINED
    if state.memory.count_of(name):
        return state.memory.row(name).status
    if pattern := state.patterns.pattern(name):
        return "pruned" if pattern.pruned else "active"
    if tool := next((tool for tool in state.tools.tools() if tool.tool_id == name), None):
        return "active" if tool.active else "failed"
    known = (getattr(recipe, "memory_id", "") or getattr(recipe, "recipe_id", "") for recipe in state.recipes.recipes())
    return "active" if name in known else None
