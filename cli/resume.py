"""`mage-es resume`: continue a run that was stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from mage_es.cli.options import CONFIG, SPENDING, WORKING, RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.session import conclude, resumable
from mage_es.cli.settings import Settings
from mage_es.engine.config import Config, parse

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run

EXAMPLES = examples("mage-es resume", "mage-es resume RUN --workers 16")


@takes(*WORKING, *SPENDING, unlisted=CONFIG)
def resume(run: RunArgument = None, *, settings: Settings, out: Output) -> None:
    """Continue a run where it stopped, or begin one that was stopped before its first event.

    No recorded model call is made again. The run keeps its questions and settings, and its budget unless --max-usd,
    --max-calls or --max-iterations give another (`none` lifts one). It needs no file of tasks. Options of
    `evolve` (--pool, --guidance, ...) are only compared with the run's: a difference is shown as an error, and nothing
    happens.
    """
    from mage_es.engine.run.budget import limits_of
    from mage_es.engine.run.world import baseline_of
    from mage_es.engine.seams.plugins import verb
    from mage_es.engine.verbs.resume import resume as go_on
    from mage_es.events.log import LogReader

    found = settings.find_run(run)
    begun = found.beginning()
    settings = settings.within(begun.limits if begun else limits_of(LogReader(found.log_path)))
    asked = _asked_for(found, settings.flags())
    if begun.baseline if begun else baseline_of(LogReader(found.log_path)):
        resumed = verb("resume_baseline")
        with resumable(out, settings) as runtime:
            shown = resumed(found, config=asked, data_dir=settings.data_dir, runtime=runtime)
        out.report(*shown)
        return
    with resumable(out, settings) as runtime:
        summary = go_on(found, config=asked, data_dir=settings.data_dir, runtime=runtime)
    conclude(out, summary, settings)


def _asked_for(run: Run, flags: Mapping[str, object]) -> Config | None:
    """Return the recorded configuration with the flags of this command applied, None without such flags."""
    changed = {name: flags[name] for name in CONFIG if name in flags}
    if not changed:
        return None
    from mage_es.engine.run.world import first_event
    from mage_es.events.log import LogReader

    begun = run.beginning()
    recorded = begun.config if begun else parse(first_event(LogReader(run.log_path)).config)
    return msgspec.structs.replace(recorded, **changed)
