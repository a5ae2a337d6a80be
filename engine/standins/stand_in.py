"""A stand-in as a model: a function from a request to a text, and a count of tokens."""

from __future__ import annotations

import re
from collections.abc import Callable

from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.standins.arithmetic.words import count_tokens

_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")


def count_words(text: str) -> int:
    """Unlike `count_tokens` it takes `wood_pickaxe` for one word."""
    return len(_WORD_OR_MARK.findall(text))


class StandIn:
    """A model whose reply is a function of the request alone: no clock, no file, no memory between calls.

    `teacher_sees` is what a guidance model needs of `Config.teacher_sees`.
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
