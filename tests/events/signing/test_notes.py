"""Signed notes: those of others are read, ours are true, and a changed byte of either is noticed."""

from pathlib import Path

import pytest

from mage_es.events.errors import LogDamaged, PrerequisiteError, UsageError
from mage_es.events.signing.notes import (
    Checkpoint,
    SignedNote,
    checkpoint_in,
    make_key,
    read_note,
    read_signer,
    read_verifier,
    seen_at,
)

# The example of golang.org/x/mod/sumdb/note.
PUBLIC = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
PRIVATE = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz"
TEXT = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
LINE = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"
HEAD = Checkpoint("example.org/audit/4f", 7, bytes(range(32)))


def test_a_note_of_another_implementation_is_true_and_ours_is_the_same_byte_for_byte(tmp_path: Path) -> None:
    verifier, note = read_verifier(PUBLIC), read_note(f"{TEXT}\n{LINE}", name="a note")
    assert note.text == TEXT
    assert verifier.is_by(note.text, note.signatures[0])
    assert str(verifier) == PUBLIC
    (tmp_path / "key").write_text(f"{PRIVATE}\n")
    assert str(read_signer(tmp_path / "key").sign(SignedNote(TEXT))) == f"{TEXT}\n{LINE}"


def test_a_changed_byte_of_text_name_or_signature_is_no_signature() -> None:
    verifier, [line] = read_verifier(PUBLIC), read_note(f"{TEXT}\n{LINE}", name="a note").signatures
    assert not verifier.is_by(TEXT.replace("your", "my"), line)
    assert not verifier.is_by(TEXT, line._replace(name="Peter"))
    assert not verifier.is_by(TEXT, line._replace(data=bytes(len(line.data))))
    assert not verifier.is_by(TEXT, line._replace(data=line.data[1:]))


def test_a_new_key_is_for_its_owner_alone_and_its_public_half_checks_what_it_signs(tmp_path: Path) -> None:
    verifier = make_key(tmp_path / "key", name="example.org/audit")
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    signed = read_signer(tmp_path / "key").sign(SignedNote(str(HEAD)))
    again = read_note(str(signed), name="a note")
    assert read_verifier(str(verifier)).is_by(again.text, again.signatures[0])
    assert checkpoint_in(again, name="a note") == HEAD


def test_a_witness_signs_beside_the_log_and_says_when_it_saw_the_head(tmp_path: Path) -> None:
    make_key(tmp_path / "key", name="log")
    witness = make_key(tmp_path / "witness", name="example.org/witness", is_witness=True)
    signed = read_signer(tmp_path / "key").sign(SignedNote(str(HEAD)))
    both = read_signer(tmp_path / "witness").sign(signed, now=1_700_000_000)
    assert both.signatures[0] == signed.signatures[0]
    line = both.signatures[1]
    assert witness.is_by(both.text, line) and seen_at(line) == 1_700_000_000
    later = line._replace(data=(1_800_000_000).to_bytes(8) + line.data[8:])
    assert not witness.is_by(both.text, later)
    # Once more by the same witness replaces what it said before.
    assert len(read_signer(tmp_path / "witness").sign(both, now=1_700_000_001).signatures) == 2


@pytest.mark.parametrize("name", ["", "two words", "a+b"])
def test_a_key_has_a_name_that_a_note_can_hold(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a key's name"):
        make_key(tmp_path / "key", name=name)


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    make_key(tmp_path / "key", name="log")
    before = (tmp_path / "key").read_bytes()
    with pytest.raises(UsageError, match="never overwritten"):
        make_key(tmp_path / "key", name="log")
    assert (tmp_path / "key").read_bytes() == before


@pytest.mark.parametrize("text", ["", "secret", PUBLIC, PRIVATE[:-4], PRIVATE.replace("c74f20a3", "c74f20a4")])
def test_what_is_no_private_key_is_refused_and_not_shown(tmp_path: Path, text: str) -> None:
    (tmp_path / "key").write_text(text)
    with pytest.raises(PrerequisiteError, match="does not hold a private key") as refused:
        read_signer(tmp_path / "key")
    assert not text or text not in str(refused.value)


@pytest.mark.parametrize(
    "text", ["", "a+b+c", "a+b+é", PUBLIC[:-4], PUBLIC.replace("c74f20a3", "c74f20a4"), "+" + PUBLIC]
)
def test_what_is_no_verifier_key_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a verifier key"):
        read_verifier(text)


@pytest.mark.parametrize("text", ["", TEXT, f"{TEXT}\nsigned: me\n", f"{TEXT}\n— me abc\n", f"{TEXT}\n— me AA==\n"])
def test_what_is_no_signed_note_is_damage(text: str) -> None:
    with pytest.raises(LogDamaged, match="a note is not a signed note"):
        read_note(text, name="a note")


@pytest.mark.parametrize(
    "text", ["a\n7\n", "a\nseven\nAA==\n", "a\n7\nAA==\n", f"a\n07\n{str(HEAD).splitlines()[2]}\n"]
)
def test_what_is_no_checkpoint_is_damage(text: str) -> None:
    with pytest.raises(LogDamaged, match="is not a checkpoint"):
        checkpoint_in(SignedNote(text), name="a note")
