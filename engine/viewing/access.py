"""Who may look at which runs: one browser on this machine, clients whose key is in the file of keys, or holders of a
link.

Rules
    - Without a file of keys there is one way in: an address on this machine with a link to everything. The link's
      secret ends with the process.
    - With such a file, a request has a key in a header, or a signed cookie that it got by logging in with a key, or a
      link in its address, which shows one run until it expires. None of these lets anyone change anything.
    - Signed links and cookies are not stored anywhere. The secret that signs them lies beside the file of keys,
      readable by its owner alone; replacing it ends all links and logins. A login also ends when its key is removed.
    - Both files are read again with each request, so a change takes effect with the next one.
"""

import base64
import hashlib
import hmac
import os
import secrets
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.run.served import SUFFIX
from mage_es.engine.served.tenants import Key, KeyRing, Refused, keys_in, read_keys
from mage_es.events.disk.opening import read_small
from mage_es.events.errors import MageError, PrerequisiteError, UsageError

COOKIE = "mage-es-view"
LOGIN_S = 12 * 3600
"""How long a login lasts, in seconds."""
_SECRET = 32
"""Bytes of a secret, in its file as hexadecimal digits."""
_LINK, _LOGIN = "link", "login"
_ENDED = "This link is not valid: it was altered or cut short, or all links were ended. Ask for another."
_NO_KEY = "To look at these runs, log in with one of this server's keys, or send it as Authorization: Bearer."
_MAY_NOT = "This key may not look at runs: `views = true` in the file of keys allows it."


class _Pass(msgspec.Struct, frozen=True, array_like=True):
    """What is signed: the run that a link shows ("" for all) or the key that logged in, and when the signature expires,
    in seconds since 1970 (0: never)."""

    name: str
    expires: int


class Visitor(NamedTuple):
    """A visitor: the name of their key, "" for a link, and the only runs that they may see, None for all."""

    key: str = ""
    runs: frozenset[str] | None = None

    def sees(self, run: str) -> bool:
        return self.runs is None or run in self.runs


class Access:
    """The way in by the keys of a file or, without one, by `link("")`. `say` gets a line when a changed file of keys
    cannot be used.

    Raises `UsageError` for a file that is not valid, or has no key that `views`.
    """

    def __init__(self, keys: Path | None = None, *, say: Callable[[str], None] = lambda words: None) -> None:
        self._file, self._say, self._own = keys, say, secrets.token_bytes(_SECRET)
        self._read, self._ring = b"", None if keys is None else _viewing(keys)
        if keys is not None:
            self._read = read_small(keys)
            _secret_in(_beside(keys))

    @property
    def secret_file(self) -> Path | None:
        """Where the secret is that signs links and logins; deleting it ends them all."""
        return _beside(self._file) if self._file else None

    @property
    def ring(self) -> KeyRing | None:
        """The keys as their file has them now; the last valid ones if it has none."""
        if self._file is not None:
            try:
                # The bytes, not the modification time: a file may be mounted over, or swapped behind a link.
                if (found := read_small(self._file)) != self._read:
                    self._read = found  # before it is parsed, so that a bad one is reported only once
                    self._ring = read_keys(self._file)
            except (MageError, OSError) as error:
                if self._read:
                    self._say(f"{self._file} could not be loaded, so the previous keys still apply: {error}")
                self._read = b"" if isinstance(error, OSError) else self._read
        return self._ring

    def admit(self, link: str, headers: Mapping[str, str]) -> Visitor:
        """Return who is asking, by the link in the address or else the headers, whose names are in lower case. Raises
        `Refused`: 401 if there is neither key, cookie nor link, 403 if it is not valid, 404 if there is nothing at the
        address.
        """
        if "." in link:
            run = self._opened(_LINK, link).name
            return Visitor(runs=frozenset({run}) if run else None)
        if (ring := self.ring) is None:
            raise Refused(404, "Open the address that `mage-es view` printed.")
        if link:
            raise Refused(404, "There is nothing at this address.")
        found = [key for key, _ in keys_in(ring, headers)]
        if not found and (cookie := _cookie(headers.get("cookie", ""))):
            found = [key for key in ring.keys if self._is_signed(_login(key), cookie)]
            if found:
                self._opened(_login(found[0]), cookie)
        if not found:
            raise Refused(401, _NO_KEY)
        return _visitor(found[0])

    def login(self, key: str) -> str:
        """Return what a browser keeps in its cookie in place of a key. Raises `Refused` (401, 403)."""
        found = keys_in(ring, {"x-api-key": key}) if (ring := self.ring) else []
        if not found:
            raise Refused(401, "This key is not known here.")
        name = _visitor(found[0][0]).key
        return self._signed(_login(found[0][0]), _Pass(name, int(time.time()) + LOGIN_S))

    def link(self, run: str, seconds: int = 0) -> tuple[str, int]:
        """Return a link to a run ("" for all), for the address of the server, and when it expires, in seconds since
        1970; 0 never."""
        expires = int(time.time()) + seconds if seconds else 0
        return self._signed(_LINK, _Pass(run, expires)), expires

    def _signed(self, kind: str, what: _Pass) -> str:
        text = _text(msgspec.json.encode(what))
        return f"{text}.{self._mac(kind, text)}"

    def _is_signed(self, kind: str, word: str) -> bool:
        text, _, mac = word.partition(".")
        return hmac.compare_digest(mac.encode(), self._mac(kind, text).encode())

    def _opened(self, kind: str, word: str) -> _Pass:
        """Return what was signed. Raises `Refused` for a text that was not signed here, or has expired."""
        if not self._is_signed(kind, word):
            raise Refused(403, _ENDED)
        text = word.partition(".")[0]
        found = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=_Pass)
        if found.expires and time.time() >= found.expires:
            if kind != _LINK:
                raise Refused(401, "This login has ended. Log in again.")
            then = f"{datetime.fromtimestamp(found.expires, UTC):%Y-%m-%d %H:%M} UTC"
            raise Refused(403, f"This link expired on {then}. Ask for another.")
        return found

    def _mac(self, kind: str, text: str) -> str:
        return _text(hmac.digest(self._secret(), f"mage-es view {kind} {text}".encode(), hashlib.sha256))

    def _secret(self) -> bytes:
        if self._file is None:
            return self._own
        try:
            return _secret_in(_beside(self._file))
        except PrerequisiteError as error:  # which names a place of this machine
            self._say(str(error))
            raise Refused(503, "Links and logins cannot be checked now; the server's console says why.") from None


def _beside(keys: Path) -> Path:
    return keys.with_name(f"{keys.name}.secret")


def _viewing(keys: Path) -> KeyRing:
    ring = read_keys(keys)
    if not any(key.views for key in ring.keys):
        raise UsageError(f"{keys}: no key may look at runs. Give one of them `views = true`.")
    return ring


def _visitor(key: Key) -> Visitor:
    if not key.views:
        raise Refused(403, _MAY_NOT)
    run = Path(key.run).name
    return Visitor(key.name, frozenset({run, key.served_run or f"{run}{SUFFIX}"}) if key.run else None)


def _login(key: Key) -> str:
    return f"{_LOGIN} {key.sha256}"  # so that it ends when the key is replaced or removed


def _cookie(header: str) -> str:
    pairs = dict(pair.strip().partition("=")[::2] for pair in header.split(";"))
    return pairs.get(COOKIE, "")


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _secret_in(file: Path) -> bytes:
    """Return the secret in a file, which is made if it is not there. Raises `PrerequisiteError`."""
    try:
        if not file.exists():
            _make_secret(file)
        found, mode = bytes.fromhex(read_small(file).decode()), file.stat().st_mode
    except (OSError, ValueError) as error:
        raise PrerequisiteError(
            f"{file} must hold the secret that links and logins are signed with, and cannot be used: {error}. Let it "
            f"be made there, or write {2 * _SECRET} hexadecimal digits into it."
        ) from error
    if len(found) < _SECRET:
        raise PrerequisiteError(
            f"{file} is too short for a secret. Delete it: a new one is made, which ends all links."
        )
    if mode & 0o007:
        raise PrerequisiteError(f"Everyone on this machine can read the secret in {file}: chmod 600 {file}")
    return found


def _make_secret(file: Path) -> None:
    descriptor, draft = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}-")  # for its owner alone
    try:
        with os.fdopen(descriptor, "w") as written:
            written.write(secrets.token_hex(_SECRET))
        Path(file).hardlink_to(draft)  # whole at once, and never over one that another process made
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()
