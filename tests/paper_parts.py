"""What of the paper the defaults leave out, for tests of those parts: bandits, quotas, sections, revisits."""

from typing import Any

PAPER_PARTS: dict[str, Any] = {
    "bandits": True,
    "bundle": 3,
    "retrieval": "quotas",
    "form": "sections",
    "route": "cot",
    "cases": False,
    "revisit_cap": 100,
    "prompt_refinement": True,
    "strategies": True,
    "unread": True,
}
"""Settings of the preset `paper`: what is learned is chosen by bandits under quotas and shown in sections."""


def option(name: str, value: object) -> list[str]:
    """Return a setting as words of a command line."""
    words = name.replace("_", "-")
    return [f"--{'' if value else 'no-'}{words}"] if isinstance(value, bool) else [f"--{words}", str(value)]


PAPER_OPTIONS = tuple(word for setting in PAPER_PARTS.items() for word in option(*setting))
"""The same as options of a command line."""
