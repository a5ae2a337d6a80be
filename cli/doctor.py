"""`mage-es doctor`: what a run needs from this machine, and how to mend what is missing."""

from __future__ import annotations

import typer

from mage_es.cli.options import Json, examples, takes
from mage_es.cli.output import Output, Table
from mage_es.cli.settings import Settings
from mage_es.events.errors import PrerequisiteError

EXAMPLES = examples("mage-es doctor", "mage-es doctor --data-dir data --execution builtin/analogist")

_WORDS = {"ok": "ok", "optional": "missing", "failed": "FAILED"}


@takes("seed", "execution", "guidance", "embedder", "runs_dir", "data_dir")
def doctor(*, settings: Settings, as_json: Json = False) -> None:
    """Check what a run needs from this machine.

    Python, packages, data, models, embedder, disk and clock, each with how to mend it.
    Exits with 4 if a run could not work.
    """
    from mage_es.engine.doctor import diagnose
    from mage_es.engine.runs import clock

    out = Output(as_json=as_json)
    findings = diagnose(
        settings.config(benchmark="wordmath"), runs_dir=settings.runs_dir, data_dir=settings.data_dir, clock=clock
    )
    rows = [(found.name, _WORDS[found.state], found.detail) for found in findings]
    out.report(findings, Table("", ("check", "result", "detail"), rows))
    for found in findings:
        if found.remedy:
            out.say(f"{found.name}: {found.remedy}")
    if any(found.state == "failed" for found in findings):
        out.next(settings.again("doctor"))
        raise typer.Exit(PrerequisiteError.exit_code)
    out.next("mage-es demo")
