"""Step prompts as the engine renders them, for the apprentice's tests."""

from __future__ import annotations

from collections.abc import Sequence

ACTIONS = ("go to hill", "go to lake", "collect sand", "collect iron", "build forge", "make saw", "make sword")


def prompt(
    task: str = "Make the sword in 9 steps.",
    *,
    observation: str = "You are at the hill. You see sand here. You carry nothing. 9 steps left.",
    told: str = "",
    title: str = "Solved earlier",
    steps: Sequence[str] = (),
    actions: Sequence[str] = ACTIONS,
) -> str:
    """Return a step prompt; `told` stands quoted under `title`."""
    quoted = "\n".join(f"> {line}" for line in told.splitlines())
    numbered = "\n".join(f"> {number}. {line}" for number, line in enumerate(steps, start=1))
    parts = [
        *([f"## {title}\n\n{quoted}"] if told else []),
        f"## Task\n\n{task}",
        *([f"## Episode so far\n\n{numbered}"] if steps else []),
        f"## Observation\n\n> {observation}",
        "## Valid actions\n\n" + "\n".join(f"- {action}" for action in actions),
    ]
    return "\n\n".join(parts)
