"""Rendering a prompt, with the provenance of every retrieved span.

Rules
    - The same template, sections and question give the same bytes. The templates are those with which the run began;
      its first event holds them, so another version of this program asks in the same words.
    - The system message is the same for all questions of a template: what to do, how to work, how to end the answer.
      The user's message starts with what is known, the sections that most questions share first, and ends with the
      question. This order helps a prefix cache. If nothing is known, the prompt does not mention using it.
    - Notes go before all cases that are shown as turns, so that nothing separates the cases from the question, which
      the model should answer in the same way. A note between them cost two small models part of what the cases had
      gained; before the cases it does no measurable harm (tests/bench/FIGURES.md, "Notes and cases").
    - Retrieved text is data: every line of it is quoted with "> ", so nothing inside can end its own quotation. This
      holds even for a skill's own instruction: the prompt says to follow it, and shows it as a quote.
    - Control tokens of a chat template have no effect in data, the question included. A server renders a prompt through
      a template and then obeys the tokens that end a turn or begin another, quoted or not. So they are broken up in
      everything that was retrieved, shown or asked: in plain text by a space, in JSON by an escape of the same
      character. All other bytes are kept. Text is only inserted, never removed, so no new token can form from the
      parts.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from mage_es.engine.seams.benchmark import Traits
from mage_es.engine.seams.model import BETWEEN_TURNS
from mage_es.events.vocabulary import Span

QUESTION = "Question"
"""The heading above the question in a user message, and above a turn's own text if a note precedes it."""
NOTES = "notes"
"""The template of the sentence before notes of earlier work."""
_PLACE = re.compile(r"\{\{(\w+)\}\}")
BARE = '"<>"'
"""How an example's answer is written if no mark is asked for: alone, as in a free-text reply."""
_FORM = re.compile(r'"([^"<>]*)<(.*?)>([^"<>]*)"', re.DOTALL)


class Prompt(NamedTuple):
    """The messages of a call, and where the user's message (`text`) has quotations; `turns` are as in a `Request`."""

    system: str
    text: str
    spans: tuple[Span, ...] = ()
    turns: tuple[int, ...] = ()


class Quote(NamedTuple):
    """A text that was retrieved or written by a model, and its source: `memory/<id>`, `skill/<name>`, `recipe/<id>`,
    `tool/<id>`, or `call/<about>` for an earlier reply of the same course."""

    source: str
    text: str


class Demonstration(NamedTuple):
    """A question and the reply to it, shown as two turns of a chat; `source` is as in `Quote`."""

    source: str
    question: str
    reply: str


class Section(NamedTuple):
    """A heading and what is quoted under it; a section without a quote is omitted. `is_note` is whether it is knowledge
    from earlier work, which may not apply, rather than part of this answer."""

    title: str
    quotes: Sequence[Quote]
    is_note: bool = False


class PromptQuestion(NamedTuple):
    """What a prompt asks: the question with its context, how the answer must end, how to work.

    `shared` is what all questions of the benchmark share: their task, or a context.
    """

    question: str
    context: str
    answer_format: str
    instruction: str = Traits().instruction
    shared: str = ""
    heading: str = QUESTION


Templates = Mapping[str, str]
"""The templates that a run began with, by name; this program's own replaces a missing one."""


@cache
def packaged() -> Templates:
    """Return the complete text of each of this program's templates."""
    from importlib.resources import files

    folder = files("mage_es.engine.prompts")
    texts = {
        file.name.removesuffix(".md"): file.read_text(encoding="utf-8").rstrip("\n")
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith(".md")
    }
    # The beginning of all guidance templates.
    teacher = texts.pop("teacher")
    return {name: text.replace("{{teacher}}", teacher) for name, text in texts.items()}


def template(name: str, templates: Templates = MappingProxyType({})) -> str:
    return templates.get(name) or packaged()[name]


def render_answer(
    name: str,
    sections: Sequence[Section],
    asked: PromptQuestion,
    demonstrations: Sequence[Demonstration] = (),
    *,
    templates: Templates = MappingProxyType({}),
) -> Prompt:
    """Return the prompt of a call of the execution tier.

    [Eq. 4] Skill, principles, successes, corrections, question: Eq. 4's parts, with what most questions share first.
    Retrieved text is quoted as data, or has a turn of its own; each piece has its source, offset and length.
    """
    question = f"{asked.context}\n\n{asked.question}" if asked.context else asked.question
    values = {"instruction": asked.instruction, "answer_format": by_example(asked.answer_format)}
    system = _filled(template(name, templates), values)
    shared = f"{inert(asked.shared)}\n\n" if asked.shared else ""
    notes, others = [[each for each in sections if each.is_note is wanted] for wanted in (True, False)]
    known, spans, turns = render_known(notes, demonstrations, preface=template(NOTES, templates), heading=asked.heading)
    text, quotations = render_sections(others, offset=len(known))
    # A turn is the bare question: between cases and it a heading would only be copied.
    heading = "" if demonstrations and not text else headed(asked.heading)
    return Prompt(f"{shared}{system}", f"{known}{text}{heading}{inert(question)}", (*spans, *quotations), turns)


def render_known(
    notes: Sequence[Section], demonstrations: Sequence[Demonstration], *, preface: str = "", heading: str = QUESTION
) -> tuple[str, tuple[Span, ...], tuple[int, ...]]:
    """Return what is known, as the beginning of a prompt: the notes, then cases as turns, with the notes before the
    first question; each one's position in the text; and where each message after the first begins."""
    text, quotations = render_sections(notes, preface=preface)
    if text and demonstrations:
        text += headed(heading)
    shown, spans, turns = render_turns(demonstrations, offset=len(text))
    return f"{text}{shown}", (*quotations, *spans), turns


def render_turns(
    demonstrations: Sequence[Demonstration], *, offset: int = 0
) -> tuple[str, list[Span], tuple[int, ...]]:
    """Return cases as turns: the text of all, where each case is, and where each next message begins.

    `offset` is what comes before them in the first of their messages, in characters.
    """
    text, spans, turns = "", list[Span](), list[int]()
    for source, question, reply in demonstrations:
        start = len(text)
        for said in (question, reply):
            text += f"{inert(said)}{BETWEEN_TURNS}"
            turns.append(offset + len(text))
        length = len(text) - len(BETWEEN_TURNS) - start
        spans.append(Span(offset=offset + start, length=length, source=source))
    return text, spans, tuple(turns)


def render_sections(sections: Sequence[Section], *, offset: int = 0, preface: str = "") -> tuple[str, list[Span]]:
    """Return what is known as quotations under headings (or ""), and each quotation's position in it.

    `offset` is what comes before it in the prompt, in characters; `preface` goes before notes ("": this program's own).
    """
    has_notes = any(section.is_note and section.quotes for section in sections)
    text, spans = f"{preface or template(NOTES)}\n\n" if has_notes else "", list[Span]()
    for title, quotes, _ in sections:
        if quotes:  # a heading without a quote would be a claim that there is nothing to know
            text += headed(title)
        for source, quote in quotes:
            rendered = quoted(quote)
            spans.append(Span(offset=offset + len(text), length=len(rendered), source=source))
            text += f"{rendered}\n\n"
    return text, spans


def headed(title: str) -> str:
    return f"## {title}\n\n"


def worked(reasoning: str, answer: str, answer_format: str) -> str:
    """Return a solution that ends with its answer as `answer_format` asks, and gives it in this form only once.

    The form is the line that the sentence quotes, with `<...>` around an example of an answer: `"Answer: <Oslo>"`.
    """
    before, after = _form(answer_format)
    return f"{without_final(reasoning, answer_format)}\n{before}{answer}{after}".lstrip()


def without_final(reply: str, answer_format: str) -> str:
    """Return a reply without its last line, or block, if that is the answer in the required form."""
    before, after = _form(answer_format)
    # Without brackets, as a reply may have the mark and omit them.
    head, mark, last = reply.rpartition(before.rstrip(" \n([{$") or "\n")
    is_end = last.rstrip().endswith(after) if "\n" in after else "\n" not in last.strip()
    is_line = before and mark and not head.rpartition("\n")[2].strip(" *_`>#") and is_end
    return (head.rstrip(" *_`>#") if is_line else reply).rstrip()


def render_guidance(name: str, brief: msgspec.Struct, templates: Templates = MappingProxyType({})) -> Prompt:
    """Return a guidance prompt: the template, the same for every brief, and the brief as one fenced JSON block."""
    return Prompt(
        template(name, templates), f"```json\n{inert_json(msgspec.json.encode(brief, enc_hook=str).decode())}\n```"
    )


def quoted(text: str) -> str:
    # `splitlines` knows every line break (also \x0b, \u2028): no line may begin without the mark.
    return "\n".join("> " + line for line in inert(text).splitlines() or [""])


def _form(answer_format: str) -> tuple[str, str]:
    found = _FORM.search(answer_format)
    return (found[1], found[3]) if found else ("Answer: ", "")


def by_example(answer_format: str) -> str:
    """Return how an answer is asked for, as a model sees it: with an example, since a placeholder would be copied."""
    return _FORM.sub(r'"\1\2\3"', answer_format)


def _filled(text: str, values: Mapping[str, str]) -> str:
    """Return a template with its values filled in, in one pass: a `{{...}}` in a value is plain text."""
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), text)


_NAMES = "s|bos|eos|pad|unk|think|tool_call|tool_response|image|video|audio"
_TOKEN = re.compile(
    r"<(?="
    r"[|｜][^\s<>]{0,60}[|｜]>"  # ChatML, Llama 3, Phi, and DeepSeek with its wide bars
    rf"|/?(?:{_NAMES}|start_of_turn|end_of_turn|start_of_image|end_of_image|unused\d+|extra_id_\d+)>"  # Gemma, T5, Qwen
    r"|</?SYS>>)"  # Llama 2
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_RESULTS|TOOL_CALLS|THINK|IMG|PREFIX|SUFFIX|MIDDLE)\]"
    r"|\|[^\s\[\]]{0,60}\|\])",  # Mistral; EXAONE
    re.IGNORECASE,
)
_BREAKS = re.compile("[\x7f-\x9f\u2028\u2029]|```")
"""What a JSON reader may take for the end of a line, or of the fence around it; everything else is already escaped."""


def inert(text: str) -> str:
    """Return a text with a space in every control token, after its first character.

    [Eq. 4, quotation] A memory has no power in a prompt: it is quoted, and anything that a chat template reads as the
    end of a turn is broken up.
    """
    return _TOKEN.sub(lambda found: f"{found[0]} ", text)


def inert_json(document: str) -> str:
    """Return a JSON document that means the same, in one line that holds no control token and ends no fence."""
    return _BREAKS.sub(_escaped, _TOKEN.sub(_escaped, document))


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in found[0])
