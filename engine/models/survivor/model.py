"""The survivor behind the seam: a step prompt in, a reason and an action out.

Rules
    - The reply is a function of the request alone: no clock, no file, no random source, no memory between calls.
    - It is not a language model: no weights, no training. It knows how observations are worded and how to get about;
      what a thing is good for stands in its prompt or not. At a temperature above 0 that share of actions is a trial.
"""

from __future__ import annotations

from mage_es.engine.models.players import completed, dice_of
from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.models.survivor.planning import Planner
from mage_es.engine.models.survivor.prompt_reading import read_prompt


class Survivor:
    """`builtin/survivor`: plays episodes of survival by what its prompt tells of earlier ones."""

    name = "builtin/survivor"

    async def complete(self, request: Request) -> Completion:
        """Return a line of reasoning and the action. Never raises on any prompt."""
        return completed(request, reply)


def reply(prompt: str, temperature: float = 0.0) -> str:
    """Return the reply to a prompt; to one without moves among its valid actions, that there is nothing to do."""
    read = read_prompt(prompt)
    if not all(f"Move {way}" in read.actions for way in ("North", "East", "South", "West")):
        return "There is nowhere to go."
    dice, is_trial = dice_of(prompt, temperature)
    planner = Planner(read, dice=dice)
    action, reason = (planner.attempt(), "trying things") if is_trial else planner.choose()
    final = f"ACTION: {action}"
    return final if read.is_direct else f"Next step, {reason}.\n{final}"
