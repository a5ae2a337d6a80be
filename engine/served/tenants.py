"""The file of keys: who may ask and look, and which run they reach. Without a file, anyone on this machine may do both.

Rules
    - A key names its run; nothing in a request does. Keys of the same run are one tenant.
    - The file holds hashes of the clients' keys, and for the upstream's key the name of an environment variable. A
      request's key is compared with all hashes in constant time, and never appears in a message.
"""

import hashlib
import hmac
import ipaddress
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from mage_es.engine.benchmarks.files import read_toml
from mage_es.events.disk.opening import SMALL
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary.serving import Trust

_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_Name = Annotated[str, msgspec.Meta(pattern=r"^[\w.-]{1,64}$")]
CREDENTIALS = ("authorization", "x-api-key", "api-key")
"""Headers that carry a key: OpenAI's and similar APIs', Anthropic's, Azure's."""
_Path = Annotated[str, msgspec.Meta(pattern=r"^([A-Z]+ )?/v1/[^\s*]*\*?$")]
PATHS: tuple[_Path, ...] = (
    *("POST /v1/chat/completions", "POST /v1/responses", "POST /v1/messages", "POST /v1/messages/count_tokens"),
    *("POST /v1/embeddings", "GET /v1/models", "GET /v1/models/*"),
)
"""What a key may request from the upstream unless the file says otherwise."""


class Refused(Exception):
    """A request that is answered here: an HTTP status, a message, and for 429 and 503 the seconds to wait."""

    def __init__(self, status: int, message: str, *, retry_after: int = 0) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.headers = {"retry-after": str(retry_after)} if retry_after else {}


class Key(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A key of the file."""

    name: _Name
    """Its name in records."""
    sha256: _Digest
    """SHA-256 of the key, 64 hexadecimal digits."""
    run: str = ""
    """Run whose memories it reaches; empty for the one that the command line names."""
    at: str = "latest"
    """Marker of that run, as `--at` is for the one that the command line names."""
    served_run: str = ""
    """Run that records what this key does; empty for RUN-served. Keys with the same run are one tenant."""
    upstream_key_env: str = ""
    """Variable that holds the key to send to the upstream instead; empty for none."""
    trust: Trust = "scores"
    """What its feedback may do: with `gold` it rates and writes answers that are right (demonstrations), with `full`
    answers that anchors or a person must judge, with `scores` it only rates, with `none` it is only recorded."""
    curates: bool = False
    """Whether it may take memories of its run out of use and bring them back."""
    views: bool = False
    """Whether it may look in `mage-es view`: at its run and the run that records for it or, if it names no run, at all
    runs."""
    rate: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0
    """Requests to the upstream per minute; 0 for no limit."""
    paths: tuple[_Path, ...] = PATHS
    """What it may request from the upstream: a method (none: any) and a path, which may end in `*` as a wildcard."""
    models: tuple[str, ...] = ()
    """Models that it may name, by the same rule; empty for all."""


class KeyRing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of keys."""

    keys: tuple[Key, ...]
    hosts: tuple[str, ...] = ()
    """Names of this server under which other machines reach /mcp, each with any port."""
    operator_sha256: _Digest | Literal[""] = ""
    """SHA-256 of the key that may only see /healthz and /metrics, for all runs."""


def read_keys(path: Path) -> KeyRing:
    """Return the keys in a TOML file. Raises `UsageError` for a file that is not valid."""
    try:
        keys = msgspec.convert(read_toml(path, SMALL), KeyRing)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}. Give --keys a file of keys.") from None
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{path} is not a file of keys: {error}. Each key is a table [[keys]] with name and sha256; run, at, "
            "served_run, upstream_key_env, trust, curates, views, rate, paths and models are optional."
        ) from None
    for field, given in (("name", [key.name for key in keys.keys]), ("sha256", [key.sha256 for key in keys.keys])):
        if repeated := sorted({each for each in given if given.count(each) > 1}):
            raise UsageError(f"{path}: two keys have the {field} {repeated[0]}. Delete one of them.")
    if not keys.keys:
        raise UsageError(f"{path} has no keys. Add a table [[keys]] with name and sha256.")
    return keys


def keys_in(keys: KeyRing, headers: Mapping[str, str]) -> list[tuple[Key, str]]:
    """Return the keys in a request's headers, each with the header's name.

    Every key is compared with every header, found or not, so that the time taken reveals nothing.
    """
    found = [(name, digest_of(headers[name])) for name in CREDENTIALS if name in headers]
    return [(key, name) for key in keys.keys for name, sent in found if is_same(sent, key.sha256)]


def is_local(host: str) -> bool:
    """Return whether an address to listen on can be reached from this machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def require_local(host: str, keys: KeyRing | None) -> None:
    """Raise `UsageError` for an address that other machines reach, if there are no keys."""
    if keys is None and not is_local(host):
        raise UsageError(
            f"Other machines can reach {host}, so a file of keys must say who may ask. Pass --keys FILE, or --host "
            "127.0.0.1."
        )


def digest_of(header: str) -> str:
    scheme, _, rest = header.partition(" ")
    return hashlib.sha256((rest.strip() if scheme.lower() == "bearer" else header).encode()).hexdigest()


def is_same(sent: str, known: str) -> bool:
    return hmac.compare_digest(sent, known)
