"""The apprentice behind the seam: a step prompt in, a reason and an action out.

Rules
    - The reply is a function of the request alone: no clock, no file, no random source, no memory between calls.
    - It is not a language model: no weights, no training. It knows no thing and no place of any world; what it knows
      of one stands in its prompt. At a temperature above 0 that share of its actions is tried out at random.
"""

from __future__ import annotations

from mage_es.engine.models.apprentice.planning import Planner
from mage_es.engine.models.apprentice.prompt_reading import read_prompt
from mage_es.engine.models.players import completed, dice_of
from mage_es.engine.models.seam import Completion, Request


class Apprentice:
    """`builtin/apprentice`: plays episodes by what its prompt tells of earlier ones."""

    name = "builtin/apprentice"

    async def complete(self, request: Request) -> Completion:
        """Return a line of reasoning and the action. Never raises on any prompt."""
        return completed(request, reply)


def reply(prompt: str, temperature: float = 0.0) -> str:
    """Return the reply to a prompt; to one without valid actions, that there is nothing to do."""
    read = read_prompt(prompt)
    if not read.actions:
        return "There is no action to choose from."
    dice, is_trial = dice_of(prompt, temperature)
    planner = Planner(read, dice=dice)
    action, reason = (planner.attempt(), "trying things") if is_trial else planner.choose()
    final = f"Action: {action}"
    return final if read.is_direct else f"Next step, {reason}.\n{final}"
