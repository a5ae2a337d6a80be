"""The rotation of EVOLVE's four actions (section 3.3): one for each iteration, in turn."""

from __future__ import annotations

WRITE_FAILURES = "failure_memories"
"""What every EVOLVE does, whatever else is in turn."""
EXTRACT_PRINCIPLES = "principle_extraction"
"""The first of the four."""
ACTIONS = (EXTRACT_PRINCIPLES, "dynamic_tool_authoring", "prompt_refinement", "skill_splitting")
"""The actions in the paper's order."""


def action_of(iteration: int) -> str:
    """Return the action of an iteration: k mod 4."""
    return ACTIONS[iteration % len(ACTIONS)]
