"""`mage-es resume`: go on with a run that was stopped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from mage_es.cli.options import CONFIG, SPENDING, Json, RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.session import conclude, session
from mage_es.cli.settings import Settings
from mage_es.cli.tables import baseline_table, episodes
from mage_es.engine.config import Config, parse

if TYPE_CHECKING:
    from mage_es.engine.runs import Run

EXAMPLES = examples("mage-es resume", "mage-es resume RUN --workers 16")


@takes("workers", "max_connections", "guidance_batch", "runs_dir", "data_dir", *SPENDING, unlisted=CONFIG)
def resume(run: RunArgument = None, *, settings: Settings, as_json: Json = False) -> None:
    """Go on with a run where it stopped.

    No recorded model call is made again. What the run does is what was recorded when it began: the other options of
    `evolve` (--pool, --guidance, ...) are taken, too, but only compared with that; where they differ, the difference
    is shown and nothing happens.
    """
    from mage_es.engine.baselines.running import is_baseline, resume_baseline
    from mage_es.engine.evolution import resume as go_on
    from mage_es.engine.runs import find_run

    out = Output(as_json=as_json)
    found = find_run(settings.runs_dir, run)
    asked = _asked_for(found, settings.flags())
    if is_baseline(found):
        with session(out, settings) as runtime:
            report = resume_baseline(found, config=asked, data_dir=settings.data_dir, runtime=runtime)
        out.report(report, baseline_table(report), *episodes(report.episodes))
        return
    with session(out, settings) as runtime:
        summary = go_on(found, config=asked, data_dir=settings.data_dir, runtime=runtime)
    conclude(out, summary, settings)


def _asked_for(run: Run, flags: Mapping[str, object]) -> Config | None:
    """Return the recorded configuration with the flags of this command in it, None if there are none."""
    changed = {name: flags[name] for name in CONFIG if name in flags}
    if not changed:
        return None
    from mage_es.engine.opening import first_event
    from mage_es.events.reader import LogReader

    recorded = parse(first_event(LogReader(run.log_path)).config)
    return msgspec.structs.replace(recorded, **changed)
