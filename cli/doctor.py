"""`mage-es doctor`: what a run needs from this machine, and how to mend what is missing."""

from __future__ import annotations

from typing import Annotated

import typer

from mage_es.cli.options import Json, examples, takes
from mage_es.cli.output import Output, Table
from mage_es.cli.settings import Settings
from mage_es.events.errors import PrerequisiteError

EXAMPLES = examples("mage-es doctor", "mage-es doctor --execution 'openai/qwen3?base_url=http://localhost:8000/v1'")

ASKED = ("seed", "execution", "guidance", "judge", "embedder")
_WORDS = {"ok": "ok", "optional": "missing", "failed": "FAILED"}


@takes(*ASKED, "max_tokens", "bundle", "prices", "runs_dir", "data_dir")
def doctor(
    *,
    settings: Settings,
    calls: Annotated[bool, typer.Option("--calls/--no-calls", help="Ask providers that are elsewhere.")] = True,
    as_json: Json = False,
) -> None:
    """Check what a run needs from this machine and from its models.

    Python, packages, data, disk and clock; of each model key, endpoint, name, context, typed replies and price.
    Exits with 4 if a run could not work.
    """
    from mage_es.engine.doctor import asked, diagnose
    from mage_es.engine.pricing import read_prices
    from mage_es.engine.providers import PATIENCE_S
    from mage_es.engine.runs import clock

    out = Output(as_json=as_json)
    config = settings.config(benchmark="wordmath")
    if calls and (remote := asked(config)):
        out.say(f"Asking {', '.join(remote)}: a few small calls, {PATIENCE_S:g} s each at most (--no-calls: none).\n")
    findings = diagnose(
        config,
        runs_dir=settings.runs_dir,
        data_dir=settings.data_dir,
        clock=clock,
        prices=read_prices(settings.prices),
        calls=calls,
    )
    rows = [(found.name, _WORDS[found.state], found.detail) for found in findings]
    out.report(findings, Table("", ("check", "result", "detail"), rows))
    for found in findings:
        if found.remedy:
            out.say(f"{found.name}: {found.remedy}")
    if any(found.state == "failed" for found in findings):
        out.next(settings.again("doctor", names=(*ASKED, "runs_dir", "data_dir")))
        raise typer.Exit(PrerequisiteError.exit_code)
    out.next("mage-es demo")
