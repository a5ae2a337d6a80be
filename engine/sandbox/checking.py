"""Whether a tool gets its own examples right: one that does not is never used."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.events.vocabulary import ToolExample


def check_tool(sandbox: Sandbox, source: str, examples: Sequence[ToolExample]) -> str:
    """Return why a tool must not be used, or "" if it has examples and gets them all right."""
    if not examples:
        return "it has no examples"
    for number, example in enumerate(examples, start=1):
        outcome = sandbox.run(source, example.arguments)
        if outcome.problem:
            return f"example {number}: {outcome.problem}"
        if not is_same(outcome.result, example.result):
            return f"example {number}: {outcome.result[:80]!r} instead of {example.result[:80]!r}"
    return ""


def is_same(one: str, other: str) -> bool:
    """Return whether two results are the same text, or the same number however it is written."""
    if one.strip() == other.strip():
        return True
    try:
        return Decimal(one) == Decimal(other)
    except InvalidOperation:
        return False
