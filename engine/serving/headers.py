"""Headers: which of the client's are sent to the upstream, which of the reply's come back, and our own."""

from collections.abc import Mapping

from mage_es.engine.served.tenants import CREDENTIALS
from mage_es.engine.serving.door import Guest

Headers = list[tuple[bytes, bytes]]
_HOPS = {
    *(b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te"),
    *(b"trailer", b"transfer-encoding", b"upgrade"),
}
"""Headers that concern a single connection."""
_OURS = {*_HOPS, b"host", b"content-length", b"expect", b"x-session-id"}


def _named(headers: Headers) -> set[bytes]:
    """Return the headers that the Connection header names."""
    lists = (value for name, value in headers if name.lower() == b"connection")
    return {token.strip().lower() for value in lists for token in value.split(b",")}


def passed_on(headers: Headers, guest: Guest) -> Headers:
    """Return the headers for the upstream, with its own key in place of the client's if there are keys."""
    left_out = _OURS | _named(headers)
    kept = [(name, value) for name, value in headers if name not in left_out and not name.startswith(b"x-mage-")]
    if guest.upstream_key is None:
        return kept
    kept = [(name, value) for name, value in kept if name.decode("latin-1") not in CREDENTIALS]
    if not guest.upstream_key:
        return kept
    value = f"Bearer {guest.upstream_key}" if guest.credential == "authorization" else guest.upstream_key
    return [*kept, (guest.credential.encode(), value.encode())]


def replaced(headers: Headers, name: bytes, value: bytes) -> Headers:
    """Return the headers with this one in place of all of the same name."""
    return [*((other, said) for other, said in headers if other != name), (name, value)]


def passed_back(headers: Headers) -> Headers:
    left_out = _HOPS | _named(headers)
    lowered = ((name.lower(), value) for name, value in headers)
    return [(name, value) for name, value in lowered if name not in left_out and not name.startswith(b"x-mage-")]


def memory_headers(values: Mapping[str, str]) -> Headers:
    """Return the headers that say what was put into a request."""
    return [(f"x-mage-{name}".encode(), value.encode()) for name, value in values.items()]
