r"""Finding the final answer in a reply, for every benchmark: what the reply says, its marks, its conclusion.

Theory of operation
    1. `said` keeps what addresses the reader. It drops reasoning blocks, a chat template's tokens and everything after
       them, further questions that the model asks itself after its answer, and placeholders (`<number>`,
       `[your answer]`).
    2. A mark is a place that says "here is the answer": `<answer>`, `Finish[...]`, `\boxed{}`, a line `Answer:` or
       `## Final answer`, "the answer is", a JSON key `answer`, and what a benchmark adds (`####`). No mark is stronger
       than another: the last one wins, because a correction comes after what it corrects. Of nested marks
       (`Answer: $\boxed{18}$`) the inner one begins later, and so wins as well.
    3. A mark does not count if it has no content, is denied ("the answer is not") or supposed ("if the answer is"), or
       only talks about the answer ("the answer is correct").
    4. A reader with a type (a number, an option) takes the last mark that it can read; a refusal ends the search.
       Text without a type takes the last mark as it is.
    5. Without a mark the conclusion counts: the last line with a word that is not a mark. Each type of reader says what
       it takes from there (the last number, the best option).

Every pattern is bounded or consumes what it has begun, so the time is linear in the length of the reply. Costly steps
see only a bounded part of it.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, zip_longest
from operator import itemgetter
from typing import TypeVar

Finder = Callable[[str], Iterator[tuple[int, str]]]
"""Yields the benchmark's own marks: where each begins, and its content."""
T = TypeVar("T")

_REASONING = re.compile(
    r"<(?P<close>/?)(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad)\s*>"
    r"|\[(?P<close2>/?)THINK\]|◁(?P<close3>/?)think▷|<\|(?:begin|(?P<close4>end))_of_thought\|>",
    re.IGNORECASE,
)
_CHANNEL, _FINAL_CHANNEL = "<|channel|>", "<|channel|>final<|message|>"
_TEMPLATE = (
    r"(?:<\|[^|<>\n]{1,40}\|>|<｜[^｜<>\n]{1,40}｜>|</?s>|<(?:start|end)_of_turn>|<(?:eos|bos|pad)>|<extra_id_\d+>"
    r"|\[end of text\]|\[/?INST\])"
)
_TOKENS_IN_FRONT = re.compile(rf"\s*(?:{_TEMPLATE}\s*(?:(?:assistant|model)\b:?\s*)?)+")
_TOKEN = re.compile(_TEMPLATE)
_NEXT_QUESTION = re.compile(
    r"^[ \t#*_>\-]*(?:(?P<turn>user|human)|(?:(?:new|next|another)[ ]+)?(?:question|problem|exercise|q|frage|pregunta)"
    r"|问题|質問)[ \t]*#?\d*[*_]*[ \t]*[:：]",
    re.IGNORECASE | re.MULTILINE,
)
_MOST_WORDS_OF_A_BARE_ANSWER = 4

_NOUN = (
    r"(?:answers?|antwort|ergebnis|lösung|réponse|respuesta|risposta|resposta|antwoord|ответ|答案|答え|回答|정답|답)"
)
_KIND = (
    r"(?:(?:final|correct|right|best|most[ ](?:likely|appropriate|probable)|closest|short|definitive|overall"
    r"|richtige|korrekte|endgültige|finale|bonne|correcta|final[ea]|最终|最終|正确|正確)[ ]?)"
)
_EMPHASIS_OR_MARGIN = r"[ \t>#*_\-]*"
_LABEL = re.compile(
    rf"^(?P<margin>{_EMPHASIS_OR_MARGIN})(?:(?:the|my|so|die|das|der|la|el|il)[ ]){{0,2}}{_KIND}{{0,2}}"
    rf"(?:{_NOUN}|(?P<short>a))(?:[ ]?\([^()\n]{{0,40}}\))?(?P<closed>[*_]{{0,3}}[ \t]*[:：][*_]*)",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(
    rf"^[ \t]*(?:#+[ \t]*[*_]*|[*_]+)(?:the[ ])?{_KIND}{{0,2}}{_NOUN}[*_.]*[ \t]*$", re.IGNORECASE | re.MULTILINE
)
_PHRASE = re.compile(
    rf"(?:\b|(?=[答回정最正]))(?=\w)(?P<supposed>\b(?:if|whether|unless|suppose|assuming|when)[ ](?:that[ ])?)?"
    rf"(?:\b(?:the|my|our|die|das|la|el|il|a)[ ])?"
    rf"(?:{_KIND}{{1,2}}(?:option|choice|statement|value)|{_KIND}{{0,2}}{_NOUN})"
    rf"[*_]{{0,3}}(?:[ ](?:to|for|of)[ ][^.\n:?!]{{0,160}}?)?"
    rf"(?:[ ](?:is|are|was|(?:would|should|must|will|could)[ ](?:then[ ])?be|ist|lautet|est|es|è|é)(?![\w'’])"
    rf"|是|为|為|は|은|는)"
    rf"(?:[ ](?:thus|therefore|then|simply|just|hence|indeed))?,?[*_]*[ \t]*[:：]?[*_]*",
    re.IGNORECASE,
)
_ONLY_ABOUT = re.compile(
    r"[\s*_]*(?:not\b|n't|never\b|nicht\b|pas\b|incorrect|correct\b|wrong|right\b|true\b[ ]that|consistent|reasonable"
    r"|plausible|based[ ]on|obtained|derived|found[ ]by|provided|given[ ]in|supported|in[ ]the[ ]form"
    r"|one[ ]of|among|listed|available|close[ ]to[ ]the[ ]option)",
    re.IGNORECASE,
)
_SLOT_NOUN = (
    r"(?:answers?|numbers?|integer|digits?|values?|results?|letters?|labels?|options?|choices?|names?|words?|text"
    r"|expressions?|formula|solutions?|responses?|actions?|query|program|amount|category|json)"
)
_SLOT_WORD = (
    r"(?:the|an?|your|my|its|this|that|it|in|of|as|or|and|to|be|can|for|from|with|one|only|single|final|correct|right"
    r"|best|chosen|selected|short|shortest|actual|numeric(?:al)?|computed|calculated|exact|own|here|goes|insert|enter"
    r"|put|write|fill|give|place|found|list|line|latex|question)"
)
_SLOT = rf"(?:{_SLOT_WORD}[ ,_-]{{1,2}}){{0,6}}{_SLOT_NOUN}(?:[ ,_-]{{1,2}}(?:{_SLOT_NOUN}|{_SLOT_WORD}|yes|no)){{0,8}}"
_PLACEHOLDER = re.compile(
    rf"(?<![\w<])<[ ]?(?P<angle>{_SLOT})[ ]?>|(?<![\w\[\]])\[[ ]?(?P<square>{_SLOT})[ ]?\](?!\()"
    rf"|(?<![\w}}\]^_{{*])\{{[ ]?{_SLOT}[ ]?\}}|\bfinish[ ]?\[[ ]?{_SLOT}[ ]?\]"
    rf"|\\boxed[ ]?\{{[ ]?(?:{_SLOT}|\\text[ ]?\{{[ ]?{_SLOT}[ ]?\}}|\.\.\.|…|\\[lc]?dots|_+|\?)?[ ]?\}}"
    r"|(?<!\w)_{3,}(?!\w)",
    re.IGNORECASE,
)
_SLOT_ALONE = re.compile(_SLOT, re.IGNORECASE)
_CLOSING = re.compile(r"</\s?([^<>\n]{1,60}?)\s?>|\[/\s?([^\[\]\n]{1,60}?)\s?\]")
_REST_OF_LINE = re.compile(r"[ \t*_.$]*(?:\n|$)")
_ANSWER_TAG = re.compile(r"(?:final[ _]?)?answer", re.IGNORECASE)
_TAG = re.compile(
    r"<\s?(?P<close>/?)\s?(?:final[ _]?)?answer\s?>|\[\s?(?P<close2>/?)(?:final[ _])?answer\s?\]", re.IGNORECASE
)
_FINISH = re.compile(r"\bfinish[ ]?\[(?P<content>(?:[^\[\]\n]|\[[^\[\]\n]*\])*)", re.IGNORECASE)
_KEY = re.compile(
    rf"[\"'*]{{0,3}}{_KIND}?_?{_NOUN}(?:_(?:letter|choice|text|option))?[\"']\s*[:：]\s*"
    r"(?P<value>\"(?:[^\"\\]|\\.)*|'(?:[^'\\\n]|\\.)*|\[[^\[\]]*|[^\s,}\]\"']+)",
    re.IGNORECASE | re.DOTALL,
)
_BRACE = re.compile(r"\\(?:boxed|fbox)\s?\{|\\[{}\\]|[{}]")
_BETWEEN_BOXES = re.compile(r"(?:[\s$,;.&]|\\[()\[\],; ]|\\quad|and|or){0,24}")
_SECOND_OPTION = re.compile(r"^[ \t(]*B[.:)]", re.MULTILINE)
"""Whether a line `A:` is the first option, rather than the answer."""
_BULLET = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+\S")
_SENTENCE_END = re.compile(r"[.!?。！](?=[\s\"”'’)\]*]|$)")
_ABBREVIATED = re.compile(r"(?:^|[\s(.])(?:[A-Z]|Dr|Mr|Mrs|Ms|St|Jr|Sr|vs|No|Inc|Co|Mt|Prof|approx|e\.g|i\.e)$")
_REFUSAL = re.compile(
    r"\b(?:can(?:not|[ ]not|['’]t)|could(?:[ ]not|n['’]t)"
    r"|(?:am|is|are|be|was)[ ](?:unable|not[ ]able|not[ ]possible|impossible)[ ]to"
    r"|unable[ ]to|impossible[ ]to)[ ](?:be[ ])?(?:\w{1,20}[ ]){0,2}"
    r"(?:answer|determin|provid|giv|find|calculat|say|tell|know|solv|comput|infer|conclud|establish|help|assist)"
    r"|\b(?:not|n['’]t|no|without)[ ](?:have[ ]|contain[ ]|provide[ ]|given[ ])?"
    r"(?:enough|sufficient)[ ](?:information|data|context|detail)"
    r"|\binsufficient[ ](?:information|data|context|detail)|\b(?:do|does)(?:[ ]not|n['’]t)[ ]know\b"
    r"|\b(?:unanswerable|undetermined|indeterminate)\b"
    r"|^\W*(?:unknown|n/?a|none(?:[ ]of[ ](?:the[ ]above|these|them|the[ ](?:given[ ])?options))?|null|nothing"
    r"|weiß[ ]nicht)\W*$",
    re.IGNORECASE,
)
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
AS_WRITTEN = (*((mark, mark) for mark in ("**", "__", "*", "_")), *_QUOTES.items())
"""The pairs of emphasis and quotation that may surround an answer."""
_WITH_MATH = (*AS_WRITTEN, ("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"))
_LONGEST = 4000
"""How many characters of a mark's content are read."""
_SEARCHED = 50_000
"""How many characters at the end of a text are searched for marks (at its start for the first mark)."""
_MOST_PAIRS = 1000
_UNKNOWNS = ("X", "x", "N", "n", "?")
_LONGEST_PLACEHOLDER = 120
_LONGEST_LINE = 8000
"""How many characters of the last line are read, from its end."""
_MOST_MARKS = 64
"""How many marks are tried, from the last one backwards."""


def nothing(text: str) -> Iterator[tuple[int, str]]:
    """Yield nothing: the benchmark has no marks of its own."""
    return iter(())


def final_answer(reply: str, native: Finder = nothing) -> str:
    """Return the final answer in a reply as text, or "". Never raises."""
    text = said(reply, native)
    return trimmed(next(marked_answers(text, native), None) or conclusion(text))


def read_answer(reply: str, read: Callable[[str], T | None], native: Finder = nothing) -> T | None:
    """Return the last mark that `read` understands, else the conclusion; None for a refusal, or if it understands
    neither."""
    text = said(reply, native)
    for content in marked_answers(text, native):
        if (found := read(content)) is not None:
            return found
        if refuses(content):
            return None
    return read(conclusion(text))


def plain_answer(reply: str) -> str:
    """Return the final answer in a reply, for a benchmark without marks of its own. Never raises."""
    return final_answer(reply)


def said(reply: str, native: Finder = nothing) -> str:
    """Return what a reply says: no reasoning, no template tokens, no further questions that the model asks itself."""
    text = without_reasoning(reply)
    if front := _TOKENS_IN_FRONT.match(text):
        text = text[front.end() :]
    if end := _TOKEN.search(text):
        text = text[: end.start()]
    return _without_placeholders(_first_exchange(text, native))


def _without_placeholders(text: str) -> str:
    """Return a text without the placeholders that a model copied; names of closed tags are not placeholders. A lone
    `<answer>` is a tag if the answer can follow it: at the start of a line, or with more on its line."""
    closed = {(name or other).casefold() for name, other in _CLOSING.findall(text)}

    def kept(found: re.Match[str]) -> str:
        name = found["angle"] or found["square"]
        if not name:
            return ""
        if name.casefold() in closed:
            return found[0]
        if _ANSWER_TAG.fullmatch(name):
            line = text.rfind("\n", 0, found.start()) + 1
            before, behind = text[line : found.start()], _REST_OF_LINE.match(text, found.end())
            return "" if before.strip(" \t*_") and behind else found[0]
        return ""

    return _PLACEHOLDER.sub(kept, text)


def without_reasoning(reply: str) -> str:
    """Return the reply without its reasoning blocks, wherever they are; an unclosed block takes the rest of the reply.

    Some chat templates open the block in the prompt: then the reply only closes it.
    """
    if _CHANNEL in reply:
        reply = reply.rpartition(_FINAL_CHANNEL)[2] if _FINAL_CHANNEL in reply else ""
    kept, start, is_inside = list[str](), 0, False
    for tag in _REASONING.finditer(reply):
        if not any(tag.groupdict().values()):
            if not is_inside:
                kept.append(reply[start : tag.start()])
            is_inside = True
            continue
        if not is_inside:
            kept.clear()
        start, is_inside = tag.end(), False
    return "".join(kept) if is_inside else "".join(kept) + reply[start:]


def _first_exchange(text: str, native: Finder) -> str:
    questions = list(_NEXT_QUESTION.finditer(text, len(text) - len(text.lstrip()) + 1))
    if not questions:
        return text
    first = questions[0].start()
    before = text[:first].split(maxsplit=_MOST_WORDS_OF_A_BARE_ANSWER)
    if questions[0]["turn"] or (len(before) <= _MOST_WORDS_OF_A_BARE_ANSWER and not before[-1].endswith(":")):
        return text[:first]
    answered = next((start for start, content_of in _marks(text[:_SEARCHED], native) if content_of()), len(text))
    return next((text[: question.start()] for question in questions if question.start() > answered), text)


def marked_answers(text: str, native: Finder = nothing) -> Iterator[str]:
    """Yield the contents of the marks in a text, the last one first; see the theory of operation."""
    contents = (content_of() for _, content_of in reversed(_marks(text[-_SEARCHED:], native)))
    yield from islice(filter(None, contents), _MOST_MARKS)


def _marks(text: str, native: Finder) -> list[tuple[int, Callable[[], str]]]:
    """Return where each mark begins, in order, and what reads its content."""
    found = [*_tagged(text), *_boxes(text), *native(text)]
    found += [(call.start(), call["content"]) for call in _FINISH.finditer(text)]
    marks = [(start, partial(str, content)) for start, content in found]
    has_options = _SECOND_OPTION.search(text) is not None
    for label in _LABEL.finditer(text):
        if not label["short"] or (label["short"] == "A" and not has_options):
            marks.append((label.start(), partial(_after_label, text, label)))
    marks += [(heading.start(), partial(_block, text, heading.end())) for heading in _HEADING.finditer(text)]
    for phrase in _PHRASE.finditer(text):
        if not phrase["supposed"] and not _ONLY_ABOUT.match(text, phrase.end()):
            marks.append((phrase.start(), partial(_sentence, text, phrase.end())))
    keys = list(_KEY.finditer(text))
    inside = [range(key.start(), key.end()) for key in keys]  # a mark in a value is found when the value is decoded
    marks = [mark for mark in marks if not _is_within(mark[0], inside)]
    marks += [(key.start(), partial(_json_value, key["value"])) for key in keys]
    return [(start, partial(_bare, content_of)) for start, content_of in sorted(marks, key=itemgetter(0))]


def _is_within(place: int, spans: Sequence[range]) -> bool:
    at = bisect_right(spans, place, key=lambda span: span.start) - 1
    return at >= 0 and place in spans[at]


def _bare(content_of: Callable[[], str]) -> str:
    return content_of().strip(" \t\r\n")[:_LONGEST].strip("…").removeprefix("...").strip()


def only_names(content: str) -> bool:
    """Return whether a mark's content only names what belongs there (`number`, `your answer`, `X`)."""
    bare = trimmed(content[: _LONGEST_PLACEHOLDER + 1])
    return bare in _UNKNOWNS or (len(bare) <= _LONGEST_PLACEHOLDER and _SLOT_ALONE.fullmatch(bare) is not None)


def conclusion(text: str) -> str:
    """Return the last line (if very long, its end) that has a letter or a digit besides its marks, or ""."""
    lines = (line[-_LONGEST_LINE:] for line in reversed(text.splitlines()) if line.strip())
    return next((line for line in lines if re.search(r"\w", _without_marks(line))), "")


def _without_marks(line: str) -> str:
    return _LABEL.sub("", _HEADING.sub("", _TAG.sub("", line)))


def refuses(text: str) -> bool:
    """Return whether a text says that there is no answer."""
    return _REFUSAL.search(text[:_LONGEST]) is not None


def _boxes(text: str) -> Iterator[tuple[int, str]]:
    r"""Yield each balanced `\boxed{}`; boxes with only a comma or an "and" between them are one answer."""
    if "boxed" not in text and "fbox" not in text:
        return
    opened: list[tuple[bool, int, int]] = []
    held: tuple[int, str, int] | None = None
    for brace in _BRACE.finditer(text):
        if len(brace[0]) > 2 or brace[0] == "{":
            opened.append((brace[0] != "{", brace.start(), brace.end()))
        elif brace[0] == "}" and opened:
            is_box, start, inner = opened.pop()
            if not is_box or brace.start() - inner > _LONGEST:
                continue
            content = text[inner : brace.start()]
            is_near = held is not None and start - held[2] <= 24 and len(held[1]) < _LONGEST
            if held and is_near and _BETWEEN_BOXES.fullmatch(text, held[2], start):
                held = (held[0], f"{held[1]}, {content}", brace.end())
                continue
            if held:
                yield held[:2]
            held = (start, content, brace.end())
    if held:
        yield held[:2]


def _tagged(text: str) -> Iterator[tuple[int, str]]:
    tags = list(_TAG.finditer(text))
    for tag, behind in zip_longest(tags, tags[1:]):
        if tag["close"] or tag["close2"]:
            continue
        yield tag.start(), text[tag.end() : behind.start()] if behind else _block(text, tag.end())


def _json_value(value: str) -> str:
    """Return a JSON value as text; models write LaTeX with one backslash or two, and line breaks unescaped."""
    if value[0] not in "\"'[":
        return "" if value == "null" else value
    if value[0] == "[":
        return "; ".join(trimmed(piece) for piece in value[1:].split(","))
    plain = re.sub(r"\\n(?![a-z])", "\n", value[1:])
    plain = re.sub(r"\\([\\\"'/])", r"\1", plain)
    return next(marked_answers(plain), None) or plain


def _after_label(text: str, label: re.Match[str]) -> str:
    content = _block(text, label.end())
    opened = label["margin"][len(label["margin"].rstrip("*_")) :]
    if opened and label["closed"].strip() in (":", "："):  # **Answer: Paris**: the emphasis ends after the answer
        before, _, behind = content.partition(opened)
        return before + behind
    return content


def _block(text: str, start: int) -> str:
    """Return the line at a place, or the first line after it, with its continuation lines."""
    lines = text[start : start + _LONGEST].lstrip().split("\n")
    taken, brackets, dollars = lines[:1], 0, 0
    for line in lines[1:]:
        so_far = taken[-1].rstrip()
        brackets += taken[-1].count("\\[") - taken[-1].count("\\]")
        dollars += taken[-1].count("$$")
        is_open = (
            so_far.endswith((",", ":", ";"))
            or brackets > 0
            or dollars % 2 == 1
            or (_BULLET.match(line) and _BULLET.match(so_far))
        )
        if not (is_open or (not so_far and len(taken) < 3)):
            break
        taken.append(line)
    return "\n".join(taken).strip()


def _sentence(text: str, start: int) -> str:
    """Return the rest of a sentence; if its line ends here, the block that follows."""
    line = text[start : start + _LONGEST].partition("\n")[0]
    if not re.search(r"\w", line):
        return _block(text, start)
    for end in _SENTENCE_END.finditer(line):
        before = line[: end.start()].strip()
        if len(before) == 1 or not _ABBREVIATED.search(before[-8:]):
            return before
    return line


def trimmed(answer: str, pairs: Sequence[tuple[str, str]] = _WITH_MATH) -> str:
    """Return the answer without surrounding space, matching quotes, emphasis, math signs and one full stop."""
    text = _unwrapped(answer.strip(), pairs)
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1].rstrip()
    return _unwrapped(text, pairs)


def _unwrapped(text: str, pairs: Sequence[tuple[str, str]]) -> str:
    """Strip matching pairs from the outside, `_MOST_PAIRS` at most; the text is cut once, at the end."""
    start, end = 0, len(text)
    for _ in range(_MOST_PAIRS):
        pair = next(
            (
                (one, other)
                for one, other in pairs
                if end - start > len(one) + len(other) - (one in _QUOTES)
                and text.startswith(one, start, end)
                and text.endswith(other, start, end)
                and not (one == "$" and text.find("$", start + 1, end - 1) >= 0)
            ),
            None,
        )
        if pair is None:
            break
        start, end = start + len(pair[0]), end - len(pair[1])
        while start < end and text[start].isspace():
            start += 1
        while start < end and text[end - 1].isspace():
            end -= 1
    return text[start:end]
