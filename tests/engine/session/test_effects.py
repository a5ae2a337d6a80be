"""Moves become facts; a tier without a model cannot be called."""

import asyncio

import msgspec
import pytest

from mage_es.engine.courses import Ask, Move, Use
from mage_es.engine.models.retrying import RetryingClient
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.seams.model import Request
from mage_es.engine.session.effects import Effects
from mage_es.events.errors import LogError
from mage_es.events.vocabulary import Draft, ModelCalled, ReplyRejected, ToolRan
from tests.engine.rules.states import Built, setting_of
from tests.engine.rules.test_routes import TOOL, planned
from tests.kit.models import Saying


class Score(msgspec.Struct):
    """A typed reply."""

    score: int


def made(move: Move) -> list[Draft]:
    built, sandbox = Built(), Sandbox()
    built.state.apply(TOOL)
    echo = Saying("scripted/echo", lambda request: request.prompt, input_tokens=3, output_tokens=2)
    effects = Effects(
        setting_of(),
        built.state,
        {"execution": RetryingClient(echo, connections=1)},
        sandbox,
        record=print,
    )
    drafts = list(asyncio.run(effects.perform("evaluate", planned(), move, 7)))
    sandbox.close()
    assert all((draft.phase, draft.causation) == ("evaluate", 7) for draft in drafts)
    return drafts


def test_a_call_is_a_fact_with_its_tokens_and_its_request() -> None:
    request = Request(prompt="How many?")
    (draft,) = made(Ask("q/1", request))
    assert isinstance(draft.event, ModelCalled)
    call = draft.event
    assert (call.text, call.about, call.purpose, call.agent) == ("How many?", "q/1", "fresh", "Learner")
    assert (call.request_sha256, call.model, call.input_tokens) == (request.sha256, "scripted/echo", 3)


def test_a_reply_of_another_form_than_asked_for_is_rejected_besides() -> None:
    call, rejected = made(Ask("q", Request(prompt="{}"), typed=Score))
    assert isinstance(call.event, ModelCalled) and isinstance(rejected.event, ReplyRejected)
    assert "score" in rejected.event.problem
    assert len(made(Ask("q", Request(prompt='{"score": 1}'), typed=Score))) == 1


@pytest.mark.parametrize(
    ("arguments", "result", "problem"),
    [('{"count": 4, "each": 5}', "20", ""), ('{"count": 4}', "", "Missing parameter `each` for call to `tool.run`")],
)
def test_a_run_of_a_tool_is_a_fact_with_its_result_or_its_problem(arguments: str, result: str, problem: str) -> None:
    (draft,) = made(Use("t1", arguments))
    assert isinstance(draft.event, ToolRan)
    assert (draft.event.arguments, draft.event.result, draft.event.problem) == (arguments, result, problem)
    assert (draft.event.tool_id, draft.event.question_id, draft.event.purpose) == ("t1", "q", "fresh")


def test_a_tier_without_a_model_cannot_be_called() -> None:
    with pytest.raises(LogError, match="no model for the guidance tier"):
        made(Ask("q", Request(prompt="Help me"), tier="guidance"))
