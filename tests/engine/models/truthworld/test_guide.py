"""The guide behind the seam: the brief in the prompt, a typed reply out."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from mage_es.engine.agents.briefs import FailureBrief, FailureReply
from mage_es.engine.models.seam import Request
from mage_es.engine.models.truthworld.guide import TruthGuide
from mage_es.engine.rules.prompt import render_guidance
from mage_es.events.errors import UsageError

from .cases import failures, of_type


def test_a_brief_in_a_prompt_gets_its_reply_as_json() -> None:
    cases = failures(of_type("land", count=2))
    brief = FailureBrief(task_type="t", skill="s", cases=cases, wants_strategy=False, limit=1)
    prompt = render_guidance("failure_memories_v1", {}, msgspec.json.encode(brief).decode())
    done = asyncio.run(TruthGuide().complete(Request(prompt=prompt)))
    (memory,) = msgspec.json.decode(done.text, type=FailureReply).memories
    assert memory.question_id == cases[0].question_id


def test_a_prompt_without_a_brief_is_refused() -> None:
    with pytest.raises(UsageError, match="without a brief"):
        asyncio.run(TruthGuide().complete(Request(prompt="What is 3 + 4?")))
