"""Prompts of an imaginary survival game as the engine renders them, for the survivor's tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

ACTIONS = (
    "Noop",
    "Move West",
    "Move East",
    "Move North",
    "Move South",
    "Do",
    "Sleep",
    "Place Kiln",
    "Make Clay Pot",
)
RULES = """collect clay: by Do facing bank, gives 1 clay
collect fish: by Do facing pond, needs 1 clay_pot, gives 1 fish
place kiln: by Place Kiln facing moss or mud, takes 2 clay, gives kiln
make clay pot: by Make Clay Pot near kiln, takes 1 clay, gives 1 clay_pot
eat berry: by Do facing bush, gives 4 food
defeat wolf: by Do facing wolf until it is down
stay alive: walk on moss or mud, never on ember"""


def view(*things: str, faced: str = "moss", asleep: bool = False) -> str:
    """Return what is seen; things are such as `bank 3 steps to your north-west`."""
    listed = (
        "\n".join(["You see:", *(f"- {thing}" for thing in things)]) if things else "You see nothing away from you."
    )
    status = "You are sleeping, and will not be able take actions until energy is full.\n\n" if asleep else ""
    return f"{status}{listed}\n\nYou face {faced} at your front."


def status(items: Mapping[str, int] | None = None, **vitals: int) -> str:
    """Return the status and what is carried."""
    amounts = {"health": 9, "food": 9, "drink": 9, "energy": 9, **vitals}
    lines = ["Your status:", *(f"- {name}: {amount}/9" for name, amount in amounts.items()), ""]
    carried = ["Your inventory:", *(f"- {name}: {amount}" for name, amount in (items or {}).items())]
    return "\n".join([*lines, *(carried if items else ["You have nothing in your inventory."])])


def prompt(
    seen: str,
    stands: str = "",
    *,
    told: str = "",
    title: str = "Strategy",
    past: Sequence[tuple[str, str]] = (),
    first: int = 1,
) -> str:
    """Return a step prompt; `told` stands quoted under `title`, `past` are (view, action) from step `first` on."""
    entries = [f"{n}. Observation:\n{was}\nAction: {action}" for n, (was, action) in enumerate(past, start=first)]
    parts = [
        *([f"## {title}\n\n{_quoted(told)}"] if told else []),
        "## Task\n\nHow the game goes.\n\nWorld 3: get as far as possible.",
        *([f"## Episode so far\n\n{_quoted(chr(10).join(entries))}"] if entries else []),
        f"## Observation\n\n{_quoted(f'{stands or status()}{chr(10)}{chr(10)}{seen}')}",
        "## Valid actions\n\n" + "\n".join(f"- {action}" for action in ACTIONS),
    ]
    return "\n\n".join(parts)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())
