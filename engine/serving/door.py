"""The door of a proxy: who sent a request, and what they may ask of the upstream.

Rules
    - At the upstream, a key reaches only what the file of keys allows: with the upstream's own key, anyone could delete
      files there, or read other people's.
    - Without a file, only clients on this machine are accepted, and only if they call it by its own names: a page in a
      browser that reaches a local port by another name, or from another origin, is refused.
"""

import json
import math
import os
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

import msgspec

from mage_es.engine.served.tenants import CREDENTIALS, KeyRing, Refused, digest_of, is_same, keys_in
from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary.serving import Trust

_LOCAL = ("localhost", "127.0.0.1", "::1")


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
    rate: float = 0.0
    """How many requests per minute it may send; 0 for any number."""

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
    """Admits requests. Without keys they all reach `run`, with this `trust`. `hosts` are further names of this
    machine."""

    def __init__(self, keys: KeyRing | None, run: str, *, hosts: Sequence[str] = (), trust: Trust = "full") -> None:
        self._keys, self._run, self._trust = keys, run, trust
        self._hosts = {*_LOCAL, *hosts}
        self._buckets = dict[tuple[str, float], _Bucket]()
        self._upstream_keys = {key.name: _variable(key.upstream_key_env) for key in keys.keys} if keys else {}

    def change(self, keys: KeyRing) -> list[str]:
        """Accept these keys from now on; return the names of those not accepted because this process lacks their
        upstream key."""
        lacking = [key for key in keys.keys if key.upstream_key_env and not os.environ.get(key.upstream_key_env)]
        kept = tuple(key for key in keys.keys if key not in lacking)
        self._upstream_keys = {key.name: _variable(key.upstream_key_env) for key in kept}
        self._keys = msgspec.structs.replace(keys, keys=kept)
        return [key.name for key in lacking]

    def admit(self, headers: Mapping[str, str]) -> Guest:
        """Return who sent a request. Raises `Refused` (401, 403)."""
        if self._keys is None:
            self._require_local(headers)
            return Guest(run=self._run, trust=self._trust, curates=True)
        matches = keys_in(self._keys, headers)
        sent = [headers[name] for name in CREDENTIALS if name in headers]
        operators = [each for each in sent if is_same(digest_of(each), self._keys.operator_sha256)]
        if matches:
            key, credential = matches[0]
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
                rate=key.rate,
            )
        if operators:
            return Guest(is_operator=True)
        what = "This key is not known here" if sent else "There is no key in the request"
        raise Refused(401, f"{what}: send one of this server's keys, where the API expects its own.")

    def require_rate(self, guest: Guest, *, now: float) -> None:
        """Count a request that arrived at `now`, in seconds. Raises `Refused` (429) if it is one too many."""
        if guest.rate:
            # By its rate too, so that a key keeps its bucket when the file is read again, unless its rate changed.
            bucket = self._buckets.setdefault((guest.name, guest.rate), _Bucket(guest.rate))
            if wait := bucket.take(now):
                raise Refused(429, f"This key may send {guest.rate:g} requests per minute.", retry_after=wait)

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


def _variable(name: str) -> str:
    if name and not os.environ.get(name):
        raise PrerequisiteError(f"The file of keys takes the upstream's key from {name}, which is not set. Set it.")
    return os.environ[name] if name else ""
