"""Data that a prompt holds, made unable to speak for the prompt: control tokens of chat templates, ends of a fence.

A server renders a prompt through a chat template and then obeys the tokens that end a turn or begin another, quoted or
not. So they are broken up in all that was retrieved, shown or asked: in plain text by a space, in JSON by an escape
that means the same character.

Rules
    - Only what has the form of such a token is touched, so all other texts keep their bytes.
    - Something is put in and nothing is taken out, so no token can come together from its parts.
"""

from __future__ import annotations

import re

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
"""What some reader of JSON may take for the end of a line, or of the fence around it; others are escaped already."""


def inert(text: str) -> str:
    """Return a text with a space in every control token, after its first character.

    [Eq. 4, quotation] A memory can do nothing in a prompt: it is quoted, and what a chat template reads as the end of a
    turn is broken up.
    """
    return _TOKEN.sub(lambda found: f"{found[0]} ", text)


def inert_json(document: str) -> str:
    """Return a JSON document that means the same, in one line that holds no control token and ends no fence."""
    return _BREAKS.sub(_escaped, _TOKEN.sub(_escaped, document))


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in found[0])
