"""Who may ask, and which run they reach: holders of a file's keys or, without a file, anyone on this machine.

Rules
    - A key names its run; nothing in a request does. Keys of the same run are one tenant.
    - The file holds hashes of keys, and names of variables for the upstream's. A request's key is compared with all of
      them, in constant time, and never appears in a message.
    - A key reaches only what the file allows at the upstream: with the upstream's own key anyone could delete its
      files, or read what others left there.
    - Without a file only clients on this machine are accepted, and only under its own names: a page in a browser that
      reaches a local port by another name, or from another origin, is refused.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec

from mage_es.engine.benchmarks.files import read_toml
from mage_es.engine.served.refusals import Refused
from mage_es.events.disk.opening import SMALL
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.vocabulary.serving import Trust

_Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_Name = Annotated[str, msgspec.Meta(pattern=r"^[\w.-]{1,64}$")]
CREDENTIALS = ("authorization", "x-api-key", "api-key")
"""Headers that carry a key: OpenAI's and similar APIs', Anthropic's, Azure's."""
_LOCAL = ("localhost", "127.0.0.1", "::1")
_Path = Annotated[str, msgspec.Meta(pattern=r"^([A-Z]+ )?/v1/[^\s*]*\*?$")]
PATHS: tuple[_Path, ...] = (
    *("POST /v1/chat/completions", "POST /v1/responses", "POST /v1/messages", "POST /v1/messages/count_tokens"),
    *("POST /v1/embeddings", "GET /v1/models", "GET /v1/models/*"),
)
"""What a key may request from the upstream unless the file says otherwise."""


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
    """Variable that holds the key sent to the upstream in its place; empty for none."""
    trust: Trust = "scores"
    """What its feedback may do: with `full` it rates and writes (demonstrations), with `scores` it rates, with `none`
    it is only recorded."""
    curates: bool = False
    """Whether it may take memories of its run out of use and bring them back."""
    views: bool = False
    """Whether it may look, in `mage-es view`, at its run and at the one that serves it or, if it names none, at all."""
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
    """SHA-256 of the key that sees /healthz and /metrics of all runs, and nothing else."""


def read_keys(path: Path) -> KeyRing:
    """Return the keys in a TOML file. Raises `UsageError` for a file that is not valid."""
    try:
        keys = msgspec.convert(read_toml(path, SMALL), KeyRing)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}. Give --keys a file of keys.") from None
    except msgspec.ValidationError as error:
        raise UsageError(
            f"{path} is not a file of keys: {error}. Each key is a table [[keys]] with name and sha256; run, "
            "upstream_key_env, trust, curates, views, rate, paths and models are optional."
        ) from None
    for field, given in (("name", [key.name for key in keys.keys]), ("sha256", [key.sha256 for key in keys.keys])):
        if repeated := sorted({each for each in given if given.count(each) > 1}):
            raise UsageError(f"{path}: two keys have the {field} {repeated[0]}. Delete one of them.")
    if not keys.keys:
        raise UsageError(f"{path} has no keys. Add a table [[keys]] with name and sha256.")
    return keys


def keys_in(keys: KeyRing, headers: Mapping[str, str]) -> list[tuple[Key, str]]:
    """Return the keys that a request has in its headers, each with the header's name.

    Every key is compared with every header, found or not, so that the time taken reveals nothing.
    """
    found = [(name, _digest(headers[name])) for name in CREDENTIALS if name in headers]
    return [(key, name) for key in keys.keys for name, sent in found if _same(sent, key.sha256)]


class Guest(msgspec.Struct, frozen=True, kw_only=True):
    """Who sent a request: the key's name and run, and which header the upstream's key goes into."""

    name: str = ""
    run: str = ""
    trust: Trust = "full"
    curates: bool = False
    upstream_key: str | None = None
    """Key for the upstream; "" for none, None if the client's own is passed on."""
    credential: str = ""
    is_operator: bool = False
    paths: tuple[str, ...] | None = None
    """What it may request from the upstream; None for anything."""
    models: tuple[str, ...] = ()

    def require_path(self, method: str, path: str) -> None:
        """Raise `Refused` for a request that may not be sent to the upstream."""
        if self.paths is None:
            return
        asked = "GET" if method == "HEAD" else method
        for allowed in self.paths:
            its_method, _, its_path = allowed.rpartition(" ")
            if its_method in ("", asked) and _fits(its_path, path):
                return
        raise Refused(
            403, f"This key may not send {method} {path!r:.100}: `paths` in the file of keys says what it may send."
        )

    def require_model(self, body: bytes) -> None:
        """Raise `Refused` for a request that does not name exactly one model that the key may use."""
        named = _models_in(body)
        if len(named) != 1 or not isinstance(named[0], str):
            raise Refused(
                403, "This key may use only some models, so its requests must name one: `model` in a JSON object."
            )
        if not any(_fits(allowed, named[0]) for allowed in self.models):
            raise Refused(
                403, f"This key may not use the model {named[0]!r:.100}; it may use {', '.join(self.models)}."
            )


def _fits(allowed: str, asked: str) -> bool:
    return asked.startswith(allowed[:-1]) if allowed.endswith("*") else asked == allowed


def _models_in(body: bytes) -> list[object]:
    """Return everything that a request names as its model: servers differ in which of two models they take and in
    whether `Model` counts, and some fall back on `models`."""
    try:
        pairs = json.loads(body, object_pairs_hook=list)
    except (ValueError, RecursionError):
        return []
    is_object = isinstance(pairs, list) and body.lstrip()[:1] == b"{"
    return [value for name, value in pairs if name.casefold() in ("model", "models")] if is_object else []


class Door:
    """Lets requests in. Without keys they reach `run`, and `hosts` are names of this machine."""

    def __init__(self, keys: KeyRing | None, run: str, *, hosts: Sequence[str] = ()) -> None:
        self._keys, self._run = keys, run
        self._hosts = {*_LOCAL, *hosts}
        self._buckets = dict[tuple[str, float], _Bucket]()
        self._upstream_keys = {key.name: _variable(key.upstream_key_env) for key in keys.keys} if keys else {}

    def change(self, keys: KeyRing) -> list[str]:
        """Accept these keys from now on; return the names of those not accepted, as this process lacks their upstream
        key."""
        lacking = [key for key in keys.keys if key.upstream_key_env and not os.environ.get(key.upstream_key_env)]
        kept = tuple(key for key in keys.keys if key not in lacking)
        self._upstream_keys = {key.name: _variable(key.upstream_key_env) for key in kept}
        self._keys = msgspec.structs.replace(keys, keys=kept)
        return [key.name for key in lacking]

    def admit(self, headers: Mapping[str, str], *, now: float, is_limited: bool = True) -> Guest:
        """Return who sent a request at that moment, in seconds; `is_limited`: it counts towards the key's rate.

        Raises `Refused` (401, 403, 429).
        """
        if self._keys is None:
            self._require_local(headers)
            return Guest(run=self._run, curates=True)
        matches = keys_in(self._keys, headers)
        sent = [headers[name] for name in CREDENTIALS if name in headers]
        operators = [each for each in sent if _same(_digest(each), self._keys.operator_sha256)]
        if matches:
            key, credential = matches[0]
            # By its rate too, so that a key keeps its bucket when the file is read again, unless its rate changed.
            bucket = self._buckets.setdefault((key.name, key.rate), _Bucket(key.rate))
            if wait := bucket.take(now) if is_limited and key.rate else 0:
                raise Refused(429, f"This key may send {key.rate:g} requests per minute.", retry_after=wait)
            own = self._upstream_keys[key.name]
            return Guest(
                name=key.name,
                run=key.served_run,
                trust=key.trust,
                curates=key.curates,
                upstream_key=own,
                credential=credential,
                paths=key.paths,
                models=key.models,
            )
        if operators:
            return Guest(is_operator=True)
        what = "This key is not known here" if sent else "There is no key in the request"
        raise Refused(401, f"{what}: send one of this server's keys, as for the API itself.")

    def _require_local(self, headers: Mapping[str, str]) -> None:
        origin = headers.get("origin")
        for address in (f"//{headers.get('host', 'localhost')}", *([origin] if origin else [])):
            try:
                name = urlsplit(address).hostname
            except ValueError:
                name = None
            if name not in self._hosts:
                raise Refused(403, "Without a file of keys only this machine is served, under its own name: localhost.")


class _Bucket:
    """A limit of requests per minute that lets a minute's worth through at once."""

    def __init__(self, rate: float) -> None:
        self._per_s, self._most = rate / 60, max(1.0, rate)
        self._left, self._at = self._most, -math.inf

    def take(self, now: float) -> int:
        """Take one request; return 0, or the seconds until one is free."""
        self._left = min(self._most, self._left + (now - self._at) * self._per_s)
        self._at = now
        if self._left < 1:
            return math.ceil((1 - self._left) / self._per_s)
        self._left -= 1
        return 0


def is_local(host: str) -> bool:
    """Tell whether only this machine reaches an address to listen at."""
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


def _digest(header: str) -> str:
    scheme, _, rest = header.partition(" ")
    return hashlib.sha256((rest.strip() if scheme.lower() == "bearer" else header).encode()).hexdigest()


def _same(sent: str, known: str) -> bool:
    return hmac.compare_digest(sent, known)


def _variable(name: str) -> str:
    if name and not os.environ.get(name):
        raise PrerequisiteError(f"The file of keys takes the upstream's key from {name}, which is not set. Set it.")
    return os.environ[name] if name else ""
