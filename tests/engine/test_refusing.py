"""A guidance model that quotes the exam: what it wrote is refused, the run goes on, and the auditor agrees."""

from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import open_world
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryAppended, MemoryRefused, ModelCalled
from tests.engine.conftest import SMALL

pytestmark = pytest.mark.slow


class Leaking:
    """The reference guide, whose first correction always quotes a question of the exam."""

    name = "scripted/leaking"

    def __init__(self, secret: str) -> None:
        self._secret, self._reference = secret, open_model("builtin/reference", "guidance")

    async def complete(self, request: Request) -> Completion:
        completion = await self._reference.complete(request)
        reply = msgspec.json.decode(completion.text)
        if "memories" not in reply:
            return completion
        quoting = {"reasoning": f"Remember this: {self._secret} The answer is 4."}
        reply["memories"] = [{**each, **quoting} for each in reply["memories"][:1]] + reply["memories"][1:]
        return msgspec.structs.replace(completion, text=msgspec.json.encode(reply).decode())


def test_what_quotes_an_exam_question_is_refused_and_the_run_goes_on(tmp_path: Path) -> None:
    world = open_world(SMALL, data_dir=None)
    secret = world.questions[world.setting.held_out[0]].question
    models = Models(open_model("builtin/analogist", "execution"), Leaking(secret))
    evolve(SMALL, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=2), run_id="r", models=models)

    run = find_run(tmp_path, "r")
    records = list(LogReader(run.log_path).records({MemoryAppended, MemoryRefused, ModelCalled}))
    refused = [record.event for record in records if isinstance(record.event, MemoryRefused)]
    kept = [record.event for record in records if isinstance(record.event, MemoryAppended)]
    assert {(event.what, event.split) for event in refused} == {("memory.appended", "held_out")}
    assert not any(secret in memory.reasoning for memory in kept)
    assert any(memory.outcome == "failure_memory" for memory in kept)

    report = verify(run)
    certificate = next(check for check in report.checks if check.name == "leaks")
    assert report.ok and f"{len(refused)} refused" in certificate.detail
