"""The verbs on signed heads: sign a run's current head, cosign the newest, and issue a receipt for what a head
proves."""

from base64 import b64encode
from collections.abc import Iterable
from pathlib import Path

import msgspec

from mage_es.engine.run.directory import Run, as_run, clock
from mage_es.engine.run.exams import ExamRecord, exam_records
from mage_es.engine.verbs.decorators import typed
from mage_es.events.care import cosign_head
from mage_es.events.care.heads import kept_heads, verify_heads
from mage_es.events.errors import LogDamaged, UsageError, nearest
from mage_es.events.log import Log, LogReader
from mage_es.events.signing.heads import leaf_of, sign_head
from mage_es.events.signing.notes import Signer
from mage_es.events.signing.tree import inclusion, leaf_hash
from mage_es.events.vocabulary import MICRO, ExamOpened, QuestionPlanned


class SignedHead(msgspec.Struct, frozen=True, kw_only=True):
    """The file of a signed head, and the note in it."""

    file: str
    note: str


class Proved(msgspec.Struct, frozen=True, kw_only=True):
    """An event as a leaf (its text in UTF-8 is what is hashed), its index from 0, and the path to the root (base64)."""

    leaf: str
    index: int
    path: tuple[str, ...]


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What a signed head proves about one question or exam, to check without this package. `events` are in the log of
    the run, whose `checkpoint` has their root. Those of an exam's own log are `exam_events`; their root is named by the
    last of `events`, the exam's `exam.closed`. `keys` are the verifier keys that the log names: you must learn whose
    keys they are from another source.
    """

    format: str = "mage-es receipt 1"
    about: str
    checkpoint: str
    keys: tuple[str, ...]
    events: tuple[Proved, ...]
    exam_events: tuple[Proved, ...] = ()


@typed
def sign(run: Run | Path | str, signer: Signer) -> SignedHead:
    """Sign the current head of a run. Raises `RunLocked` while it is being written."""
    run = as_run(run)
    with Log.open(run.log_path, clock=clock) as log:
        return _signed_head(sign_head(log, run.log_path, signer))


@typed
def cosign(run: Run | Path | str, witness: Signer) -> SignedHead:
    """Attest as a witness that the newest signed head of a run exists now. Raises `LogDamaged` if the head does not
    match the log."""
    return _signed_head(cosign_head(as_run(run).log_path, witness, now=clock() // MICRO))


def _signed_head(file: Path) -> SignedHead:
    return SignedHead(file=str(file), note=file.read_text(encoding="utf-8"))


@typed
def receipt(run: Run | Path | str, about: str, *, exam: int | None = None) -> Receipt:
    """Return what the newest signed head proves `about` a question, as it was last asked or in exam number `exam`, or
    about an exam, by name or number.

    Raises:
        UsageError: There is no such question or exam, or no signed head after it.
        LogDamaged: A signed head does not match the log.
    """
    run = as_run(run)
    reader = LogReader(run.log_path, opened=False)
    records = exam_records(reader)
    named = next((each for each in records if about in (each.opened.exam, str(each.number))), None)
    if named:
        return _receipt(run, reader, about, _marks(named, reader), ())
    whole = [each for each in records if each.closed and each.is_there(run)]
    asked = [each for each in whole if exam in (None, each.number)]
    if exam is not None and not asked:
        complete = ", ".join(str(each.number) for each in whole) or "none"
        raise UsageError(f"{run.id} has no complete exam {exam}. Complete exams: {complete}.")
    for record in reversed(asked):
        if own := _events_of(record.log(run), about):
            return _receipt(run, reader, about, _marks(record, reader), own, exam=run.exam(record.opened.exam))
    if own := _events_of(reader, about) if exam is None else []:
        return _receipt(run, reader, about, own, ())
    logs = [*(record.log(run) for record in asked), *([reader] if exam is None else [])]
    known = {event.question_id for log in logs for event in log.of(QuestionPlanned)}
    known |= {each.opened.exam for each in records}
    where = f"exam {exam}" if exam is not None else run.id
    near = nearest(about, sorted(known), rest=f"`mage-es view {run.id}` lists those that it asked.")
    raise UsageError(f"{about!r} is neither a question that {where} asked nor an exam.{near}")


def _marks(record: ExamRecord, reader: LogReader) -> list[int]:
    """Return where the run's log says that an exam was opened and closed. Raises `UsageError` for an unfinished one."""
    if not record.closed:
        raise UsageError(f"Exam {record.opened.exam} is incomplete: finish it first.")
    return [
        each.seq
        for each in reader.records({ExamOpened, type(record.closed)})
        if getattr(each.event, "exam", "") == record.opened.exam
    ]


def _events_of(reader: LogReader, question: str) -> list[int]:
    """Return the positions of everything recorded when a question was last asked."""
    found = [each for each in reader.records(since=1) if each.correlation == question]
    first = max((each.seq for each in found if isinstance(each.event, QuestionPlanned)), default=0)
    return [each.seq for each in found if each.seq >= first] if first else []


def _receipt(
    run: Run, reader: LogReader, about: str, seqs: list[int], own: Iterable[int], *, exam: Run | None = None
) -> Receipt:
    verdict = verify_heads(run.log_path)
    if verdict.problems:
        raise LogDamaged(f"A signed head of {run.id} does not hold: {verdict.problems[0]}.")
    heads = kept_heads(run.log_path)
    if not heads or heads[-1].checkpoint.size < seqs[-1]:
        raise UsageError(f"No signed head covers event {seqs[-1]}: `mage-es key sign {run.id} --sign FILE` signs one.")
    newest = heads[-1]
    return Receipt(
        about=about,
        checkpoint=str(newest.note),
        keys=tuple(map(str, verdict.named)),
        events=_proved(reader, seqs, until=newest.checkpoint.size),
        exam_events=_proved(LogReader(exam.log_path, opened=False), own) if exam else (),
    )


def _proved(reader: LogReader, seqs: Iterable[int], *, until: int | None = None) -> tuple[Proved, ...]:
    leaves = [leaf_of(record) for record in reader.records(since=1, until=until)]
    hashes = [leaf_hash(leaf) for leaf in leaves]
    return tuple(
        Proved(
            leaf=leaves[seq - 1].decode(),
            index=seq - 1,
            path=tuple(b64encode(beside).decode() for beside in inclusion(hashes, seq - 1)),
        )
        for seq in seqs
    )
