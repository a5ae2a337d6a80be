"""A stand-in replies to the request alone, and counts tokens."""

import asyncio
from importlib import import_module

import pytest

from mage_es.engine.models.registry import open_model
from mage_es.engine.players.players import PLAYERS
from mage_es.engine.players.stand_in import StandIn
from mage_es.engine.seams.model import Request
from mage_es.events.errors import UsageError

EXECUTION = [name for name, (tier, _) in PLAYERS.items() if tier == "execution"]
OTHERS = [name for name in PLAYERS if name not in EXECUTION]


def test_words_and_marks_of_prompt_and_reply_are_counted() -> None:
    stand_in = StandIn("builtin/echo", lambda request: f"{request.temperature} of it")
    completion = asyncio.run(stand_in.complete(Request(prompt="Go, now!", temperature=0.5)))
    assert (completion.text, completion.input_tokens, completion.output_tokens) == ("0.5 of it", 4, 3)


@pytest.mark.parametrize("name", EXECUTION)
def test_every_execution_stand_in_replies_to_any_prompt_and_keeps_nothing_between_calls(name: str) -> None:
    for prompt in ("", "Hello?", "## Valid actions\n\n- click[x]", "\x00" * 50):
        request = Request(prompt=prompt, temperature=0.3)
        stand_in = open_model(name, "execution")
        completions = [asyncio.run(stand_in.complete(request)) for _ in range(2)]
        assert completions[0] == completions[1] and completions[0].output_tokens > 0
        assert stand_in.name == name


@pytest.mark.parametrize("name", OTHERS)
def test_guidance_and_judge_refuse_a_prompt_without_their_json(name: str) -> None:
    with pytest.raises(UsageError):
        asyncio.run(open_model(name, PLAYERS[name][0]).complete(Request(prompt="What is 3 + 4?")))


def test_the_package_describes_every_stand_in() -> None:
    said = import_module("mage_es.engine.players").__doc__ or ""
    assert all(f"{name} " in said for name in PLAYERS)
