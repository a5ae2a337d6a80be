"""An upper estimate of a prompt's tokens from its text alone.

The estimate should be too high rather than too low, whichever tokenizer the model has. It counts one token for every
four letters of a word, every digit, every mark and every line break. A character of another script counts as one token
less than it has bytes. An eighth of the sum is added. With the tokenizers of GPT-4 and GPT-4o, the estimate was 1.1 to
2.3 times the tokens of the benchmarks' English texts, and up to 1.1 times those of the longest German words.
"""

import re

_PIECES = re.compile(r"[A-Za-z]{1,4}|[0-9]|[\t-\r]|  +|[!-/:-@\[-`{-~]")
_TEMPLATE_TOKENS = 32
"""What a chat template may add of its own."""


def estimated_tokens(prompt: str) -> int:
    """Return an upper estimate of a prompt's tokens, including a chat template's own."""
    letters_of_other_scripts = len(prompt.encode("utf-8", "surrogatepass")) - len(prompt)
    pieces = len(_PIECES.findall(prompt)) + letters_of_other_scripts
    return pieces + pieces // 8 + _TEMPLATE_TOKENS
