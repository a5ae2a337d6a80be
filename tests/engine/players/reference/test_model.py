import msgspec
import pytest

from mage_es.engine.briefs import Brief, FailureBrief, FailureReply, PrinciplesBrief, PrinciplesReply
from mage_es.engine.players.reference.model import reply
from mage_es.engine.seams.model import Request
from mage_es.events.errors import UsageError

from .cases import CASES


class OtherBrief(Brief, frozen=True, kw_only=True, tag="other"):
    """A brief that nobody knows."""


def ask(prompt: str) -> str:
    return reply(Request(prompt=prompt))


def prompt(brief: Brief) -> str:
    return f"Please.\n\n```json\n{msgspec.json.encode(brief).decode()}\n```\n"


def test_each_brief_gets_a_reply_of_its_own_type() -> None:
    failures = FailureBrief(task_type="t", skill="s", cases=CASES, wants_strategy=True, limit=2)
    principles = PrinciplesBrief(task_type="t", skill="s", cases=CASES, existing=(), limit=2)
    assert len(msgspec.json.decode(ask(prompt(failures)), type=FailureReply).memories) == 3
    assert len(msgspec.json.decode(ask(prompt(principles)), type=PrinciplesReply).principles) == 1


def test_the_same_brief_gets_the_same_reply() -> None:
    brief = FailureBrief(task_type="t", skill="s", cases=CASES, wants_strategy=True, limit=3)
    assert ask(prompt(brief)) == ask(prompt(brief))


def test_a_prompt_without_a_brief_is_refused() -> None:
    with pytest.raises(UsageError, match="no fenced json block"):
        ask("Hello?")


def test_an_unknown_brief_is_refused_with_the_known_ones_named() -> None:
    with pytest.raises(UsageError, match=r"other.*It knows: failure_memories, navigator, ontology, principles"):
        ask(prompt(OtherBrief()))
