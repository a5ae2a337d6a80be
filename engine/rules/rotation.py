"""The rotation of EVOLVE's four actions (section 3.3): one for each iteration, in turn."""

from collections.abc import Sequence
from typing import NamedTuple

from mage_es.events.vocabulary import Event, Origin
from mage_es.projections.fold import State

WRITE_FAILURES = "failure_memories"  # what every EVOLVE does, besides the action whose turn it is
EXTRACT_PRINCIPLES = "principle_extraction"
AUTHOR_TOOLS = "dynamic_tool_authoring"
REFINE_PROMPTS = "prompt_refinement"
SPLIT_SKILLS = "skill_splitting"
ACTIONS = (EXTRACT_PRINCIPLES, AUTHOR_TOOLS, REFINE_PROMPTS, SPLIT_SKILLS)
AUTHOR_RECIPES = "retrieval_recipes"  # what goes with the authoring of tools (appendix, call audit)

SWITCHED_OFF = "switched off"
NOTHING = "nothing to author"
UNREADABLE = "the reply could not be read"
FAILED = "the call failed"
"""No reply came: the provider refused the prompt, the prompt was too long, or every attempt failed."""
AUTHORED = "authored"


class ActionTurn(NamedTuple):
    """An action's turn: the state, the target's task type and its main skill, and the source of what is written."""

    state: State
    iteration: int
    task_type: str
    skill: str
    origin: Origin


class Written(NamedTuple):
    """The outcome of one reply: its events, how many things were written and, if there are none, why (where that is
    known).
    """

    events: Sequence[Event] = ()
    authored: int = 0
    refused: str = ""


def action_of(iteration: int) -> str:
    """Return the action of an iteration: k mod 4. [section 3.3, rotation]"""
    # Section 3.3 has one action per iteration, so that changes in accuracy can be attributed.
    return ACTIONS[iteration % len(ACTIONS)]


def with_companions(action: str) -> tuple[str, ...]:
    # Failures are written in every EVOLVE: they are what the other actions draw on.
    return (WRITE_FAILURES, action, AUTHOR_RECIPES) if action == AUTHOR_TOOLS else (WRITE_FAILURES, action)
