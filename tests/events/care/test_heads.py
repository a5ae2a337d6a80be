"""Signed heads: whatever is changed or cut in a log below one is found, and nothing of it needs the log to change."""

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from mage_es.events.care import cosign_head, repair_log, verify_heads, verify_log
from mage_es.events.care.backup import back_up
from mage_es.events.care.heads import KeptHead, kept_heads, read_head_file
from mage_es.events.care.manifest import CompleteBackup, complete
from mage_es.events.care.objects import FolderObjects
from mage_es.events.care.restore import restore
from mage_es.events.disk import Layout, LocalFileSystem
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.signing.heads import leaf_of, root_of, sign_head
from mage_es.events.signing.notes import LOG, Signer, Verifier, make_key, read_signer
from mage_es.events.signing.tree import Tree, leaf_hash
from mage_es.events.vocabulary import Draft, ExamClosed, RunFinished
from tests.events.samples import abandon, clock, closed, judged, remembered

NOW = 1_700_000_000


@pytest.fixture
def signer(tmp_path: Path) -> Signer:
    make_key(tmp_path / "key", name="example.org/audit")
    return read_signer(tmp_path / "key")


@pytest.fixture
def witness(tmp_path: Path) -> Signer:
    make_key(tmp_path / "witness", name="example.org/witness", is_witness=True)
    return read_signer(tmp_path / "witness")


def end() -> Draft:
    return Draft(event=ExamClosed(correct=1, total=1, familiar_correct=0, familiar_total=0), iteration=-1, phase="exam")


def write(path: Path, drafts: Sequence[Draft], signer: Signer | None = None) -> Path:
    """Write a log with one commit for each draft, its head signed before it is closed."""
    with Log.create(path, run="r1", clock=clock()) as log:
        for draft in drafts:
            log.append([draft])
        if signer:
            sign_head(log, path, signer)
    return path


FACTS = [judged(1), remembered(2), closed(0), judged(3, correct=False), end()]


def problems(path: Path, known: Sequence[Verifier] = (), also: Sequence[KeptHead] = ()) -> str:
    found = verify_heads(path, known=known, also=also)
    return "; ".join((*found.problems, *([found.missing] if found.missing else [])))


def test_a_head_that_was_signed_holds_for_the_log_then_and_when_it_has_grown(tmp_path: Path, signer: Signer) -> None:
    path = write(tmp_path / "log", FACTS, signer)
    first = verify_heads(path)
    assert (first.problems, first.heads, first.named) == ((), 1, (signer.verifier,))
    with Log.open(path, clock=clock()) as log:
        log.append([judged(4)])
        sign_head(log, path, signer)
    found = verify_heads(path, known=[signer.verifier])
    assert not found.problems
    assert [line.seq for line in found.seen] == [6, 8]  # the signer's name is signed too, and sealing is an event
    assert len([1 for event in LogReader(path).records() if event.event.subject.startswith("signer/")]) == 1


def test_a_log_without_signed_heads_has_nothing_to_check(tmp_path: Path) -> None:
    assert verify_heads(write(tmp_path / "log", FACTS)) == (0, (), (), (), "", 0, ())


def test_the_root_is_that_of_the_lines_that_the_documentation_names(tmp_path: Path) -> None:
    path, tree = write(tmp_path / "log", FACTS), Tree()
    for record in LogReader(path, opened=False).records():
        leaf = leaf_of(record)
        told = json.loads(leaf)
        assert (told["seq"], told["type"], told["run"]) == (record.seq, record.event.__struct_config__.tag, "r1")
        # What a later release adds to an event needs a default, and must not change the leaf.
        assert all(told["event"][name] != default for name, default in defaults(record.event) if name in told["event"])
        tree.add(leaf_hash(leaf))
    assert root_of(path) == tree.root


def defaults(event: msgspec.Struct) -> list[tuple[str, object]]:
    return [(field.name, field.default) for field in msgspec.structs.fields(type(event))]


def forged(path: Path, drafts: Sequence[Draft], kept: Path) -> Path:
    """Write another log under the same name, with the same clock, and put the signed heads of `kept` beside it."""
    write(path, drafts)
    Layout(path).heads.mkdir()
    for head in kept_heads(kept):
        (Layout(path).heads / head.file.name).write_bytes(head.file.read_bytes())
    return path


def test_a_verdict_that_was_turned_below_a_signed_head_is_found_although_every_hash_agrees(
    tmp_path: Path, signer: Signer
) -> None:
    path = write(tmp_path / "log", FACTS, signer)
    named = Draft(event=next(r.event for r in LogReader(path).records() if r.seq == 6), iteration=-1, phase="log")
    turned = [*FACTS[:3], judged(3, correct=True), *FACTS[4:], named]
    forgery = forged(tmp_path / "forged", turned, path)
    assert verify_log(forgery).is_sound
    assert "the events up to 6 are not those that were signed" in problems(forgery)


def test_a_log_that_was_cut_below_a_signed_head_is_found(tmp_path: Path, signer: Signer) -> None:
    path = write(tmp_path / "log", FACTS, signer)
    forgery = forged(tmp_path / "forged", FACTS[:3], path)
    assert verify_log(forgery).is_sound
    assert "was signed after event 6, and the log ends with event 4" in problems(forgery)


def test_a_head_kept_elsewhere_tells_when_all_signed_heads_were_removed(tmp_path: Path, signer: Signer) -> None:
    path = write(tmp_path / "log", FACTS, signer)
    [head] = kept_heads(path)
    kept = tmp_path / "kept.note"
    kept.write_bytes(head.file.read_bytes())
    forgery = write(tmp_path / "forged", FACTS[:4])
    assert not problems(forgery), "by itself it tells nothing"
    assert "kept.note was signed after event 6" in problems(forgery, also=[read_head_file(kept)])
    assert f"no head is signed by {signer.verifier}" in problems(forgery, known=[signer.verifier])
    assert not problems(path, known=[signer.verifier], also=[read_head_file(kept)])


def test_a_head_signed_by_another_key_than_the_log_names_is_no_head(tmp_path: Path, signer: Signer) -> None:
    path = write(tmp_path / "log", FACTS, signer)
    make_key(tmp_path / "other", name="example.org/audit")
    [head] = kept_heads(path)
    other = read_signer(tmp_path / "other").sign(head.note._replace(signatures=()))
    head.file.write_text(str(other))
    assert "no key that the log or you name signed it" in problems(path)


def test_a_changed_bit_of_a_signature_or_a_note_is_found(tmp_path: Path, signer: Signer) -> None:
    path = write(tmp_path / "log", FACTS, signer)
    [head] = kept_heads(path)
    whole = head.file.read_bytes()
    for place in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        head.file.write_bytes(damaged)
        assert problems(path), place
    head.file.write_bytes(whole)
    assert not problems(path)


def test_once_a_signer_is_named_each_exam_and_the_end_need_a_signed_head(tmp_path: Path, signer: Signer) -> None:
    path = write(tmp_path / "log", FACTS, signer)
    with Log.open(path, clock=clock()) as log:
        log.append([judged(9)])
        assert not problems(path), "an answer alone needs none"
        log.append([Draft(event=RunFinished(iterations=1), iteration=-1, phase="close")])
    assert "no head behind event 9 (run.finished) is signed" in problems(path)
    with Log.open(path, clock=clock()) as log:
        sign_head(log, path, signer)
    assert not problems(path)
    for head in kept_heads(path):
        head.file.unlink()
    assert "is signed: it was removed" in problems(path)


def test_a_witness_cosigns_the_newest_head_and_the_log_does_not_change(
    tmp_path: Path, signer: Signer, witness: Signer
) -> None:
    path = write(tmp_path / "log", FACTS, signer)
    before = verify_log(path).head
    file = cosign_head(path, witness, now=NOW)
    assert verify_log(path).head == before
    found = verify_heads(path, known=[witness.verifier])
    assert not found.problems
    assert [(line.verifier.kind, line.at) for line in found.seen] == [(LOG, 0), (witness.verifier.kind, NOW)]
    assert verify_heads(path).problems == (), "a line of a key that is not known says nothing"
    text = file.read_text()
    file.write_text(text[:-12] + ("A" if text[-12] != "A" else "B") + text[-11:])
    assert "the signature of example.org/witness is false" in problems(path, known=[witness.verifier])


def test_a_witness_signs_nothing_that_is_not_true_and_no_log_signs_with_a_witness_key(
    tmp_path: Path, signer: Signer, witness: Signer
) -> None:
    path = write(tmp_path / "log", FACTS, signer)
    forgery = forged(tmp_path / "forged", FACTS[:3], path)
    with pytest.raises(LogDamaged, match="Not cosigned"):
        cosign_head(forgery, witness, now=NOW)
    with pytest.raises(UsageError, match="is not a witness's key"):
        cosign_head(path, signer, now=NOW)
    with pytest.raises(UsageError, match="No head of"):
        cosign_head(write(tmp_path / "plain", FACTS), witness, now=NOW)
    with Log.open(path, clock=clock()) as log, pytest.raises(UsageError, match="is a witness's key"):
        sign_head(log, path, witness)


def test_signed_heads_are_backed_up_and_restored_with_every_line_they_had(
    tmp_path: Path, signer: Signer, witness: Signer
) -> None:
    path, fs = write(tmp_path / "log", FACTS, signer), LocalFileSystem()
    objects = FolderObjects(tmp_path / "backup", fs)
    back_up(path, objects, at="log/", fs=fs)
    cosign_head(path, witness, now=NOW)
    complete(objects, back_up(path, objects, at="log/", fs=fs).items)
    restore(CompleteBackup(objects), tmp_path / "again", at="log/", fs=fs)
    assert not problems(tmp_path / "again", known=[signer.verifier, witness.verifier])
    assert [head.note for head in kept_heads(tmp_path / "again")] == [head.note for head in kept_heads(path)]
    for cosigned in (tmp_path / "backup" / "log" / "heads").iterdir():
        cosigned.write_bytes(cosigned.read_bytes().replace(b"example", b"Example"))
    with pytest.raises(LogDamaged, match="not what was backed up"):
        restore(CompleteBackup(objects), tmp_path / "third", at="log/", fs=fs)


def test_what_a_recorded_repair_cut_off_is_told_and_excused_only_beside_the_log(tmp_path: Path, signer: Signer) -> None:
    path = tmp_path / "log"
    log = Log.create(path, run="r1", clock=clock())
    log.append([judged(1)])
    sign_head(log, path, signer)
    log.append([judged(2)])
    log.append([end()])
    sign_head(log, path, signer)
    abandon(log)
    wal = Layout(path).wal(1)
    damaged = bytearray(wal.read_bytes())
    damaged[-300] ^= 1
    wal.write_bytes(damaged)
    kept = kept_heads(path)[-1]
    assert repair_log(path, clock=clock()).done
    found = verify_heads(path)
    assert not found.problems
    assert len(found.cut) == 1 and "the repair at event" in found.cut[0]
    assert problems(path, also=[kept._replace(file=tmp_path / "kept.note")])
    [cut] = verify_heads(path, known=[signer.verifier]).problems
    assert "was signed" in cut


def test_a_signer_that_is_no_key_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    from mage_es.events.vocabulary import SignerNamed

    named = Draft(event=SignerNamed(verifier="nobody"), iteration=-1, phase="log")
    assert "is not a verifier key" in problems(write(tmp_path / "log", [named]))
