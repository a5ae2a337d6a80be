"""Signed notes, checkpoints and cosignatures of C2SP: how the head of a log is signed, so that anyone can check it.

    <origin>                            which log: the signing key's name, and the log's id
    <size>                              how many events it has
    <base64>                            root of the Merkle tree over them (tree.py)

    — <name> <base64>                   signatures: 4 bytes of key id, then 64 of Ed25519
    — <witness> <base64>                a witness's: key id, seconds since 1970 in 8 bytes, 64 of Ed25519

Formats: c2sp.org/signed-note, tlog-checkpoint and tlog-cosignature; keys as golang.org/x/mod/sumdb/note writes them:

    <name>+<8 digits>+<base64>              verifier key: key id, then kind (1, or 4 of a witness) and public key
    PRIVATE+KEY+<name>+<8 digits>+<base64>  the private one, in a file for its owner alone
"""

from __future__ import annotations

import hashlib
import os
import re
from base64 import b64decode, b64encode
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mage_es.events.errors import LogDamaged, PrerequisiteError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

LOG, WITNESS = 1, 4
"""The kinds of keys: one signs heads of its own logs, the other attests when it saw a head."""
_PRIVATE = "PRIVATE+KEY+"
_KEY_ID, _TIME, _SIGNATURE, _PUBLIC = 4, 8, 64, 32
_SIGNED = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+={0,2})")
_NAME = re.compile(r"[^\s+]+")


class Signature(NamedTuple):
    """A line below a note: `data` is what follows the key id."""

    name: str
    key_id: bytes
    data: bytes


class Verifier(NamedTuple):
    """A verifier key. `str` gives the text that it is written as."""

    name: str
    kind: int
    public: bytes

    @property
    def key_id(self) -> bytes:
        return hashlib.sha256(f"{self.name}\n".encode() + bytes([self.kind]) + self.public).digest()[:_KEY_ID]

    def __str__(self) -> str:
        return f"{self.name}+{self.key_id.hex()}+{b64encode(bytes([self.kind]) + self.public).decode()}"

    def signed(self, signature: Signature) -> bool:
        """Return whether a line claims to be made with this key; `is_by` tells whether the claim is true."""
        return (signature.name, signature.key_id) == (self.name, self.key_id)

    def is_by(self, text: str, signature: Signature) -> bool:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        # The key id is only four bytes: it says where to look, and proves nothing.
        length = _SIGNATURE + (_TIME if self.kind == WITNESS else 0)
        if not self.signed(signature) or len(signature.data) != length:
            return False
        try:
            message = _message(text, signature.data[:-_SIGNATURE])
            Ed25519PublicKey.from_public_bytes(self.public).verify(signature.data[-_SIGNATURE:], message)
        except InvalidSignature:
            return False
        return True


class Signer(NamedTuple):
    """A private key and its verifier key."""

    verifier: Verifier
    secret: bytes

    def sign(self, note: SignedNote, *, now: int = 0) -> SignedNote:
        """Return a note with this key's line below it; a witness says that it saw it `now`, in seconds since 1970."""
        stamp = now.to_bytes(_TIME) if self.verifier.kind == WITNESS else b""
        data = stamp + _private(self.secret).sign(_message(note.text, stamp))
        line = Signature(self.verifier.name, self.verifier.key_id, data)
        # A witness that sees a head again gives a later time, and two lines from one key would be ambiguous.
        others = tuple(each for each in note.signatures if not self.verifier.signed(each))
        return note._replace(signatures=(*others, line))


class SignedNote(NamedTuple):
    """A signed note; `text` ends with a line break."""

    text: str
    signatures: tuple[Signature, ...] = ()

    def __str__(self) -> str:
        lines = (f"— {each.name} {b64encode(each.key_id + each.data).decode()}\n" for each in self.signatures)
        return f"{self.text}\n{''.join(lines)}"


class Checkpoint(NamedTuple):
    """The text of a note about a log: its origin, its size, the root of the tree over its events."""

    origin: str
    size: int
    root: bytes

    def __str__(self) -> str:
        return f"{self.origin}\n{self.size}\n{b64encode(self.root).decode()}\n"


def seen_at(signature: Signature) -> int:
    """Return when a witness saw what it signed, in seconds since 1970; 0 for a line without a time."""
    return int.from_bytes(signature.data[:_TIME]) if len(signature.data) == _TIME + _SIGNATURE else 0


def read_note(text: str, *, name: str) -> SignedNote:
    """Raises `LogDamaged` for what is not a signed note; `name` says where it comes from."""
    # The last blank line: a text may have some of its own, signatures have none.
    body, blank, lines = text.rpartition("\n\n")
    found = [_SIGNED.fullmatch(line) for line in lines.splitlines()]
    try:
        signatures = [(line[1], b64decode(line[2], validate=True)) for line in found if line]
    except ValueError:
        signatures = []
    if not blank or len(signatures) != len(found) or not all(len(data) > _KEY_ID for _, data in signatures):
        raise LogDamaged(f"{name} is not a signed note: a text, a blank line, then lines of `— name base64`.")
    return SignedNote(f"{body}\n", tuple(Signature(who, data[:_KEY_ID], data[_KEY_ID:]) for who, data in signatures))


def checkpoint_in(note: SignedNote, *, name: str) -> Checkpoint:
    """Raises `LogDamaged` for a note that is not a checkpoint."""
    try:
        origin, size, root, *_ = note.text.splitlines()
        checkpoint = Checkpoint(origin, int(size), b64decode(root, validate=True))
    except ValueError:
        checkpoint = Checkpoint("", 0, b"")
    # Compared with how it would be written: a number with a leading zero, or other base64, would be a second spelling.
    if (
        not note.text.startswith(str(checkpoint))
        or not checkpoint.origin
        or len(checkpoint.root) != hashlib.sha256().digest_size
    ):
        raise LogDamaged(f"{name} is not a checkpoint: its lines must be origin, size and the root in base64.")
    return checkpoint


def read_verifier(text: str) -> Verifier:
    """Return the verifier key in a text. Raises `UsageError`."""
    name, digits, data = _parts(text.strip())
    found = Verifier(name, data[0], data[1:]) if len(data) == 1 + _PUBLIC else None
    if found is None or found.kind not in (LOG, WITNESS) or found.key_id.hex() != digits or not name:
        raise UsageError(
            f"{text.strip()!r} is not a verifier key: give NAME+8 DIGITS+BASE64 as `mage-es key new` printed it."
        )
    return found


def make_key(file: Path, *, name: str, is_witness: bool = False) -> Verifier:
    """Write a new private key to `file`, for its owner alone, and return its verifier key.

    Raises `UsageError` for a name with spaces or `+`, or if the file exists, and `PrerequisiteError`.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be a key's name: give one without spaces and +, such as example.org/audit.")
    require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    secret, kind = Ed25519PrivateKey.generate().private_bytes_raw(), WITNESS if is_witness else LOG
    verifier = _verifier_of(name, kind, secret)
    line = f"{_PRIVATE}{name}+{verifier.key_id.hex()}+{b64encode(bytes([kind]) + secret).decode()}\n"
    try:
        # It never exists with other permissions, not even for a moment, and never replaces a key, which could not be
        # recovered.
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
            written.write(line)
    except FileExistsError:
        raise UsageError(f"{file} exists already, and a key is never overwritten: name another file.") from None
    except OSError as error:
        raise PrerequisiteError(f"Cannot write {file}: {error.strerror}.") from error
    return verifier


def read_signer(file: Path) -> Signer:
    """Return the private key in a file of `make_key`. Raises `PrerequisiteError`."""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise PrerequisiteError(f"Cannot read the key {file}: {error}. `mage-es key new {file}` makes one.") from error
    name, digits, data = _parts(text.removeprefix(_PRIVATE))
    # The digits in the line are those of the public half: a damaged secret cannot sign unnoticed.
    if text.startswith(_PRIVATE) and len(data) == 1 + _PUBLIC and data[0] in (LOG, WITNESS):
        signer = Signer(_verifier_of(name, data[0], data[1:]), data[1:])
        if signer.verifier.key_id.hex() == digits:
            return signer
    # The message never shows the text itself, which is secret.
    raise PrerequisiteError(f"{file} does not hold a private key of mage-es. `mage-es key new FILE` makes one.")


def _parts(key: str) -> tuple[str, str, bytes]:
    """Return name, digits and bytes of a key as it is written; no bytes if it is not base64."""
    # The base64 may hold `+` as well, which is why the text is split only from the left.
    name, digits, encoded = (*key.split("+", 2), "", "")[:3]
    try:
        return name, digits, b64decode(encoded, validate=True)
    except ValueError:
        return name, digits, b""


def _verifier_of(name: str, kind: int, secret: bytes) -> Verifier:
    return Verifier(name, kind, _private(secret).public_key().public_bytes_raw())


def _message(text: str, stamp: bytes) -> bytes:
    # A witness signs the time as well; the log's own key signs only the text.
    return (f"cosignature/v1\ntime {int.from_bytes(stamp)}\n" if stamp else "").encode() + text.encode()


def _private(secret: bytes) -> Ed25519PrivateKey:
    require_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    return Ed25519PrivateKey.from_private_bytes(secret)


def require_cryptography() -> None:
    """Raise `PrerequisiteError` if the extra that signs and checks is missing."""
    try:
        import cryptography  # noqa: F401
    except ImportError as error:
        raise PrerequisiteError(
            "Heads are signed and checked with the package cryptography: python -m pip install 'mage-es[sign]'"
        ) from error
