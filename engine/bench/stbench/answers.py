"""The answer in a reply written in prose: our own reading of options, findings, points and flows.

Only the final answer is read, so that numbers of regions and roads in the reasoning do not count. Without a final
answer the first line is read, since a reply may continue the text and explain itself afterwards. None: the reply has no
such answer.
"""

import re
from collections.abc import Mapping, Sequence

from mage_es.engine.bench.stbench.upstream import LATITUDES, LONGITUDES, STEPS
from mage_es.engine.seams.extraction import plain_answer, read_answer, said, trimmed

_LISTED = re.compile(
    r"\((\d{1,2})\):?\s*(.*?)(?=[,;.]?\s*\(\d{1,2}\):?\s|[;\"\n}]|\.\s+[A-Z]\w*(?:\s+\w+){2}|$)", re.DOTALL
)
_LISTED_BARE = re.compile(r"(?<=\s)(\d)\)\s*((?:\[[^\]]*\]|[^,.;])*)")
_LISTED_LINES = re.compile(r"^[ \t]*(\d{1,2})[.)][ \t]+(\S.*)$", re.MULTILINE)
_STUB = re.compile(r"\s*Answer:[^\n]*$")
_STATED = (
    re.compile(r"\boption\s*+(?:\(\s*+)?(\d++)(?!\w|\.\d)", re.IGNORECASE),
    re.compile(r"\((\d+)\)"),
    re.compile(r"(?<![\w.,(-])(\d+)\)"),
)
"""Ways to state an option: `option (k)`, `(k)`, `k)`."""
_BRACKETED = re.compile(r"\[[^\[\]]*\]|\([^(),]*+,[^()]*+\)")
_INTEGER = re.compile(
    r"(?:\b(?P<noun>[a-z]+)\s+)?(?<![\w.,-])(?P<number>\d++)(?![\w%]|[.,]\d|\s*times\b)", re.IGNORECASE
)
_NOUNS = frozenset({"road", "region", "location", "point", "points", "node", "sequence", "step", "poi", "segment"})
_WORDS = re.compile(r"\w+")
_YES_NO = re.compile(r"\b(yes|no)\b", re.IGNORECASE)
_ANOMALY = re.compile(
    r"\b(?P<no>(?:not|no|never|isn't|without)\s+(?:an?\s+|any\s+)?)?"
    r"(?P<finding>normal|anomalous|anomaly|anomalies|abnormal)\b",
    re.IGNORECASE,
)
_VEHICLE = re.compile(r"\b(car|bike|bicycle|pedestrian)\b", re.IGNORECASE)
_VEHICLES = {"car": "1", "bike": "2", "bicycle": "2", "pedestrian": "3"}
_DECIMAL = re.compile(r"(?<![\w.])[-+]?\d++\.\d++")
_PAIR = re.compile(rf"[(\[]\s*({_DECIMAL.pattern})\s*,\s*({_DECIMAL.pattern})[^()\[\]]*+[)\]]")
_FIGURE = r"[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?"
_FLOW = re.compile(rf"(?<![\w.]){_FIGURE}(?:\s*+,\s*+{_FIGURE}){{{STEPS - 1}}}")
_LONGEST_NUMBER = 3
"""Most digits of an option number that is read."""


def stub_of(question: str) -> str:
    found = _STUB.search(question)
    return found[0].strip() if found else ""


def without_stub(question: str) -> str:
    return _STUB.sub("", question)


def listed_options(question: str) -> dict[str, str]:
    body = without_stub(question)
    start = max(body.lower().rfind(mark) for mark in ("option", "in chronological order", "following points"))
    pairs = _LISTED.findall(body[max(start, 0) :])
    if len(pairs) < 2:
        pairs = _LISTED.findall(body)
    if len(pairs) < 2:
        pairs = _LISTED_BARE.findall(body)
    if len(pairs) < 2:
        pairs = _LISTED_LINES.findall(body)
    options = {number: " ".join(text.split()).rstrip(" .,;") for number, text in pairs}
    return {number: text for number, text in options.items() if text}


def option_in(reply: str, question: str) -> str | None:
    """Read the option by its number or its text. [section 4, STBench, accuracy]"""
    options, noun = listed_options(question), _noun(question)
    found = read_answer(reply, lambda text: _option(trimmed(text), options, noun))
    return found if found is not None else _stated(_first_line(reply))


def yes_no_in(reply: str) -> str | None:
    for text in (plain_answer(reply), _first_line(reply)):
        if found := _YES_NO.findall(text):
            return str(found[-1]).title()
    return None


def anomaly_in(reply: str) -> str | None:
    """Return `normal` or `anomalous`, whichever the answer says last; a negated one counts as its opposite."""
    for text in (plain_answer(reply), _first_line(reply)):
        if found := list(_ANOMALY.finditer(text)):
            is_normal = found[-1]["finding"].lower() == "normal"
            return "normal" if is_normal != bool(found[-1]["no"]) else "anomalous"
    return None


def vehicle_in(reply: str) -> str | None:
    for text in (plain_answer(reply), _first_line(reply)):
        if found := _VEHICLE.findall(text):
            return _VEHICLES[str(found[-1]).lower()]
        if number := _stated(text) or _integer(text, ""):
            return number
    return None


def point_in(reply: str) -> tuple[float, float] | None:
    """Return (longitude, latitude): the last pair in brackets, else the last of each that lies in the region."""
    for text in (plain_answer(reply), said(reply)):
        for left, right in reversed(_PAIR.findall(text)):
            first, second = float(left), float(right)
            for longitude, latitude in ((first, second), (second, first)):
                if _is_within(longitude, LONGITUDES) and _is_within(latitude, LATITUDES):
                    return longitude, latitude
        numbers = [float(piece) for piece in _DECIMAL.findall(text)]
        east = [number for number in numbers if _is_within(number, LONGITUDES)]
        north = [number for number in numbers if _is_within(number, LATITUDES)]
        if east and north:
            return east[-1], north[-1]
    return None


def flow_in(reply: str) -> list[float] | None:
    for text in (plain_answer(reply), said(reply)):
        if found := _FLOW.search(text):
            return [float(piece) for piece in found[0].split(",")]
    return None


def _option(answer: str, options: Mapping[str, str], noun: str) -> str | None:
    if (stated := _stated(answer)) is not None:
        return stated
    equal = [number for number, text in options.items() if _plain(text) == _plain(answer)]
    if len(equal) == 1 and not answer.isdigit():
        return equal[0]
    rest = answer
    for text in sorted(options.values(), key=len, reverse=True):
        rest = re.sub(rf"(?<!\w){re.escape(text)}(?!\w)", " ", rest, flags=re.IGNORECASE)
    if (number := _integer(_BRACKETED.sub(" ", rest), noun)) is not None:
        return number
    if not options:
        return _integer(answer.replace("[", " ").replace("]", " "), noun)
    return _by_text(answer, options)


def _stated(text: str) -> str | None:
    for pattern in _STATED:
        if numbers := pattern.findall(text):
            return _number(numbers[-1])
    return None


def _integer(text: str, noun: str) -> str | None:
    """Return the last integer, leaving out counts and the numbers of things that were not asked for."""
    numbers = [
        found["number"]
        for found in _INTEGER.finditer(text)
        if (found["noun"] or "").lower() == noun or (found["noun"] or "").lower() not in _NOUNS
    ]
    return _number(numbers[-1]) if numbers else None


def _number(digits: str) -> str | None:
    plain = digits.lstrip("0") or "0"
    return plain if plain.isascii() and len(plain) <= _LONGEST_NUMBER else None


def _by_text(answer: str, options: Mapping[str, str]) -> str | None:
    """Return the only option whose text occurs in an answer; a match inside another one does not count."""
    given, bare = f" {_plain(answer)} ", "".join(answer.split())
    texts = {number: "".join(text.split()) if text[0] == "[" else _plain(text) for number, text in options.items()}
    found = [number for number, text in texts.items() if (text in bare if text[:1] == "[" else f" {text} " in given)]
    kept = [one for one in found if not any(one != other and texts[one] in texts[other] for other in found)]
    return kept[0] if len(kept) == 1 else None


def _plain(text: str) -> str:
    return " ".join(_WORDS.findall(text.lower()))


def _noun(question: str) -> str:
    """Return the last word of the answer stub, which names what to count (`... falls in Region `)."""
    words: Sequence[str] = _WORDS.findall(stub_of(question).lower())
    return words[-1] if words else ""


def _first_line(reply: str) -> str:
    return next((line for line in said(reply).splitlines() if line.strip()), "")


def _is_within(number: float, bounds: tuple[float, float]) -> bool:
    return bounds[0] <= number <= bounds[1]
