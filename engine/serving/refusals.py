"""The proxy's refusals, in a form that the SDK of the called API understands."""

from collections.abc import Mapping

import msgspec

_KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "timeout_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
}
"""Anthropic's names for kinds of error; OpenAI leaves these names to the server."""


def body_of(status: int, message: str, *, anthropic: bool) -> bytes:
    """Return the JSON of an error in the form of Anthropic's API or, otherwise, of OpenAI's."""
    kind = _KINDS.get(status, "api_error")
    if anthropic:
        return msgspec.json.encode({"type": "error", "error": {"type": kind, "message": message}})
    return msgspec.json.encode({"error": {"message": message, "type": kind, "param": None, "code": None}})


def speaks_anthropic(path: str, headers: Mapping[str, str]) -> bool:
    return path.startswith("/v1/messages") or "anthropic-version" in headers
