"""Taking what was learned out of use and bringing it back: memories, recipes, patterns and tools alike, by their ids.

Rules
    - Nothing is deleted: quarantine and release are events that say why, and who decided.
    - What is in quarantine stays there until it is released. What is released is used again, unless something newer has
      replaced it or it was pruned.
    - A proposal that no anchor can judge waits in quarantine for a review, and only a review can release it. If it is
      approved, the next publish takes it into use; if it is rejected, it stays in quarantine.
    - While an episode is in progress, nothing is taken out of use or brought back: the episode asks the graph at every
      step, and a resumed episode must find the graph as it was. (A question's prompt follows from its plan, so
      questions need no such rule.)
"""

from mage_es.engine.commands import Curate, Curation
from mage_es.engine.rules.step_prompt import STEP_TEMPLATES
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary import Draft, Event, MemoryQuarantined, MemoryReleased, ProposalReviewed
from mage_es.projections.fold import State
from mage_es.projections.progress import PHASE_OF_PURPOSE

QUARANTINED = "quarantined"
OUT_OF_USE = (QUARANTINED, "waiting", "approved", "rejected")
"""The statuses in which something is never given to a model."""


def curate(state: State, command: Curate) -> list[Draft]:
    """[section 3.1, protected nodes] No event can remove or edit a protected memory; a harmful one is quarantined, and
    every view leaves it out.
    """
    if under_way := _under_way(state):
        k = state.progress.closed + 1
        raise UsageError(
            f"The run was stopped in the middle of iteration {k}: {under_way} of its episodes are under way and "
            f"need the graph as it is. Finish that iteration first: `mage-es resume RUN --max-iterations {k + 1}`."
        )
    status = status_of(state, command.memory_id)
    if status is None:
        raise UsageError(f"The run has no memory {command.memory_id}; `mage-es memory list` lists them all.")
    if refusal := _refusal(command.action, command.memory_id, status):
        raise UsageError(refusal)
    if not command.by.strip():
        raise UsageError(f"The decision on {command.memory_id} has no name: give the name of who decides.")
    about = {"memory_id": command.memory_id, "reason": command.reason, "by": command.by}
    event: Event
    match command.action:
        # There is one event type for everything remembered: each projection looks for the id among its own.
        case "quarantine":
            event = MemoryQuarantined(**about)
        case "release":
            event = MemoryReleased(**about)
        case "approve":
            event = ProposalReviewed(verdict="approved", **about)
        case "reject":
            event = ProposalReviewed(verdict="rejected", **about)
    # It happens between two iterations, so it belongs to the last one that is closed, and to no phase of the loop.
    at = max(-1, state.progress.closed)
    return [Draft(event=event, iteration=at, phase="log", ordinal=command.ordinal)]


def _refusal(action: Curation, name: str, status: str) -> str:
    """Return why this cannot be done to something with this status, or ""."""
    is_open = status in ("waiting", "approved")
    if action in ("approve", "reject"):
        if status == "approved" and action == "approve":
            return f"{name} is approved already: `mage-es publish` takes it into use."
        return (
            "" if is_open else f"{name} waits for no review, it is {status}; `mage-es memory review` shows what does."
        )
    if is_open:
        return f"{name} is out of use until it is reviewed: `mage-es memory approve` or `mage-es memory reject`."
    if status == "rejected":
        return f"{name} was rejected for good. It can be proposed again in other words."
    if action == "quarantine" and status == QUARANTINED:
        return f"{name} is in quarantine already; `mage-es memory release` takes it out."
    if action == "release" and status != QUARANTINED:
        return f"{name} is not in quarantine, it is {status}; `mage-es memory list --status quarantined` shows what is."
    return ""


def _under_way(state: State) -> int:
    progress = state.progress
    # A question is rendered from its plan, but an episode retrieves anew at every step: only episodes can be disturbed.
    plans = ((phase, planned) for phase in set(PHASE_OF_PURPOSE.values()) for planned in progress.plans(phase))
    return sum(p.template in STEP_TEMPLATES and not progress.is_settled(phase, p.question_id) for phase, p in plans)


def status_of(state: State, name: str) -> str | None:
    """Return active, superseded, pruned, failed or quarantined, or, for a proposal, waiting, approved or rejected; None
    if nothing has that id."""
    # Ids are hashes of contents, so each is of one kind only and the order here decides nothing.
    if status := state.memory.status_of(name):
        return reviewed(state, name, status)
    if any(view.is_quarantined(name) for view in (state.tools, state.recipes, state.patterns)):
        return QUARANTINED
    if pattern := state.patterns.pattern(name):
        return "pruned" if pattern.pruned else "active"
    if tool := next((tool for tool in state.tools.tools() if tool.tool_id == name), None):
        return "active" if tool.active else "failed"
    known = (getattr(recipe, "memory_id", "") or getattr(recipe, "recipe_id", "") for recipe in state.recipes.recipes())
    return "active" if name in known else None


def reviewed(state: State, name: str, status: str) -> str:
    """Return a memory's status, given the one in the projection; for a proposal, return what was decided about it."""
    if (decided := state.traffic.verdict(name)) in ("waiting", "approved", "rejected"):
        # What was approved is in use while a publish tries it.
        return decided if status == QUARANTINED else "active"
    return status
