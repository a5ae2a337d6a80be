"""What the official clients of providers have in common: a key from the environment, and one tree of errors.

The clients of OpenAI and Anthropic come from the same generator. Here their errors become faults, and their replies,
which the clients do not validate, are read into types.
"""

import json
import os
import re
from codecs import BOM_UTF8
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from ssl import SSLContext
from types import ModuleType
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

import msgspec

from mage_es.engine.seams.extraction import without_reasoning
from mage_es.engine.seams.faults import Fault, ModelFault, fault_of_status, shortened, without_halves
from mage_es.engine.seams.model import MOST_TOKENS, Request
from mage_es.engine.seams.spec import ModelSpec
from mage_es.engine.seams.tokens import estimated_tokens
from mage_es.events.errors import HIDDEN, PrerequisiteError, hidden

TIMEOUT = 600.0
"""Seconds for one whole reply of a model."""
Tokens = Annotated[int, msgspec.Meta(ge=0, le=MOST_TOKENS)]
"""The most tokens that a provider may report for a call."""
MOST_BYTES = 2**26
"""Most bytes of a whole response: many times those of the longest reply, or of a batch of vectors."""
Form = TypeVar("Form")
_LEAST_KEY = 8
OPENAI = "OPENAI_API_KEY", "https://api.openai.com/v1"
"""OpenAI's variable for the key, and its address; other servers speak its protocol."""
SYSTEMS = ("apart", "joined")
"""Where the system message goes: the values of the option `system`."""


def key_of(spec: ModelSpec, variable: str, *, needed: bool) -> str:
    """Return the key in the environment without surrounding blanks, "" if none is needed. Raises `PrerequisiteError` if
    it is missing, or cannot be sent, since a client's own error would show the key."""
    variable = spec.options.get("key_env", variable)
    key = os.environ.get(variable, "").strip()
    if not key and (needed or "key_env" in spec.options):
        raise PrerequisiteError(f"{spec.text} needs a key: export {variable}=...")
    if not (key.isascii() and key.isprintable()):
        raise PrerequisiteError(
            f"The key in {variable} cannot be sent: it holds a line break, or a character that no key contains. "
            f"Copy it again: export {variable}=..."
        )
    return key


def require_package(spec: ModelSpec, package: str) -> None:
    """Raise `PrerequisiteError` if a provider's package is missing, without taking the seconds to import it; the extra
    that installs it has the provider's name."""
    try:
        is_there = find_spec(package) is not None
    except (ImportError, ValueError):  # it was removed from the table of modules
        is_there = False
    if not is_there:
        raise PrerequisiteError(
            f"{spec.text} needs the package {package}: python -m pip install 'mage-es[{spec.provider}]'"
        )


def worded(request: Request, *, is_enforced: bool) -> Request:
    """Return a request that describes the form of its reply in words, if the provider does not enforce the schema."""
    form = "" if is_enforced else in_words(request.reply_schema)
    return msgspec.structs.replace(request, prompt=f"{request.prompt}\n\n{form}") if form else request


def text_and_thinking(said: str, aside: str, *, output_tokens: int, reported: int | None) -> tuple[str, int]:
    """Return a reply's text without its thinking, and the tokens of the thinking: as reported, or else by its share of
    characters; never more than `output_tokens`, which include them. `aside` is thinking that the provider keeps
    separate from the text."""
    text = without_reasoning(said)
    text = text if text == said else text.lstrip()
    hidden = len(aside) + len(said) - len(text)
    tokens = reported or (round(output_tokens * hidden / (hidden + len(text))) if hidden else 0)
    return text, min(tokens, output_tokens)


def budget_of(thinking: int, request: Request) -> int:
    """Return the thinking tokens, from the budget in a spec: a quarter of the limit is left for the answer."""
    return min(thinking, request.max_tokens * 3 // 4)


def template_of(thinking: str | int, request: Request) -> dict[str, Any]:
    """Return the arguments of a chat template that say whether to think, and the budget under its name in Qwen's
    templates."""
    if isinstance(thinking, int):
        return {"enable_thinking": True, "thinking_budget": budget_of(thinking, request)}
    return {} if thinking == "auto" else {"enable_thinking": thinking == "on"}


def _trusted() -> SSLContext:
    """Return which certificates are trusted. Reading them takes most of the time of opening a client."""
    return _trusted_by(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@lru_cache(maxsize=1)
def _trusted_by(file: str | None, folder: str | None) -> SSLContext:
    import httpx2

    return httpx2.create_ssl_context()  # which reads these two variables


def client_of(named: str, name: str, *, url: str, key: str, timeout: float, silence: float) -> Any:
    """Return a provider's client for the model `name`; `named` is its class, such as openai.AsyncOpenAI. It makes a
    single attempt, keeps idle connections and does not limit their number: `RetryingClient` limits the calls in flight.

    Raises `PrerequisiteError` if a proxy or certificate variable is unusable; its message shows no address, which may
    contain a password.
    """
    import httpx2

    package, _, kind = named.partition(".")
    library = import_module(package)
    http = library.DefaultAsyncHttpxClient if kind.startswith("Async") else library.DefaultHttpxClient
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=60.0)
    try:
        connections = http_client(http, limits=limits)
    except (ImportError, OSError, ValueError, httpx2.InvalidURL) as error:
        why = shortened(str(error)) if isinstance(error, ImportError | OSError) else "an address is none"
        raise PrerequisiteError(
            f"{name} cannot be called with the network settings of the environment: {why}. Correct or unset "
            "HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE."
        ) from None
    return getattr(library, kind)(
        api_key=key or "none",
        base_url=url,
        max_retries=0,
        timeout=httpx2.Timeout(timeout, connect=min(10.0, timeout), read=silence),
        http_client=connections,
    )


def http_client(kind: type[Form], **options: Any) -> Form:
    """Return an HTTP client for a provider, of the synchronous or the asynchronous `kind`.

    It follows no redirect, which could take prompts and key to another host, or from TLS to plain text; and it reads no
    reply of more than `MOST_BYTES`. Replies are requested uncompressed, so that the bytes counted are those held in
    memory.
    """
    import httpx2

    class Bounded(httpx2.SyncByteStream, httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream, self._left = stream, MOST_BYTES

        def __iter__(self) -> Iterator[bytes]:
            return map(self._counted, self._stream)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in self._stream:
                yield self._counted(piece)

        def _counted(self, piece: bytes) -> bytes:
            if self._left == MOST_BYTES:  # a byte order mark would take a stream's first event with it
                piece = piece.removeprefix(BOM_UTF8)
            self._left -= len(piece)
            if self._left < 0:
                raise ModelFault(Fault("malformed", f"the reply has more than {MOST_BYTES} bytes"))
            return piece

        def close(self) -> None:
            self._stream.close()

        async def aclose(self) -> None:
            await self._stream.aclose()

    def checked(response: Any) -> None:
        if response.has_redirect_location:
            said = shortened(response.headers["location"].partition("?")[0])
            problem = f"the server redirects to {said}, which is not followed: if that is right, give it as base_url"
            raise ModelFault(Fault("missing", problem, response.status_code))
        if not response.is_error and is_page(response):
            raise ModelFault(Fault("malformed", PAGE, response.status_code))
        if (coding := response.headers.get("content-encoding", "identity")) != "identity":
            raise ModelFault(Fault("malformed", shortened(f"the reply is compressed, unasked ({coding})")))
        response.encoding = "utf-8"  # the header may name something that is not a text encoding, such as `hex`
        response.stream = Bounded(response.stream)

    async def checked_later(response: Any) -> None:
        checked(response)

    hook = checked_later if issubclass(kind, httpx2.AsyncClient) else checked
    made: Any = kind
    plain = {"accept-encoding": "identity"}
    client: Form = made(
        follow_redirects=False, headers=plain, event_hooks={"response": [hook]}, verify=_trusted(), **options
    )
    return client


@contextmanager
def as_faults(client: ModuleType, *, url: str, key: str, silence: float, option: str = "timeout") -> Iterator[None]:
    """Turn every error that a client raises in the block into a `ModelFault` that does not contain the key.

    `client` is the module whose errors these are (`openai` or `anthropic`), `silence` the longest wait for a piece of
    the reply, in seconds, which the `option` of a spec sets.
    """
    import httpx2

    raised: Any = client
    try:
        yield
    except raised.APITimeoutError as error:
        if isinstance(error.__cause__, httpx2.ConnectTimeout):
            raise ModelFault(Fault("connection", _safe(unconnected(url), key))) from None
        raise ModelFault(too_slow(f"nothing more within {silence:g} s", option)) from None
    except raised.APIStatusError as error:
        after, date = (error.response.headers.get(name) for name in ("retry-after", "date"))
        words = _safe(_words(error), key)
        raise ModelFault(fault_of_status(error.status_code, words, retry_after=after, date=date)) from None
    except raised.APIConnectionError as error:
        if isinstance(error.__cause__, ModelFault):  # of `http_client`
            fault = error.__cause__.fault
            raise ModelFault(fault._replace(message=_safe(fault.message, key))) from None
        words = f"{url}{_by_proxy(url)}: {error.__cause__ or error}"
        raise ModelFault(Fault("connection", _safe(words, key))) from None
    # Clients wrap what goes wrong before a reply begins, but not what breaks a reply off.
    except httpx2.TimeoutException:
        raise ModelFault(too_slow(f"nothing more within {silence:g} s", option)) from None
    except httpx2.TransportError as error:
        raise ModelFault(Fault("connection", _safe(f"{url}: {error}", key))) from None
    except (raised.APIError, ValueError, RecursionError) as error:  # the last one: JSON that is nested too deeply
        raise ModelFault(Fault("malformed", _safe(str(error), key))) from None


def too_slow(problem: str, option: str) -> Fault:
    """Return the fault of a reply that did not come in time; the `option` of a spec, "" for none, waits longer."""
    return Fault("timeout", f"{problem} ({option}=SECONDS in its spec waits longer)" if option else problem)


def read_as(form: type[Form], reply: object, *, what: str, part: str = "") -> Form:
    """Return a reply, or a `part` of it, read as `form`; `what` says what it should be. Raises `ModelFault` for any
    other shape."""
    try:
        return msgspec.convert(reply, form, from_attributes=True)
    except msgspec.ValidationError as error:
        whose = f"the {part} of the reply" if part else "the reply"
        raise ModelFault(Fault("malformed", f"{whose} is not a {what}: {error}")) from None


def unconnected(url: str) -> str:
    """Return what to check if no connection was made in time, as happens if a port without TLS is addressed with
    TLS."""
    secure = ", and whether TLS is spoken there (if not, it is http://)" if url.startswith("https:") else ""
    return f"no connection to {url}{_by_proxy(url)} in time: check host and port{secure}"


PAGE = "the server answers with a web page, such as a proxy's login, and not as an API does"


def is_page(response: Any) -> bool:
    return "html" in response.headers.get("content-type", "")


def _safe(words: str, key: str) -> str:
    return shortened(without_key(words, key))


def _by_proxy(url: str) -> str:
    """Return which proxy is used, by the variable that sets it: a forgotten proxy is a common cause of trouble with a
    server on a local network."""
    address, proxies = urlsplit(url), getproxies_environment()
    host, used = address.hostname or "", next((name for name in (address.scheme, "all") if proxies.get(name)), "")
    if not used or proxy_bypass(host):
        return ""
    return f" (through {used.upper()}_PROXY; NO_PROXY={host} goes without)"


def _words(error: Any) -> str:
    """Return what a provider says in the body of an error, or else the client's own words."""
    said = error.body
    if is_page(error.response):
        return PAGE
    for name in ("error", "message", "detail"):
        said = said[name] if isinstance(said, dict) and name in said else said
    return said if isinstance(said, str) and said.strip() else str(error.message)


_CONTEXT = re.compile(r"context (?:length|window|size|limit)\D{0,40}(\d{3,7})")
_LEAST = 4
"""The share of a reply's limit that must be left: with less, replies would be cut more often than not."""


def fitting(request: Request, context: int) -> int:
    """Return the most tokens that a reply may have besides its prompt within `context` tokens (0: no limit). Raises a
    `ModelFault` of kind `too_long` if that is less than a quarter of what was asked for."""
    if not context:
        return request.max_tokens
    given = estimated_tokens(request.text)
    room = min(request.max_tokens, context - given)
    if room < request.max_tokens // _LEAST:
        problem = (
            f"an estimated {given} tokens and a reply of up to {request.max_tokens} do not fit the {context} allowed"
        )
        raise ModelFault(Fault("too_long", problem))
    return room


def told_context(refusal: str) -> int:
    """Return the context that a provider names when it refuses a request as too long, 0 if it names none."""
    found = _CONTEXT.search(refusal)
    return int(found[1]) if found else 0


def without_key(text: str, key: str) -> str:
    """Return a provider's text without the key, the environment's secrets (in case it repeats them) and lone
    surrogates.

    A key of fewer than eight letters is a dummy for a server that needs none, and might be a word. Lone surrogates come
    from JSON escapes or a cut reply; they cannot be encoded as UTF-8 and become U+FFFD.

    [beyond the paper, terminals and keys] Nothing is recorded before the key is removed.
    """
    return without_halves(hidden(text.replace(key, HIDDEN) if len(key) >= _LEAST_KEY else text))


def other_name(name: object, asked: str, key: str) -> str:
    """Return the provider's name for the model that replied, "" if it gives none or the one asked for."""
    named = shortened(without_key(name, key)) if isinstance(name, str) else ""
    return "" if named == asked else named


def in_words(schema: str) -> str:
    """Return a schema as a line for a model whose provider does not enforce it, "" for none."""
    if not schema:
        return ""
    whole = msgspec.json.decode(schema)
    return f"The JSON object has this form: {_form_of(whole, whole.get('$defs', {}))}"


def _form_of(schema: dict[str, Any], known: dict[str, Any]) -> str:
    match schema:
        case {"$ref": str(place)}:
            return _form_of(known[place.rpartition("/")[2]], known)
        case {"anyOf": list(choices)}:
            return " or ".join(_form_of(each, known) for each in choices)
        case {"enum": list(values)}:
            return " or ".join(json.dumps(value) for value in values)
        case {"properties": dict(fields)}:
            return "{" + ", ".join(f'"{name}": {_form_of(field, known)}' for name, field in fields.items()) + "}"
        case {"items": dict(item)}:
            return f"[{_form_of(item, known)}, ...]"
    return str(schema.get("type", "any value"))
