"""How questions are worded in traffic: wrapped in other words, and mixed with questions about other things.

Rules
    - A wrapped question asks the same thing: it has the words that people and applications put around a question, or is
      written with less care. No form depends on the meaning, so they are the same for every run.
    - A long prefix or suffix that nearly all questions of a kind share is their template. What is asked lies in
      between.
    - A turn can be read as a whole, without the text that its client adds to each request, or by paragraphs: a mail has
      its question in one of them. The reading that is nearest to a memory shows what the turn is about.
"""

import re
from collections.abc import Callable, Sequence
from itertools import count

_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_PARAGRAPH = re.compile(r"\n\s*\n")
_LEAST_WORDS, _MOST_PARAGRAPHS = 5, 6
_LEAST_SHARED = 24
"""How long a prefix or suffix must be to count as more than common phrasing."""

WRAPPINGS: Sequence[Callable[[str], str]] = (
    lambda text: f"{text} Thanks!",
    lambda text: f"Hi, I have a question. {text}",
    lambda text: re.sub(r"[^\w\s]", "", text.lower()),
    lambda text: f"Hello team,\n\n{text}\n\nBest regards,\nAnna",
    lambda text: f"You are a careful assistant. Think step by step and answer truthfully. {text} Answer:",
    lambda text: " ".join(word for place, word in enumerate(text.split()) if place % 7 != 3),
    lambda text: " ".join(reversed(_SENTENCE.split(text))),
    lambda text: (
        "Please see the message below and answer it.\n\n" + "\n".join(f"> {line}" for line in text.split("\n"))
    ),
)

EVERYDAY = (
    "What is the weather like tomorrow?",
    "Tell me a joke.",
    "How do I bake sourdough bread?",
    "hello",
    "ok, thank you!",
    "Please proofread this cover letter.",
    "What does this error message mean?",
    "Recommend me a good film.",
    "How do I tie a tie?",
    "Who wrote Don Quixote?",
    "Convert 30 degrees Celsius to Fahrenheit.",
    "My phone battery drains too fast.",
    "What is the difference between a virus and a bacterium?",
    "Write a birthday greeting for my aunt.",
    "Set an alarm for six.",
    "Is there a pharmacy open nearby?",
    "Explain recursion to a child.",
    "How long does a flight to New York take?",
    "I cannot connect to the Wi-Fi.",
    "What should I cook tonight?",
    "Give me a synonym for happy.",
    "When does the next train leave?",
    "How do I remove a red wine stain?",
    "Plan a weekend in Rome.",
)
"""Everyday questions to assistants, on any topic."""


def wrapped(text: str, number: int) -> str:
    """Return a question in one of the forms, which take turns by `number`."""
    return WRAPPINGS[number % len(WRAPPINGS)](text)


def shared(text: str, others: Sequence[str], least: int) -> tuple[int, int]:
    """Return how many characters at a text's beginning and end it shares with `least` of the others, 0 if that is not a
    template. Both end at a word border, and something is left between them."""
    if len(others) < least:
        return 0, 0
    begins = sorted((_common(text, other) for other in others), reverse=True)
    ends = sorted((_common(text[::-1], other[::-1]) for other in others), reverse=True)
    head, tail = begins[least - 1], ends[least - 1]
    head = next(place for place in count(head, -1) if place <= 0 or text[place - 1].isspace())
    tail = next(place for place in count(tail, -1) if place <= 0 or text[-place].isspace())
    head, tail = (each if each >= _LEAST_SHARED else 0 for each in (head, tail))
    return (head, tail) if text[head : len(text) - tail].strip() else (0, 0)


def readings(text: str, head: int = 0, tail: int = 0) -> list[tuple[int, int]]:
    """Return the ranges in which a turn may be read: all of it, without what it shares, and each of its paragraphs."""
    found = [(0, len(text))]
    if head or tail:
        found.append((head, len(text) - tail))
    borders = [0, *(place for each in _PARAGRAPH.finditer(text) for place in each.span()), len(text)]
    spans = [(first, last) for first, last in zip(borders[::2], borders[1::2], strict=True)]
    if len(spans) > 1:
        long = [(first, last) for first, last in spans if len(text[first:last].split()) >= _LEAST_WORDS]
        found += sorted(long, key=lambda span: span[0] - span[1])[:_MOST_PARAGRAPHS]
    return list(dict.fromkeys(found))


def _common(one: str, other: str) -> int:
    """Return the length of the prefix that two texts share."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
