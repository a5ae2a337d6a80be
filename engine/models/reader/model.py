"""The reader behind the seam: the prompt in; a sentence and the final line that the prompt asks for out.

Rules
    - The reply is a function of the prompt alone: no clock, no file, no random source, no memory between calls.
    - It is not a language model: it finds words again. What a passage means it does not know.
"""

from __future__ import annotations

import re

from mage_es.engine.models.analogist.prompt_reading import read_prompt
from mage_es.engine.models.arithmetic.words import count_tokens
from mage_es.engine.models.reader.deciding import decide
from mage_es.engine.models.seam import Completion, Request

_BRACKETED = re.compile(r'"(Answer: \[)X(\])"')
_HEADED = re.compile(r"\\section\*\{Final Answer\}")


class Reader:
    """`builtin/reader`: answers with what its prompt holds."""

    name = "builtin/reader"

    async def complete(self, request: Request) -> Completion:
        """Return the reply to a prompt. Never raises on any prompt."""
        text = reply(request.prompt)
        return Completion(text=text, input_tokens=count_tokens(request.prompt), output_tokens=count_tokens(text))


def reply(prompt: str) -> str:
    """Return the reply to a prompt."""
    read = read_prompt(prompt)
    if read.tool is not None:
        return "none"
    lore = (*read.principles, *(advice.how for advice in read.advice))
    answer = decide(read.question, read.examples, lore)
    if read.step is not None:
        return f"For this part, {answer} is what the text holds."
    instruction = prompt.rstrip().rpartition("\n\n")[2]
    if bracketed := _BRACKETED.search(instruction):
        before, after = bracketed.groups()
    elif _HEADED.search(instruction):
        before, after = "\\section*{Final Answer}\n", ""
    else:
        before, after = (read.before if "<" in instruction else "Answer: "), read.after
    final = f"{before}{answer}{after}"
    return final if read.is_direct else f"The nearest that the prompt holds is {answer}.\n{final}"
