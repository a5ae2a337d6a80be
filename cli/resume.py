"""`mage-es resume`: go on with a run that was stopped."""

from __future__ import annotations

from mage_es.cli.options import CONFIG, Json, RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.session import conclude, session
from mage_es.cli.settings import Settings

EXAMPLES = examples("mage-es resume", "mage-es resume RUN --workers 16")


@takes(*CONFIG, "workers", "runs_dir", "data_dir")
def resume(run: RunArgument = None, *, settings: Settings, as_json: Json = False) -> None:
    """Go on with a run where it stopped.

    No recorded model call is made again. The configuration is the recorded one. Options that set something else are refused, with the difference.
    """
    from mage_es.engine import evolution
    from mage_es.engine.runs import find_run

    out = Output(as_json=as_json)
    found = find_run(settings.runs_dir, run)
    with session(out, settings) as at_work:
        summary = evolution.resume(
            found,
            config=None,
            data_dir=settings.data_dir,
            workers=settings.workers,
            observer=at_work.observe,
            stop=at_work.stop,
        )
    conclude(out, summary, settings)
