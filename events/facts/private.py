"""Texts of a subject (a person or customer): which fields hold them, and how they read once their key is destroyed.

Theory of operation A task may name a subject. The log holds every text derived from that task as ciphertext under the
subject's key. So destroying the key destroys the text in every copy, and no other byte changes.

    Where. `decide` marks a text as `Private`: a str like any other that also names its subjects in `under`
    (engine/rules/subjects.py). The log seals marked texts before it writes them, and a reader opens them
    (disk/keys.py), so rules and projections see plain text. Every encoding of such a text (frame, digest, snapshot,
    file of questions) holds its `token`, the ciphertext; a text that has no token yet cannot be encoded. So the chain,
    segments, backups, exports, snapshots and digests hold ciphertext, and are the same with or without the keys. A
    token is made once and recorded. A replay reads it, so nothing is encrypted a second time.

    How. A token is `sealed:` followed by base64 of: the number of subjects in 2 bytes, 8 bytes for each subject, a
    random nonce of 12 bytes, and the AES-256-GCM ciphertext. The 8 bytes are a hash of the subject's name, keyed with a
    secret of the run, so they show whether a file of keys fits its log. The encryption key is the SHA-256 of the keys
    of all the text's subjects: if any of these is destroyed, the text is lost. Nonces are random, so equal texts have
    different tokens. A vector beside private texts is sealed like the first of them. Names of subjects are only in the
    file of keys.

    Hashes. A hash from which a text could be guessed is sealed too (hashes of prompts, requests and questions) or keyed
    with a secret of the run (ids of memories, what an anchor saw, requests to an embedder). Ids of questions, task
    types and skills and the names of tools stay readable, so they must say nothing about a subject. Hashes that
    identify tools, recipes, and passages shared by many questions of a type stay readable as well: guessing one takes
    the whole text.

    Without the key. A text reads `[erased <8 digits of its token's hash>]`, and everything else stays as it was,
    digests included. Nothing learned from such a text is in a view from which prompts are made. A backup has a key file
    without keys. In a copy without any key file, a text reads as its token.

    In a fold, texts may be assigned, kept and compared by `recorded`, but not cut or joined, because a new text has no
    token. That is why `beginning` leaves a subject's text whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from operator import is_
from typing import Any, Protocol, TypeVar

import msgspec

from mage_es.events.facts.event import Event, Part
from mage_es.events.facts.shapes import fields_with

Struct = TypeVar("Struct", bound=msgspec.Struct)
PREFIX = "sealed:"
ERASED = "?"
"""The beginning of the name of a subject without a key."""
NONCE, TAG = 12, 16
"""Bytes that AES-GCM adds before and after a ciphertext."""
_MARKED = (Event, Part)
_ERASED = re.compile(rf"\[erased [0-9a-f]{{8}}\]|\b{PREFIX}")


class Cipher(Protocol):
    def decrypt(self, nonce: bytes, data: bytes, associated_data: bytes | None) -> bytes: ...


class Private(str):
    """A text of subjects. `token` is what is recorded for it, "" until then; `cipher` opens what is sealed with it."""

    under: frozenset[str]
    token: str
    cipher: Cipher | None

    def __new__(cls, text: str, under: frozenset[str], *, token: str = "", cipher: Cipher | None = None) -> Private:
        self = super().__new__(cls, text)
        self.under, self.token, self.cipher = under, token, cipher
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)  # another process gets a plain text, since only this process records


def mapped(value: Struct, change: Callable[[str], str]) -> Struct:
    """Return an event, a part or a struct of these (such as a draft) with a change to every text that may be a
    subject's."""
    is_own, changes = isinstance(value, _MARKED), dict[str, Any]()

    def changed(part: Any) -> Any:
        return change(part) if isinstance(part, str) else mapped(part, change)

    kinds = (str, msgspec.Struct) if is_own else msgspec.Struct
    for name in fields_with(type(value), "private") if is_own else value.__struct_fields__:
        field = made = getattr(value, name)
        if isinstance(field, kinds):
            made = changed(field)
        elif isinstance(field, tuple) and field and isinstance(field[0], kinds):
            made = tuple(map(changed, field))
            made = field if all(map(is_, made, field)) else made
        if made is not field:
            changes[name] = made
    return msgspec.structs.replace(value, **changes) if changes else value


def marked_private(value: Struct, under: frozenset[str]) -> Struct:
    """Return an event or row whose texts belong to these subjects, in addition to those that they belonged to
    before."""

    def mark(text: str) -> str:
        before = text.under if isinstance(text, Private) else frozenset[str]()
        return Private(text, under | before) if text and under | before and not is_erased(text) else text

    return mapped(value, mark)


def texts_in(value: msgspec.Struct) -> list[str]:
    """Return the texts that may belong to a subject."""
    found: list[str] = []

    def note(text: str) -> str:
        found.append(text)
        return text

    mapped(value, note)
    return found


def under_of(*values: object) -> frozenset[str]:
    """Return the subjects of texts, or of all the texts of events and rows."""
    texts = (text for value in values for text in (texts_in(value) if isinstance(value, msgspec.Struct) else [value]))
    return frozenset(name for text in texts if isinstance(text, Private) for name in text.under)


def is_sealed(text: str) -> bool:
    """Return whether a text belongs to a subject, whether or not it can be read."""
    return isinstance(text, Private) or text.startswith(PREFIX)


def is_erased(text: str) -> bool:
    """Return whether a text belongs to a subject and cannot be read here."""
    return text.token != "" and text.cipher is None if isinstance(text, Private) else text.startswith(PREFIX)


def quotes_erased(text: str) -> bool:
    """Return whether something made of texts, such as a prompt, contains one that cannot be read here."""
    return _ERASED.search(text) is not None


def recorded(text: str) -> str:
    """Return what is recorded for a text: the same whether or not it can be read, so that folds may compare it."""
    return text.token if isinstance(text, Private) else text


def beginning(text: str, most: int) -> str:
    """Return at most `most` characters of a text; a subject's text stays whole, since a part of it has no token."""
    return text if is_sealed(text) else text[:most]


def clear_vector(vector: bytes, *beside: str) -> bytes:
    """Return an event's vector decrypted, given its private texts in order; none of them may be erased."""
    for text in beside:
        if isinstance(text, Private) and text.cipher:
            return text.cipher.decrypt(vector[:NONCE], vector[NONCE:], b"")
    return vector
