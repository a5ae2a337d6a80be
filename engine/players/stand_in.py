"""A stand-in as a model: a function from a request to a text, and a count of tokens."""

from collections.abc import Callable

from mage_es.engine.players.arithmetic.words import count_tokens
from mage_es.engine.seams.model import Completion, Request


class StandIn:
    """A model whose reply is a function of the request alone: no clock, no file, no memory between calls.

    `teacher_sees` is the value of `Config.teacher_sees` that a guidance model needs.
    """

    def __init__(self, name: str, reply: Callable[[Request], str], teacher_sees: str = "errors") -> None:
        self.name, self.teacher_sees = name, teacher_sees
        self._reply = reply

    async def complete(self, request: Request) -> Completion:
        """Raises `UsageError` if a request for guidance or a judgement lacks its JSON."""
        text = self._reply(request)
        return Completion(text=text, input_tokens=count_tokens(request.text), output_tokens=count_tokens(text))
