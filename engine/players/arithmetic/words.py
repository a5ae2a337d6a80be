"""Tokens of English prose: words with stems, numbers and marks, each with its sentence and clause."""

import re
from functools import lru_cache
from typing import NamedTuple

LONGEST_TEXT = 6000
"""Most characters of a text that are read."""

_TOKEN = re.compile(
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+)"
    r"|(?P<word>[A-Za-z\u00c0-\u024f]+(?:['’][A-Za-z]+)?)"
    r"|(?P<mark>[^\sA-Za-z\u00c0-\u024f0-9])"
)

_IRREGULAR = {
    "gave": "give", "given": "give", "sold": "sell", "bought": "buy", "spent": "spend", "ate": "eat",
    "eaten": "eat", "lost": "lose", "took": "take", "taken": "take", "got": "get", "gotten": "get",
    "found": "find", "won": "win", "brought": "bring", "paid": "pay", "made": "make", "ran": "run",
    "drove": "drive", "driven": "drive", "broke": "break", "broken": "break", "threw": "throw", "thrown": "throw",
    "lent": "lend", "sent": "send", "went": "go", "gone": "go", "came": "come", "grew": "grow", "grown": "grow",
    "held": "hold", "kept": "keep", "left": "left", "read": "read", "wrote": "write", "written": "write",
    "had": "have", "has": "have", "having": "have", "was": "be", "were": "be", "is": "be", "are": "be",
    "been": "be", "did": "do", "does": "do", "done": "do", "cost": "cost", "drank": "drink", "drunk": "drink",
    "rode": "ride", "flew": "fly", "swam": "swim", "caught": "catch", "knit": "knit", "bred": "breed",
    "children": "child", "people": "person", "men": "man", "women": "woman", "feet": "foot", "teeth": "tooth",
    "geese": "goose", "mice": "mouse", "shelves": "shelf", "loaves": "loaf", "knives": "knife",
    "halves": "half", "wolves": "wolf", "scarves": "scarf",
}  # fmt: skip


class Token(NamedTuple):
    """`kind` is `word`, `number` or `mark`, `stem` a crude stem of a word (else the text).

    `is_name`: a capital letter inside a sentence.
    """

    text: str
    kind: str
    stem: str
    sentence: int
    clause: int
    is_name: bool


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """`word` is in lower case."""
    word = word.removesuffix("'s").removesuffix("’s")
    word = _IRREGULAR.get(word, word)
    for suffix, put in (("ing", ""), ("ies", "y"), ("ied", "y"), ("ed", ""), ("es", ""), ("s", "")):
        if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith(("ss", "eed")):
            word = word[: len(word) - len(suffix)] + put
            if suffix in ("ing", "ed") and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


_CLAUSE_WORDS = frozenset({"and", "but", "then", "while", "if", "when", "so", "because", "who", "which", "after"})


def tokenize(text: str) -> list[Token]:
    tokens: list[Token] = []
    sentence = clause = 0
    text = text[:LONGEST_TEXT]
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or "mark"
        lowered = match.group().lower()
        is_name = match.group()[0].isupper() and bool(tokens) and tokens[-1].sentence == sentence
        if kind == "word" and lowered in _CLAUSE_WORDS:
            clause += 1
        root = stem(lowered) if kind == "word" else lowered
        tokens.append(Token(lowered, kind, root, sentence, clause, is_name))
        if kind == "mark" and lowered in ".?!":
            # A point inside "Dr.Smith" or "p.m" ends nothing; one before white space or the end does.
            after = text[match.end() : match.end() + 1]
            if not after or after.isspace() or after in "\"'”)":
                sentence, clause = sentence + 1, clause + 1
        elif kind == "mark" and lowered in ",;:—–":
            clause += 1
    return tokens


def count_tokens(text: str) -> int:
    return len(_TOKEN.findall(text))
