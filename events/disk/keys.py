"""The keys of subjects, kept in a file of the run outside its log, and the code that seals and opens texts with them.

    <run>/keys      readable by its owner alone; no backup has it

The theory of operation is at the top of events/facts/private.py.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mage_es.events.digests import token_of
from mage_es.events.disk.documents import pack, unpack
from mage_es.events.disk.filesystem import TEMPORARY, LocalFileSystem, sync_fully
from mage_es.events.disk.layout import Layout
from mage_es.events.errors import KeysUnusable, LogDamaged, PrerequisiteError
from mage_es.events.facts import Draft
from mage_es.events.facts.private import ERASED, NONCE, PREFIX, TAG, Private, mapped, texts_in
from mage_es.events.facts.shapes import vectors_of

if TYPE_CHECKING:  # an optional dependency, which a run without subjects does not need
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

Opened = TypeVar("Opened")
Sealed = TypeVar("Sealed", bound=msgspec.Struct)

_COUNT, _ID = 2, 8
_LARGEST = 1 << 28  # bytes of a million subjects


class _Subject(msgspec.Struct, frozen=True):
    subject: str
    id: str
    key: str


class _Document(msgspec.Struct, frozen=True, kw_only=True):
    salt: str
    subjects: tuple[_Subject, ...]


def key_file(log: Path) -> Path:
    """Return the path of the keys for a log: beside it, or beside its run's log if it is in a subfolder of the run."""
    log = log.absolute()
    above = [each for each in log.parents[2:3] if Layout(each / log.name).format.exists()]
    return (above or log.parents)[0] / "keys"


def keys_of(log: Path) -> Keys | None:
    """Return the keys for a log, or None without a file of them. Raises `KeysUnusable`."""
    file = key_file(log)
    try:
        document = unpack(LocalFileSystem().read(file, 0, _LARGEST), _Document, name=str(file))
    except FileNotFoundError:
        return None
    except LogDamaged as error:
        raise _unusable(str(file), "is damaged") from error
    if any(each.id != _id_of(document.salt, each.subject) for each in document.subjects):
        raise _unusable(str(file), "has a different salt from the one the log was written with")
    return Keys(document, str(file))


def make_keys(log: Path, subjects: Iterable[str]) -> Keys:
    """Return the keys for a log; a subject without one gets one, durably. Raises `PrerequisiteError`."""
    file, held = key_file(log), keys_of(log)
    known = held.document if held else _Document(salt=os.urandom(32).hex(), subjects=())
    new = sorted({*subjects} - {each.subject for each in known.subjects})
    made = [_Subject(name, _id_of(known.salt, name), os.urandom(32).hex()) for name in new]
    document = _Document(salt=known.salt, subjects=(*known.subjects, *made))
    if made:
        _write(file, document)
    return Keys(document, str(file))


def destroy_key(log: Path, subject: str) -> bool:
    """Destroy the key of a subject, and with it every text under it; return whether it existed.

    The file that it was in is replaced, durably, and then overwritten. Copies of overwritten blocks that a disk keeps
    (flash, a file system's own snapshots) are beyond its reach.
    """
    held, file = keys_of(log), key_file(log)
    if held is None or subject not in held.ids:
        return False
    left = tuple(each for each in held.document.subjects if each.subject != subject)
    # The old file is overwritten only after the new one has its name, so that the other keys are always on disk.
    with file.open("r+b", buffering=0) as old:
        _write(file, msgspec.structs.replace(held.document, subjects=left))
        old.write(bytes(os.fstat(old.fileno()).st_size))
        sync_fully(old.fileno())
    return True


def no_keys() -> bytes:
    """Return an empty key file: with it a copy of a run reads as if all its subjects were erased."""
    return pack(_Document(salt="", subjects=()))


def _id_of(salt: str, subject: str) -> str:
    # Keyed, because the log holds it; deterministic, so that a file with another log's salt is noticed.
    return hmac.digest(bytes.fromhex(salt), subject.encode(), "sha256")[:_ID].hex()


def _unusable(file: str, what: str) -> KeysUnusable:
    return KeysUnusable(
        f"{file} {what}, and it has the keys of subjects' texts: put your own copy of that file in its place (no "
        "backup has it). Without one move it away: everything else can be read, and those texts are gone."
    )


def _write(file: Path, document: _Document) -> None:
    draft, disk = file.with_name(f"{file.name}{TEMPORARY}"), LocalFileSystem()
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as written:
        written.write(pack(document))
        written.flush()
        sync_fully(descriptor)
    disk.rename(draft, file)
    disk.sync_folder(file.parent)


class Keys:
    """The keys of a run. `salt` is the secret that ids are salted with."""

    def __init__(self, document: _Document, file: str) -> None:
        self.document, self.salt, self._file = document, document.salt, file
        self.ids = {each.subject: each.id for each in document.subjects}
        """The 16 digits that stand for each subject in tokens."""
        self._subjects = {each.subject: each for each in document.subjects}
        self._names = {bytes.fromhex(each.id): each.subject for each in document.subjects}
        self._ciphers: dict[frozenset[str], AESGCM] = {}

    def id_of(self, subject: str) -> str:
        """Return the digits that replace a subject in tokens, even after it was erased."""
        return _id_of(self.salt, subject)

    def sealed(self, row: Sealed) -> Sealed:
        """Return a draft or row whose private texts have tokens, its vector encrypted. Raises `PrerequisiteError`."""
        row = mapped(row, lambda text: self._sealed(text) if isinstance(text, Private) else text)
        if isinstance(row, Draft) and (vectors := vectors_of(type(row.event))):
            beside = next((text for text in texts_in(row.event) if isinstance(text, Private)), None)
            if beside is not None:
                clear = {name: getattr(row.event, name) for name in vectors}
                sealed = {name: self._encrypted(beside.under, each, b"") for name, each in clear.items() if each}
                row = msgspec.structs.replace(row, event=msgspec.structs.replace(row.event, **sealed))
        return row

    def as_stored(self, row: Sealed) -> Sealed:
        """Return a row with tokens in place of its private texts."""
        return mapped(self.sealed(row), lambda text: token_of(text) if isinstance(text, Private) else text)

    def opened(self, value: Opened) -> Opened:
        """Return a value (an event, a record, a dump) with its tokens opened, however deep they are."""
        return self._opened(value)  # type: ignore[no-any-return]

    def _opened(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._open(value) if value.startswith(PREFIX) else value
        if isinstance(value, list | tuple):
            opened = map(self._opened, value)
            return (
                value._make(opened) if hasattr(value, "_make") else type(value)(opened)
            )  # a named tuple, or a plain one
        if isinstance(value, dict):
            return {name: self._opened(each) for name, each in value.items()}
        if isinstance(value, msgspec.Struct):
            return type(value)(**{name: self._opened(getattr(value, name)) for name in value.__struct_fields__})
        return value

    def _sealed(self, text: Private) -> Private:
        if text.token and text.cipher is None:  # erased: there is nothing to seal
            return text
        ids = sorted(self._id(name) for name in text.under)
        header = len(ids).to_bytes(_COUNT) + b"".join(ids)
        data = header + self._encrypted(text.under, text.encode(), header)
        token = PREFIX + base64.urlsafe_b64encode(data).decode()
        return Private(text, text.under, token=token, cipher=self._cipher(text.under))

    def _open(self, token: str) -> str:
        try:
            data = base64.b64decode(token[len(PREFIX) :], altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            return token  # a text that happens to begin like one
        end = _COUNT + _ID * int.from_bytes(data[:_COUNT])
        if end == _COUNT or len(data) < end + NONCE + TAG:
            return token
        ids = [data[at : at + _ID] for at in range(_COUNT, end, _ID)]
        under = frozenset(self._names.get(each, ERASED + each.hex()) for each in ids)
        if not under <= self._subjects.keys():
            digits = hashlib.sha256(token.encode()).hexdigest()[:8]
            return Private(f"[erased {digits}]", under, token=token)
        cipher = self._cipher(under)
        from cryptography.exceptions import InvalidTag  # only now: its library may not be installed

        try:
            text = cipher.decrypt(data[end : end + NONCE], data[end + NONCE :], data[:end]).decode()
        except (InvalidTag, UnicodeDecodeError) as error:
            raise _unusable(self._file, "does not open this log") from error
        return Private(text, under, token=token, cipher=cipher)

    def _encrypted(self, under: frozenset[str], data: bytes, header: bytes) -> bytes:
        nonce = os.urandom(NONCE)
        return nonce + self._cipher(under).encrypt(nonce, data, header)

    def _cipher(self, under: frozenset[str]) -> AESGCM:
        if under not in self._ciphers:
            try:
                from cryptography.hazmat.primitives.ciphers.aead import AESGCM
            except ImportError as error:
                raise PrerequisiteError(
                    "Tasks name subjects, whose texts are encrypted with the package cryptography: "
                    "python -m pip install 'mage-es[subjects]'. A column `subject` that names no person or customer "
                    "can be given another role: --columns task_type=subject"
                ) from error
            keys = sorted((self._id(name), self._subjects[name].key) for name in under)
            self._ciphers[under] = AESGCM(hashlib.sha256(b"".join(bytes.fromhex(key) for _, key in keys)).digest())
        return self._ciphers[under]

    def _id(self, name: str) -> bytes:
        if name not in self._subjects:
            raise PrerequisiteError(f"The key of a subject ({name}) was destroyed: nothing can be recorded about it.")
        return bytes.fromhex(self._subjects[name].id)
