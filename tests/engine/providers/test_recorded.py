"""A run's own replies as a model."""

import asyncio
from pathlib import Path

import pytest

from mage_es.engine.providers.recorded import RecordedModel
from mage_es.engine.seams.faults import ModelFault
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.seams.spec import parse_spec
from mage_es.events.errors import UsageError
from mage_es.events.log import Log
from mage_es.events.vocabulary import Draft, ModelCalled

REQUEST = Request(prompt="How many?")


def recorded(folder: Path) -> RecordedModel:
    return RecordedModel(parse_spec(f"recorded/{folder}", known={"recorded": ()}))


def test_a_recorded_request_has_its_reply_and_any_other_has_none(tmp_path: Path) -> None:
    call = ModelCalled(
        iteration=0,
        tier="execution",
        agent="Learner",
        purpose="fresh",
        about="q1",
        attempt=0,
        request_sha256=REQUEST.sha256,
        model="openai/x",
        text="7",
        stop_reason="end",
        input_tokens=3,
        output_tokens=1,
        cached_tokens=2,
        provider_id="id-1",
        served_by="x-2026-05-01",
    )
    with Log.create(tmp_path / "log", run="a", clock=lambda: 1) as log:
        log.append([Draft(event=call, iteration=0, phase="evaluate")])
    model = recorded(tmp_path)
    assert asyncio.run(model.complete(REQUEST)) == Completion(
        text="7", input_tokens=3, output_tokens=1, cached_tokens=2, provider_id="id-1", served_by="x-2026-05-01"
    )
    with pytest.raises(ModelFault, match="never made the request"):
        asyncio.run(model.complete(Request(prompt="How many then?")))


def test_a_folder_that_is_no_run_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a run's folder"):
        recorded(tmp_path / "nothing")
