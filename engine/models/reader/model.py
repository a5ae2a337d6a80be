"""The reader behind the seam: the prompt in; a sentence and the final line that the prompt asks for out.

Rules
    - The reply is a function of the request alone: no clock, no file, no random source, no memory between calls. At
      temperature 0 that is of the prompt; above it, what several answers speak for is drawn for each sample anew.
    - It is not a language model: it finds words again. What a passage means it does not know.
"""

from __future__ import annotations

import re

from mage_es.engine.models.analogist.prompt_reading import ReadPrompt, read_prompt
from mage_es.engine.models.arithmetic.words import count_tokens
from mage_es.engine.models.players import sections_of
from mage_es.engine.models.reader.acting import act, is_offered
from mage_es.engine.models.reader.candidates import choose
from mage_es.engine.models.reader.deciding import candidates
from mage_es.engine.models.reader.reflecting import criticise, heeding, is_critique
from mage_es.engine.models.seam import Completion, Request

_QUESTION = "\n## Question\n"
_BRACKETED = re.compile(r'"(Answer: \[)X(\])"')
_HEADED = re.compile(r"\\section\*\{Final Answer\}")


class Reader:
    """`builtin/reader`: answers with what its prompt holds."""

    name = "builtin/reader"

    async def complete(self, request: Request) -> Completion:
        """Return the reply to a prompt. Never raises on any prompt."""
        text = reply(request)
        return Completion(text=text, input_tokens=count_tokens(request.prompt), output_tokens=count_tokens(text))


def reply(request: Request) -> str:
    """Return the reply to a request."""
    if is_offered(request.prompt):
        return act(request.prompt)
    read, told = read_prompt(request.prompt), sections_of(request.prompt.partition(_QUESTION)[0])
    if read.tool is not None:
        return "none"
    lore = (*read.principles, *(advice.how for advice in read.advice))
    answers = candidates(read.question, read.examples, lore, told.get("Found", ""))
    if is_critique(told):
        return criticise(told, answers)
    answer = choose(heeding(told, answers), request)
    if read.step is not None:
        return f"For this part, {answer} is what the text holds."
    final = _final(read, request.prompt, answer)
    return final if read.is_direct else f"The nearest that the prompt holds is {answer}.\n{final}"


def _final(read: ReadPrompt, prompt: str, answer: str) -> str:
    """Return the final line, in the form that the prompt's last paragraph asks for."""
    instruction = prompt.rstrip().rpartition("\n\n")[2]
    if bracketed := _BRACKETED.search(instruction):
        before, after = bracketed.groups()
    elif _HEADED.search(instruction):
        before, after = "\\section*{Final Answer}\n", ""
    else:
        before, after = (read.before if "<" in instruction else "Answer: "), read.after
    return f"{before}{answer}{after}"
