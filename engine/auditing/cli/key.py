"""`mage-es key`: make keys that sign heads, sign the current head, and witness a signed one."""

from pathlib import Path
from typing import Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.events.errors import UsageError

NEW_EXAMPLES = examples(
    "mage-es key new ~/.mage-es.key --name example.org/audit", "mage-es key new w.key --name example.org/w --witness"
)
SIGN_EXAMPLES = examples("mage-es key sign RUN --sign ~/.mage-es.key")
COSIGN_EXAMPLES = examples("mage-es key cosign RUN --with w.key")


@takes()
def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the private key; keep it to yourself.")],
    *,
    settings: Settings,
    out: Output,
    name: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Name of the key, which appears in everything that it signs, such as example.org/audit.",
        ),
    ] = "mage-es",
    witness: Annotated[
        bool,
        typer.Option(
            "--witness", help="Make a witness's key, which attests when it saw a head that another key signed."
        ),
    ] = False,
) -> None:
    """Make an Ed25519 key, and print its verifier key: give that one to anyone who will check."""
    from mage_es.events.signing.notes import make_key

    verifier = str(make_key(file, name=name, is_witness=witness))
    out.report({"file": str(file), "verifier": verifier}, verifier)
    out.next(settings.again(*(("key", "cosign", "--with") if witness else ("evolve", "wordmath", "--sign")), str(file)))


@takes("sign", "runs_dir")
def sign(run: RunArgument = None, *, settings: Settings, out: Output) -> None:
    """Sign the current head of a run, with the key of --sign."""
    from mage_es.engine.auditing.heads import sign as sign_run

    signer = settings.signer()
    if signer is None:
        raise UsageError("Name the key that signs: --sign FILE. `mage-es key new FILE` makes one.")
    found = settings.find_run(run)
    report = sign_run(found, signer)
    out.report(report, report.note, f"Signed: {report.file}")
    out.next(settings.again("verify", found.id, "--key", str(signer.verifier)))


@takes("runs_dir")
def cosign(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    key: Annotated[
        Path, typer.Option("--with", metavar="FILE", help="The witness's key, made by `mage-es key new --witness`.")
    ],
) -> None:
    """Check a run's signed heads as a witness, and cosign the newest with the current time. The log does not change."""
    from mage_es.engine.auditing.heads import cosign as cosign_run
    from mage_es.events.signing.notes import read_signer

    witness, found = read_signer(key), settings.find_run(run)
    report = cosign_run(found, witness)
    out.report(report, report.note, f"Cosigned: {report.file}")
    out.next(settings.again("verify", found.id, "--key", str(witness.verifier)))
