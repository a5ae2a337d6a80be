"""Typed replies: the JSON value in what a model wrote, however wrapped, as the requested type.

Rules
    - Thinking is never part of a reply, even if its block was not closed.
    - If several values fit, the last one counts, as with answers: a model may draft before it decides. A value that has
      none of a form's fields does not fit it.
    - A reply that the model itself ended is repaired: quotes, commas, Python's literals, brackets missing at the very
      end. A truncated reply is not, because half a list would pass for all of it: only its complete values count.
    - A tool call, in the form of any model family, is read as its arguments.
"""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, TypeVar

import json_repair
import msgspec
from msgspec import inspect

from mage_es.engine.seams.extraction import without_reasoning
from mage_es.engine.seams.model import is_cut

Reply = TypeVar("Reply")

_BEGINS = re.compile(r"""\{(?=\s*(?:["'“}]|[A-Za-z_]\w*\s*:))|\[(?=\s*["'“{])""")
"""Where a JSON value may begin, as opposed to a brace or bracket in prose or TeX."""
_WRAPPED = ("```", "</")
_DELIMITED = re.compile(r"""\s*(?:[:\]}`<]|/[/*]|\Z|,\s*(?:["'“{}\[\]\d/-]|\Z|(?i:true|false|null|none)\b|\w+\s*:))""")
"""What follows the end of a quoted text, and rarely a quotation mark inside one."""
_MARK = re.compile(r'(?<!\\)"')
_PARAMETER, _PARAMETER_ENDS = re.compile(r"""<parameter(?:\s+name)?=["']?([\w.-]+)["']?>"""), "</parameter>"
"""The tags around a parameter in Claude's `<invoke>` and Qwen's `<function=...>`."""
_PAYLOADS = ("arguments", "parameters", "input", "function", "tool_calls")
"""The names under which a tool call has its arguments: OpenAI, Qwen and Mistral; Llama; Claude."""
_MOST_REPAIRS, _LONGEST_REPAIR = 8, 30_000
"""The most values of a reply that are repaired, and their total characters; anything after that must be JSON."""
_MOST_BROKEN, _LONGEST = 200, 100_000
"""How many false starts a reply may have before it counts as holding no value, and how many characters of its end are
read."""
_DECODER = json.JSONDecoder(strict=False)


def schema_of(form: type[Any]) -> str:
    """Return the JSON schema of a reply, with every field required: a model that may omit a field does."""
    schema = msgspec.json.schema(form)
    for each in schema["$defs"].values():
        each["required"] = list(each["properties"])
        for field in each["properties"].values():
            field.pop("default", None)
    return msgspec.json.encode(schema).decode()


def read_reply(text: str, form: type[Reply], *, stop_reason: str = "end") -> tuple[Reply | None, str]:
    """Return a reply's content as `form`, a struct, or None and the problem."""
    problem = "the reply holds no JSON object"
    depth = -1
    fields = inspect.type_info(form)
    names = [field.encode_name for field in msgspec.structs.fields(form)]  # type: ignore[arg-type]
    try:
        for value in objects_in(text, is_cut=is_cut(stop_reason)):
            try:
                found = msgspec.convert(_lenient(value, fields), form, strict=False)
                if isinstance(value, dict) and not any(name in value for name in names):
                    # Where nothing is required any object would fit, an envelope or a `{}` of prose too.
                    raise msgspec.ValidationError(f"Object has none of the fields {', '.join(names)}")
                return found, ""
            except msgspec.ValidationError as error:
                # The problem of the value that got furthest: an envelope's only says that it is not what it wraps.
                place = len(str(error).partition("`$")[2])
                problem, depth = (str(error), place) if place > depth else (problem, depth)
    except RecursionError:
        problem = "the reply is nested too deep"
    return None, problem if stop_reason == "end" else f"{problem} (the reply stopped because of: {stop_reason})"


def objects_in(text: str, *, is_cut: bool = False) -> Iterator[Any]:
    """Yield the JSON objects and lists of a reply, the last one first, each before what it wraps."""
    text = without_reasoning(text).strip()[-_LONGEST:]
    found = list(_values(text, is_cut=is_cut))
    if parameters := dict(_parameters(text)):
        found.append(parameters)
    for value in reversed(found):
        yield from _unwrapped(value)


def _parameters(text: str) -> Iterator[tuple[str, Any]]:
    for piece in text.split(_PARAMETER_ENDS)[:-1]:
        if begins := _PARAMETER.search(piece):
            yield begins[1], _decoded(piece[begins.end() :].strip())


def _values(text: str, *, is_cut: bool) -> Iterator[Any]:
    at, broken, room = 0, 0, _LONGEST_REPAIR
    while broken < _MOST_BROKEN and (begins := _BEGINS.search(text, at)):
        try:
            value, at = _DECODER.raw_decode(text, begins.start())
        except ValueError:
            value, at, broken = None, begins.end(), broken + 1
            if broken <= _MOST_REPAIRS:
                found = _Value(text, begins.start())
                room -= len(found.text)
                value = None if room < 0 or (is_cut and found.is_open) else _repaired(found.text)
                at = at if value is None else found.end
        if value is not None:
            yield value


class _Value:
    """A value that is not JSON yet: `text` in JSON's quotation marks, "" if it ends within a text or before an item;
    where it ends in the reply; and whether its closing brackets are missing (`is_open`)."""

    def __init__(self, reply: str, start: int) -> None:
        pieces, depth, last, at = list[str](), 0, "", start
        self.is_open = True
        while at < len(reply) and self.is_open:
            letter = reply[at]
            if letter == '"' or (letter == "'" and last in "{[,:"):
                end = _end_of_text(reply, at, letter)
                if end < 0:
                    self.text, self.end = "", len(reply)
                    return
                pieces.append(_requoted(reply[at + 1 : end]))
                at = end
            elif reply.startswith(_WRAPPED, at):
                break
            else:
                depth += (letter in "{[") - (letter in "}]")
                pieces.append(letter)
                self.is_open = depth > 0
            last = last if letter.isspace() else letter
            at += 1
        self.text, self.end = "" if self.is_open and last in ",:[{" else "".join(pieces), at


def _end_of_text(reply: str, start: int, quote: str) -> int:
    """Return where a quoted text ends, or -1: at a quotation mark before a delimiter, since models forget to escape."""
    at = start + 1
    while at < len(reply):
        if reply[at] == "\\":
            at += 1
        elif reply[at] == quote and _DELIMITED.match(reply, at + 1):
            return at
        at += 1
    return -1


def _requoted(text: str) -> str:
    return '"' + _MARK.sub('\\"', text.replace("\\'", "'")) + '"'


def _repaired(text: str) -> Any:
    try:
        value = json_repair.loads(text) if text else None
    except Exception:  # a library that guesses at whatever a model wrote: what it fails at is recorded as unreadable
        return None
    # What only looked like an object (`{"a"}` in prose) is repaired to a list.
    return value if isinstance(value, dict if text.startswith("{") else list) else None


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _unwrapped(value: Any) -> Iterator[Any]:
    yield value
    inner = value[-1:] if isinstance(value, list) else []
    if isinstance(value, dict):
        inner = [value[name] for name in _PAYLOADS if name in value] or (
            list(value.values()) if len(value) == 1 else []
        )
    for each in inner:
        each = _decoded(each) if isinstance(each, str) else each
        if isinstance(each, dict | list):
            yield from _unwrapped(each)


def _lenient(value: Any, form: inspect.Type) -> Any:
    """Return a value as msgspec can convert it: numbers and objects as text where text is expected."""
    match form:
        case inspect.StructType(fields=fields):
            wanted = [field for field in fields if field.required]
            if isinstance(value, list) and len(wanted) == 1 and isinstance(wanted[0].type, inspect.VarTupleType):
                value = {wanted[0].encode_name: value}
            if not isinstance(value, dict):
                return value
            types = {field.encode_name: field.type for field in fields}
            return {name: _of_field(each, types[name]) for name, each in value.items() if name in types}
        case inspect.VarTupleType(item_type=item):
            return [_lenient(each, item) for each in value] if isinstance(value, list) else value
        case inspect.StrType() if isinstance(value, str):
            # In a JSON text TeX's \frac and \beta begin with escapes of characters that never occur in prose.
            return encodable(value.replace("\f", "\\f").replace("\b", "\\b"))
        case inspect.StrType() if isinstance(value, int | float):
            return json.dumps(value)
        case inspect.FloatType() if not math.isfinite(_number(value)):
            return repr(value)
        case inspect.UnionType(types=types) if value is not None:
            return _lenient(value, next(each for each in types if not isinstance(each, inspect.NoneType)))
    return value


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def encodable(text: str) -> str:
    """Return a text without lone surrogates, which JSON can escape but no log can hold."""
    return text.encode("utf-8", "replace").decode()


def _of_field(value: Any, form: inspect.Type) -> Any:
    match form:
        case inspect.StrType() if isinstance(value, dict | list):
            return json.dumps(value, ensure_ascii=False)
        case inspect.StrType() | inspect.VarTupleType() if value is None:
            return "" if isinstance(form, inspect.StrType) else ()
    return _lenient(value, form)
