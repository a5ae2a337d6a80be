"""Registering a result before the first call: the options, and the registration that they give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.events.errors import UsageError

if TYPE_CHECKING:
    from mage_es.events.vocabulary import RunRegistered

RegisterOption = Annotated[
    bool,
    typer.Option(
        "--register/--no-register",
        help="Record before the first call which exam will count; `verify` reports deviations.",
    ),
]
MetricOption = Annotated[
    str,
    typer.Option("--register-metric", metavar="accuracy|score|strict", help="What --register says will be compared."),
]
SizeOption = Annotated[
    int, typer.Option("--register-questions", min=0, help="Questions of the exam that counts; 0: all held-out ones.")
]
ExamsOption = Annotated[
    int,
    typer.Option("--register-exams", min=1, help="How many exams of the last state will be taken; the first counts."),
]
SeedsOption = Annotated[
    str | None,
    typer.Option("--register-seeds", metavar="N,N,...", help="Seeds reported together. [default: this one alone]"),
]


def registration(
    seed: int, *, register: bool, metric: str = "accuracy", questions: int = 0, exams: int = 1, seeds: str | None = None
) -> RunRegistered | None:
    """Return what is registered, None without `--register`. Raises `UsageError`."""
    import msgspec

    from mage_es.events.vocabulary import RunRegistered

    if not register:
        if metric != "accuracy" or exams > 1 or seeds:
            raise UsageError("--register-... says what to register: add --register.")
        return None
    try:
        numbers = tuple(int(each) for each in seeds.split(",")) if seeds else (seed,)
        fields = {"type": "run.registered", "metric": metric, "questions": questions, "exams": exams, "seeds": numbers}
        return msgspec.convert(fields, RunRegistered)
    except ValueError as error:  # msgspec's error is one too
        raise UsageError(f"This cannot be registered: {error}. See --help for what can.") from error
