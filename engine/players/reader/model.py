"""The reader: from a prompt to a sentence and the final line that the prompt asks for."""

from __future__ import annotations

from functools import partial

from mage_es.engine.players.prompts import in_sections, read_question_prompt, sections_of
from mage_es.engine.players.reader.acting import act, is_offered
from mage_es.engine.players.reader.answering import candidates, choose
from mage_es.engine.players.stand_in import StandIn
from mage_es.engine.seams.model import Request

_QUESTION = "\n## Question\n"


def reply(request: Request) -> str:
    if is_offered(request):
        return act(request)
    read = read_question_prompt(request)
    if read.parameters is not None:
        return "none"
    found = sections_of(f"\n{in_sections(request)}".partition(_QUESTION)[0]).get("Found", "")
    answer = choose(candidates(read.question, read.examples, (*read.principles, *read.advice), found), request)
    if read.step is not None:
        return f"For this part, {answer} is what the text holds."
    final = f"{read.before}{answer}{read.after}"
    return final if read.is_direct else f"The nearest that the prompt holds is {answer}.\n{final}"


Reader = partial(StandIn, "builtin/reader", reply)
