"""`mage-es receipt`: what a signed head proves about one question or exam, as one JSON document."""

from pathlib import Path
from typing import Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.engine.config import MOST

EXAMPLES = examples(
    "mage-es receipt wordmath-test-30", "mage-es receipt wordmath-test-30 RUN --exam 1 --to receipt.json"
)


@takes("runs_dir")
def receipt(
    about: Annotated[
        str, typer.Argument(metavar="QUESTION|EXAM", help="Id of a question, or name or number of an exam.")
    ],
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    exam: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=MOST, help="Exam that asked the question.")
    ] = None,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the document to this file instead.")] = None,
) -> None:
    """Prove one answer, or the result of an exam, to someone who has neither the run nor this package.

    The document has the events as they are recorded, the hashes that lead from each to a head, and the head with its
    signatures. `check_receipt.py` checks it, in plain Python (`python -m mage_es.engine.auditing.check_receipt`), and
    the page `check_receipt.html` next to it does so in a browser. A head must have been signed after the answer:
    `mage-es key new FILE --name example.org/audit` makes a key, `mage-es key sign RUN --sign FILE` signs the latest.
    """
    import msgspec

    from mage_es.engine.auditing.heads import receipt as prove

    found = prove(settings.find_run(run), about, exam=exam)
    text = msgspec.json.format(msgspec.json.encode(found)).decode()
    if to:
        to.write_text(f"{text}\n", encoding="utf-8")
        out.report(found, f"{to}: {len(found.events) + len(found.exam_events)} events of {about}.")
    else:
        out.report(found, text)
