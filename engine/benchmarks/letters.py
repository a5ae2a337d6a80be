"""Which of several lettered options a reply chooses: by letter, by text, or by the most words in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import NamedTuple

from mage_es.engine.benchmarks.answers import overlap
from mage_es.engine.seams.answer_form import answer_in_form, without_leading_reasoning
from mage_es.engine.seams.extraction import read_answer, trimmed

LETTERS = "ABCDE"
LETTER_FORMAT = 'Finish with a line such as "Answer: [<Z>]", with the letter of one option.'
"""The example in it is not the letter of any option, so a reply that copies it chooses none."""
_MARK = "\nAnswer: "
_WRAPPED = (
    r"\(\s*([{0}])\s*\)|\[\s*([{0}])\s*\]|\{{\s*([{0}])\s*\}}|\*\*\s*([{0}])\s*\*\*"
    r"|\\(?:boxed|text)\{{\s*(?:\\text\{{\s*)?([{0}])\s*\}}"
)
_BARE = r"([{0}])(?![\w'’])"
_NO_ARTICLE = r"(?!A(?!\s*(?:$|[.):,;*–—-]|(?:or|and|since|because|as)\b)))"
"""A bare A counts only at the end or before a sign or a conjunction (elsewhere it may be the article)."""
_BETWEEN = r"\s*(?:,|/|&|\bor\b|\band\b)+\s*"
"""The separators between letters in a reply that names several."""
_SHORT = 4
_CLEAR, _AHEAD = 0.6, 0.2
"""The least F1 of common words with which a text names an option, and its least lead over the next option."""


def labelled(text: str, letters: str) -> str:
    """Return the letter that the Medprompt parser reads, "" if none or several. [section 4, MedQA, the metric]

    It looks for `[X]` after the first line that begins with "Answer: ", or everywhere if there is no such line.
    """
    _, _, behind = text.partition(_MARK)
    shown = behind if _MARK in text else text
    found = [letter for letter in letters if f"[{letter}]" in shown]
    return found[0] if len(found) == 1 else ""


def chosen(reply: str, options: Mapping[str, str]) -> str:
    """Return the letter of the option that a reply chooses, "" if it chooses none or several. Never raises.

    [section 4, MedQA, the metric] There is no official parser; strict is Medprompt's. The last mark that names options
    decides: by letter, by text, or by the most words in common. A bare A before a word is an article. A letter is also
    marked by a phrase (`(B) is the best answer`, `The most likely diagnosis is B.`, `I choose B`, `Diagnosis: B`).
    """
    patterns = _patterns("".join(options))

    def verdicts(text: str) -> Iterator[tuple[int, str]]:
        for pattern in (patterns.called_right, patterns.called):
            yield from ((found.start(), f"({_letter(found)})") for found in pattern.finditer(text))

    found = read_answer(reply, partial(_chosen_in, options=options, patterns=patterns), verdicts)
    return found or ""


def chosen_in_form(reply: str, options: Mapping[str, str]) -> str:
    """Return the only letter in brackets, or else the one that the answer in the required form names by letter or text,
    or ""."""
    letters = "".join(options)
    named = labelled(without_leading_reasoning(reply), letters)
    return named or _named_in(answer_in_form(reply), options, _patterns_in_form(letters), _occurring) or ""


def _chosen_in(text: str, options: Mapping[str, str], patterns: _Patterns) -> str | None:
    return _named_in(trimmed(text), options, patterns, contained)


def _named_in(
    span: str, options: Mapping[str, str], patterns: _Patterns, by_text: Callable[[str, Mapping[str, str]], str | None]
) -> str | None:
    """Return the letter that the text of an answer names, "" for several, None for none."""
    same = [letter for letter, text in options.items() if len(text) > 1 and _folded(text) == _folded(span)]
    if len(same) == 1:
        return same[0]
    if patterns.several.match(span):
        return ""
    if listed := patterns.listed.match(span):
        named = {_letter(match) for match in patterns.letter.finditer(listed[0])}
        return named.pop() if len(named) == 1 else ""
    if said := {_letter(match) for match in patterns.said.finditer(span)}:
        return said.pop() if len(said) == 1 else ""
    return by_text(span, options)


class _Patterns(NamedTuple):
    letter: re.Pattern[str]
    listed: re.Pattern[str]
    said: re.Pattern[str]
    several: re.Pattern[str]
    called_right: re.Pattern[str]
    """An option, followed by words that call it right."""
    called: re.Pattern[str]
    """An option, preceded by words that call it right, chosen or labelled."""


@cache
def _patterns(letters: str) -> _Patterns:
    wrapped, bare = _WRAPPED.format(letters), _BARE.format(letters)
    letter = f"(?:{wrapped}|{_NO_ARTICLE}{bare})"
    named = rf"(?i:\b(?:option|choice|answer|statement)\s+)(?:{wrapped}|{bare})"
    front = r"(?i:(?:either|both|options?|choices?|answers?|letter)\s+)?\**"
    right = (
        r"\**\.?\s+(?i:is|would\s+be|must\s+be)\s+(?i:therefore\s+|thus\s+)?(?i:the\s+)?(?i:only\s+|single\s+|most\s+)?"
        r"(?i:correct|right|best|appropriate|likely|accurate|answer)\b"
    )
    best = (
        r"(?i:\b(?:(?:most|more)\s+\w+|best|correct|right|likeliest|next|initial|first|final|preferred|definitive|ideal"
        r"|proper|appropriate)\b"
        r"[^.;:?!\n()\[\]]{0,160}?[ ](?:is|are|was|(?:would|should|must|will)[ ](?:then[ ]|therefore[ ])?be)"
        r"(?:[ ](?:thus|therefore|then|likely|most[ ]likely|simply|clearly|indeed"
        r"|to[ ](?:choose|select)|given[ ](?:by|as)))*:?[ ])"
    )
    choosing = (
        r"(?i:\b(?:I|we|one)(?:['’](?:d|ll)|[ ](?:would|will|should|must|can|have|therefore|thus|then|to|also))*"
        r"[ ](?:choose|chose|select|pick|go[ ]with|opt[ ]for|conclude|settle[ ]on|favou?r)[ ](?:that[ ])?)"
    )
    labelled_so = (
        r"(?im:^[ \t>#*_\-]*(?:[a-z]+[ ]){0,4}(?:diagnosis|choice|option|selection|letter|pick|decision|conclusion"
        r"|management|treatment|therapy|step|test|cause|mechanism|drug|agent|finding|explanation)"
        r"[*_]*[ \t]*:[ \t*_]*)"
    )
    # "is B or C" leaves it open.
    open_ = rf"(?!\s*(?:,|/|&|\bor\b|\band\b)[ ]*(?i:option[ ])?(?:\(|\[|\b[{letters}]\b))"
    option = r"(?i:(?:the[ ])?(?:option|choice|letter|answer)[ ])?"
    whole = rf"\$?(?:(?:{wrapped}){open_}|{bare}(?=\s*(?:[.:,;)*$]|\n|$|[-–—][ ]|(?i:because|since|as|which)\b)))"
    return _Patterns(
        letter=re.compile(letter),
        listed=re.compile(rf"{front}{letter}(?:{_BETWEEN}(?:{front})?{letter})*"),
        said=re.compile(rf"{named}|{wrapped}"),
        several=re.compile(rf"[{letters}]{{2,}}(?!\w)"),
        called_right=re.compile(rf"(?:{named}|{wrapped}|(?<!\w){_BARE.format(letters)}){right}"),
        called=re.compile(rf"(?:{best}|{choosing}|{labelled_so})\**{option}\**{whole}"),
    )


@cache
def _patterns_in_form(letters: str) -> _Patterns:
    """Return the text that names an option in the required form: a bare A counts only at the end or before . ) :"""
    wrapped, bare, never = _WRAPPED.format(letters), _BARE.format(letters), re.compile(r"(?!)")
    letter = rf"(?:{wrapped}|(?!A(?!\s*(?:$|[.):]))){bare})"
    said = rf"\b(?:(?i:answer\s+is)\s*(?::\s*)?{letter}|(?i:option)\s+(?:{wrapped}|{bare}))"
    return _Patterns(
        re.compile(letter), re.compile(rf"{letter}(?:{_BETWEEN}{letter})*"), re.compile(said), never, never, never
    )


def _letter(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group)


def contained(span: str, options: Mapping[str, str]) -> str | None:
    """Return the only option whose text occurs in the span, or else the one with most words in common.

    "" if several occur, None if none does and none is ahead of the others.
    """
    if (found := _occurring(span, options)) is not None or len(_folded(span)) < _SHORT:
        return found
    shares = sorted(((overlap(span, text).f1, letter) for letter, text in options.items()), reverse=True)
    is_clear = len(shares) > 1 and shares[0][0] >= _CLEAR and shares[0][0] - shares[1][0] >= _AHEAD
    return shares[0][1] if is_clear else None


def _occurring(span: str, options: Mapping[str, str]) -> str | None:
    """Return the only option whose text occurs, "" for several, None for none; a longer one hides a shorter one inside
    it."""
    rest, found = _folded(span), []
    for letter, text in sorted(options.items(), key=lambda option: -len(option[1])):
        words = re.compile(rf"(?<!\w){re.escape(_folded(text))}(?!\w)")
        if text.strip() and words.search(rest):
            found.append(letter)
            rest = words.sub("\n", rest)
    return (found[0] if len(found) == 1 else "") if found else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .\"'“”")
