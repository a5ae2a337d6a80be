"""Signed heads: checkpoints of a log, in files beside it, against which its own events are checked.

    heads/<seq>-<root8>.note    a C2SP checkpoint of events 1 to <seq>, signed (notes.py); <root8>: of its root

Rules
    - A leaf of the tree is an event as recorded, with private texts as tokens: a JSON object with the columns of
      `export --format jsonl`, without fields at their default. So a single event can be shown by itself. A field added
      by a later release must have a default, so it changes no root.
    - The event `signer.named` names the key before the first head is signed with it, so every signed head covers it.
      From there on, each event of a type that is `signed` in the vocabulary needs a signed head after it.
    - Witnesses can add lines to a file beside the log without changing the log. Anyone who can write to the folder can
      also remove the file: only a head kept elsewhere, or a key known from elsewhere, shows that.
"""

from functools import cache
from pathlib import Path

import msgspec

from mage_es.events.disk.filesystem import FileSystem, LocalFileSystem, write_new
from mage_es.events.disk.layout import Layout
from mage_es.events.errors import UsageError
from mage_es.events.facts import Draft, Record, SignerNamed, Vocabulary, plain
from mage_es.events.log import Log, LogReader
from mage_es.events.log.recovery import read_format
from mage_es.events.signing.notes import LOG, Checkpoint, SignedNote, Signer, Verifier, checkpoint_in
from mage_es.events.signing.tree import Tree, leaf_hash


def leaf_of(record: Record) -> bytes:
    """Return the leaf of an event that was read as recorded (`LogReader(path, opened=False)`)."""
    return msgspec.json.encode({**plain.plain_header(record), "event": _set(record.event)})


def root_of(path: Path, *, vocabulary: Vocabulary | None = None) -> bytes:
    """Return the root over every event of the log in a folder. Raises `LogDamaged`."""
    records = LogReader(path, vocabulary=vocabulary, opened=False).records(since=1)
    return Tree(leaf_hash(leaf_of(record)) for record in records).root


def naming(signer: Signer) -> Draft:
    """Return the fact that names a signer; a log records it once."""
    return Draft(event=SignerNamed(verifier=str(signer.verifier)), iteration=-1, phase="log")


def sign_head(log: Log, path: Path, signer: Signer) -> Path:
    """Sign the head of the open log in the folder `path`, after the log names the signer; return the file. Raises
    `UsageError` for a witness's key."""
    if signer.verifier.kind != LOG:
        raise UsageError(f"{signer.verifier.name} is a witness's key: it cosigns heads that another key signed.")
    log.append([naming(signer)])
    fs, layout = LocalFileSystem(), Layout(path)
    about, _ = read_format(fs, layout)
    # Read again from the disk, so as to sign what a reader finds there, not what this process believes.
    checkpoint = Checkpoint(
        origin_of(signer.verifier, about.log_id), log.head.seq, root_of(path, vocabulary=log.vocabulary)
    )
    return keep(fs, layout, signer.sign(SignedNote(str(checkpoint))))


def origin_of(verifier: Verifier, log_id: str) -> str:
    return f"{verifier.name}/{log_id}"


def keep(fs: FileSystem, layout: Layout, note: SignedNote) -> Path:
    """Put a signed head beside the log; return the file."""
    checkpoint = checkpoint_in(note, name="the note")
    fs.make_folder(layout.heads)
    # The root is in the name: after a repair another head may follow the same event, and both are kept.
    file = layout.heads / f"{checkpoint.size:020d}-{checkpoint.root.hex()[:8]}.note"
    write_new(fs, file, str(note).encode())
    return file


def _set(value: object) -> object:
    """Return a value in plain types; of a struct, only the fields that differ from their defaults."""
    if isinstance(value, msgspec.Struct):
        # NaN is not equal to itself, so a field with it is kept: the leaves differ deterministically.
        found = ((name, getattr(value, name), default) for name, default in _defaults(type(value)))
        return {name: _set(each) for name, each, default in found if each != default}
    return [_set(each) for each in value] if isinstance(value, tuple | list) else value


@cache
def _defaults(struct: type[msgspec.Struct]) -> list[tuple[str, object]]:
    return [(field.name, field.default) for field in msgspec.structs.fields(struct)]
