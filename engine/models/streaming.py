"""A streamed chat completion as the whole that it would have been."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openai import AsyncStream
    from openai.types.chat import ChatCompletion, ChatCompletionChunk


async def put_together(pieces: AsyncStream[ChatCompletionChunk]) -> ChatCompletion:
    """Return the completion that the pieces make; without choices if none had any, without a finish if none came."""
    from openai.types.chat import ChatCompletion, ChatCompletionMessage
    from openai.types.chat.chat_completion import Choice

    text: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning_content": [], "reasoning": []}
    has_choice, finish, usage, name, model = False, None, None, "", ""
    async for piece in pieces:
        name, usage, model = piece.id or name, piece.usage or usage, piece.model or model
        for choice in piece.choices[:1]:
            has_choice, finish = True, choice.finish_reason or finish
            for part, said in text.items():
                said.append(getattr(choice.delta, part, None) or "")
    said_in_all: dict[str, Any] = {part: "".join(said) or None for part, said in text.items()}
    message = ChatCompletionMessage.model_construct(role="assistant", **said_in_all)
    choices = [Choice.model_construct(index=0, message=message, finish_reason=finish)] if has_choice else []
    return ChatCompletion.model_construct(id=name, choices=choices, usage=usage, model=model)
