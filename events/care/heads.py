"""Checks signed heads (events/signing/heads.py) against their log, and cosigns them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from mage_es.events.disk.filesystem import FileSystem, LocalFileSystem
from mage_es.events.disk.layout import Layout
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.facts import LogRepaired, SignerNamed, Vocabulary, tag_of
from mage_es.events.log import LogReader
from mage_es.events.log.recovery import read_format
from mage_es.events.signing.heads import keep, leaf_of
from mage_es.events.signing.notes import (
    LOG,
    WITNESS,
    Checkpoint,
    SignedNote,
    Signer,
    Verifier,
    checkpoint_in,
    read_note,
    read_verifier,
    require_cryptography,
    seen_at,
)
from mage_es.events.signing.tree import Tree, leaf_hash

_FILE = re.compile(r"\d{20}-[0-9a-f]{8}\.note")
_LONGEST = 1 << 16
"""Most bytes of a note: room for about a hundred witnesses."""


class KeptHead(NamedTuple):
    """A signed head: its source, its content, and who signed it."""

    file: Path
    checkpoint: Checkpoint
    note: SignedNote


class SeenHead(NamedTuple):
    """A valid line below a head: who signed it, for which event, and when a witness saw it (seconds since 1970)."""

    verifier: Verifier
    seq: int
    at: int


class HeadsVerdict(NamedTuple):
    """What the signed heads of a log show. `problems` say how the log differs from what was signed. `named` are the
    signers that the log names, `seen` every valid line below a head, `missing` the signed head that should exist,
    `first` the event that it should follow, `cut` what a recorded repair cut off although it had been signed."""

    heads: int
    named: tuple[Verifier, ...]
    seen: tuple[SeenHead, ...]
    problems: tuple[str, ...]
    missing: str = ""
    first: int = 0
    cut: tuple[str, ...] = ()


def cosign_head(path: Path, witness: Signer, *, now: int, vocabulary: Vocabulary | None = None) -> Path:
    """Add a witness's line to the newest signed head of a log, whose heads must all be valid, and return the file; the
    witness sees the head `now` (seconds since 1970). Raises `UsageError` for a key that is not a witness's or if no
    head is signed, `LogDamaged` for a log that is not what was signed."""
    if witness.verifier.kind != WITNESS:
        raise UsageError(f"{witness.verifier.name} is not a witness's key: `mage-es key new FILE --witness` makes one.")
    fs, layout, heads = LocalFileSystem(), Layout(path), kept_heads(path)
    if not heads:
        raise UsageError(f"No head of {path} is signed: sign one with `mage-es key sign`.")
    # A witness that signs without looking would vouch for a log that has been replaced since.
    if problems := verify_heads(path, vocabulary=vocabulary).problems:
        raise LogDamaged(f"Not cosigned: the log is not what was signed: {'; '.join(problems)}.")
    newest = heads[-1]
    return keep(fs, layout, witness.sign(newest.note, now=now))


def kept_heads(path: Path) -> list[KeptHead]:
    """Return the signed heads beside a log, oldest first. Raises `LogDamaged` for a file that is not one."""
    return [read_head_file(file) for file in _files(LocalFileSystem(), Layout(path))]


def read_head_file(file: Path) -> KeptHead:
    """Return the signed head in a file, whether beside a log or kept elsewhere. Raises `LogDamaged`."""
    # Bounded, because a file with the name of a note may be anything.
    data = LocalFileSystem().read(file, 0, _LONGEST)
    try:
        note = read_note(data.decode(), name=str(file))
    except UnicodeDecodeError as error:
        raise LogDamaged(f"{file} is not a signed note: it is not UTF-8.") from error
    return KeptHead(file, checkpoint_in(note, name=str(file)), note)


def verify_heads(
    path: Path, *, known: Iterable[Verifier] = (), also: Iterable[KeptHead] = (), vocabulary: Vocabulary | None = None
) -> HeadsVerdict:
    """Check the log in a folder against its signed heads, and against `also`, which were kept elsewhere. `known` are
    trusted keys: each must have signed or cosigned a head. Raises `PrerequisiteError` without the package that checks
    signatures, `LogDamaged` for a log that cannot be read."""
    reader = LogReader(path, vocabulary=vocabulary, opened=False)
    return _Heads(path, [*known], [*also], reader).verify()


class _Heads:
    def __init__(self, path: Path, known: Sequence[Verifier], also: Sequence[KeptHead], reader: LogReader) -> None:
        self._path, self._known, self._also, self._reader = path, known, also, reader
        self._problems: list[str] = []
        self._cut: list[str] = []

    def verify(self) -> HeadsVerdict:
        kept, fs, layout = [*self._also], LocalFileSystem(), Layout(self._path)
        for file in _files(fs, layout):
            # An invalid file must not hide the others.
            try:
                kept.append(read_head_file(file))
            except LogDamaged as error:
                self._problems.append(str(error))
        reader = self._reader
        # Most logs are not signed: they need neither the tree nor the package that checks signatures.
        if not kept and not self._known and not self._problems and not reader.last(SignerNamed):
            return HeadsVerdict(0, (), (), ())
        require_cryptography()
        named = self._named(reader)
        verifiers = [*dict.fromkeys((*named.values(), *self._known))]
        roots = self._roots(reader, {head.checkpoint.size for head in kept})
        repairs = {seq: event.cut_first for seq, event in reader.numbered(LogRepaired)}
        log_id = read_format(fs, layout)[0].log_id
        seen: list[SeenHead] = []
        for head in kept:
            if problem := self._untrue(head, log_id, roots, reader.head.seq):
                # Such a record is checked against what was kept elsewhere, so it excuses nothing there, nor what a
                # trusted key signed: anyone who can cut a log can also record a repair.
                cuts = (seq for seq, cut in repairs.items() if 0 < cut <= head.checkpoint.size)
                by = next(cuts, 0) if head not in self._also and not self._is_known(head) else 0
                detail = f"{problem}; the repair at event {by} cut it off" if by else problem
                (self._cut if by else self._problems).append(detail)
            else:
                seen += self._lines(head, verifiers)
        missing, first = self._missing(reader, named, seen)
        for verifier in self._known:
            if not any(line.verifier == verifier for line in seen):
                self._problems.append(f"no head is signed by {verifier}")
        problems, cut = tuple(self._problems), tuple(self._cut)
        return HeadsVerdict(len(kept), tuple(named.values()), tuple(seen), problems, missing, first, cut)

    def _named(self, reader: LogReader) -> dict[int, Verifier]:
        found = dict[int, Verifier]()
        for seq, event in reader.numbered(SignerNamed):
            try:
                found[seq] = read_verifier(event.verifier)
            except UsageError as error:
                self._problems.append(f"the signer that event {seq} names: {error}")
        return found

    def _roots(self, reader: LogReader, sizes: set[int]) -> dict[int, bytes]:
        # One pass for all heads: the root at each size is at hand when the tree has grown to it.
        tree, found = Tree(), dict[int, bytes]()
        for record in reader.records(since=1, until=max(sizes, default=0)):
            tree.add(leaf_hash(leaf_of(record)))
            if tree.size in sizes:
                found[tree.size] = tree.root
        return found

    def _untrue(self, head: KeptHead, log_id: str, roots: dict[int, bytes], end: int) -> str:
        checkpoint = head.checkpoint
        # The id is that of FORMAT, where the chain begins: the head of a twin log with other events has the same id.
        if checkpoint.origin.rpartition("/")[2] != log_id:
            return f"{head.file} is of another log, {checkpoint.origin}"
        if checkpoint.size > end:
            return f"{head.file} was signed after event {checkpoint.size}, and the log ends with event {end}"
        if checkpoint.size not in roots or roots[checkpoint.size] != checkpoint.root:
            return f"the events up to {checkpoint.size} are not those that were signed ({head.file})"
        return ""

    def _is_known(self, head: KeptHead) -> bool:
        lines = ((key, line) for key in self._known for line in head.note.signatures)
        return any(key.signed(line) and key.is_by(head.note.text, line) for key, line in lines)

    def _lines(self, head: KeptHead, verifiers: Sequence[Verifier]) -> Iterator[SeenHead]:
        signed = False
        for line in head.note.signatures:
            # A line by an unknown key proves nothing, whether it is true or false.
            for verifier in (each for each in verifiers if each.signed(line)):
                if not verifier.is_by(head.note.text, line):
                    self._problems.append(f"{head.file}: the signature of {verifier.name} is false")
                    continue
                signed = signed or verifier.kind == LOG
                yield SeenHead(verifier, head.checkpoint.size, seen_at(line))
        if not signed:
            self._problems.append(f"{head.file}: no key that the log or you name signed it")

    def _missing(self, reader: LogReader, named: dict[int, Verifier], seen: Sequence[SeenHead]) -> tuple[str, int]:
        # A later head covers all before it, so only what came after the newest one can be uncovered.
        end = max((line.seq for line in seen if line.verifier.kind == LOG), default=0)
        for seq, event in reader.numbered(
            *reader.vocabulary.signed, since=max(end + 1, min(named, default=reader.head.seq + 1))
        ):
            problem = f"no head behind event {seq} ({tag_of(event)}) is signed: it was removed, or signing was stopped"
            return f"{problem}; `mage-es key sign` signs the present one", seq
        return "", 0


def back_up_heads(fs: FileSystem, layout: Layout, *, create: Callable[[str, bytes], None]) -> None:
    """Store the signed heads of a log; one that has been cosigned since is another object."""
    for file in _files(fs, layout):
        data = fs.read(file)
        create(f"heads/{file.stem}-{sha256(data).hexdigest()[:8]}.note", data)


def _files(fs: FileSystem, layout: Layout) -> list[Path]:
    names = fs.names(layout.heads) if fs.exists(layout.heads) else []
    return [layout.heads / name for name in sorted(names) if _FILE.fullmatch(name)]
