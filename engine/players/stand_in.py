"""A stand-in as a model: a function from a request to a text, and a count of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable

from mage_es.engine.players.arithmetic.words import count_tokens
from mage_es.engine.players.prompts import StepPrompt, dice_of, read_step_prompt
from mage_es.engine.seams.model import Completion, Request

_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


def count_words(text: str) -> int:
    """Unlike `count_tokens` it counts `wood_pickaxe` as one word."""
    return len(_WORD_OR_MARK.findall(text))


class StandIn:
    """A model whose reply is a function of the request alone: no clock, no file, no memory between calls.

    `teacher_sees` is the value of `Config.teacher_sees` that a guidance model needs.
    """

    def __init__(
        self,
        name: str,
        reply: Callable[[Request], str],
        count: Callable[[str], int] = count_tokens,
        teacher_sees: str = "errors",
    ) -> None:
        self.name, self.teacher_sees = name, teacher_sees
        self._reply, self._count = reply, count

    async def complete(self, request: Request) -> Completion:
        """Raises `UsageError` if guidance or a judgement is asked for without its JSON."""
        text = self._reply(request)
        return Completion(text=text, input_tokens=self._count(request.text), output_tokens=self._count(text))


def episode_reply(
    choose: Callable[[StepPrompt, str, bool], tuple[str, str]],
) -> Callable[[Request], str]:
    """Return the replies to step prompts; `choose` returns (action, reason) for (prompt, dice, whether to try)."""

    def reply(request: Request) -> str:
        prompt = read_step_prompt(request)
        if not prompt.actions:
            return "There is no action to choose from."
        action, reason = choose(prompt, *dice_of(request.prompt, request.temperature))
        final = f"{'ACTION' if 'ACTION: ' in request.system else 'Action'}: {action}"
        return final if prompt.is_direct else f"Next step, {reason}.\n{final}"

    return reply
