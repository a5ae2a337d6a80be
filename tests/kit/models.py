"""Models of one line each, for tests in which it matters only what a model says or what it is asked."""

from collections.abc import Callable
from typing import Any

from mage_es.engine.seams.model import Completion, Model, Request


class Saying:
    """Says a text, or what a function makes of the request, and keeps what it is asked."""

    def __init__(self, name: str, says: str | Callable[[Request], str], **of_reply: Any) -> None:
        self.name, self._says, self._of_reply, self.asked = name, says, of_reply, list[Request]()

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        text = self._says if isinstance(self._says, str) else self._says(request)
        return Completion(**{"text": text, "input_tokens": 1, "output_tokens": 1, **self._of_reply})


class Overheard:
    """Another model, by its own name unless it gets one, that keeps what it is asked."""

    def __init__(self, model: Model, name: str = "") -> None:
        self.name, self._model, self.asked = name or model.name, model, list[Request]()

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        return await self._model.complete(request)
