"""Runs and exams that are followed: a collector receives what an export of them would hold, and none waits for it."""

from pathlib import Path

import msgspec
import pytest

from mage_es.engine.config import Config
from mage_es.engine.exports.otlp import export_otlp
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import ProgressNote, Runtime, Telemetry
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.resume import resume
from mage_es.events.errors import Interrupted
from tests.engine.conftest import SMALL
from tests.engine.exports.receiver import Received, read_files, receiving, said

SHORT: Config = msgspec.structs.replace(SMALL, iterations=1, pool=12)


def by_id(received: Received) -> dict[tuple[bytes, bytes], bytes]:
    """Return the spans by their ids; of two with the same ids, the later."""
    return {(span.trace_id, span.span_id): span.SerializeToString() for span in received.spans}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("followed")


@pytest.mark.slow
def test_a_run_that_was_stopped_and_its_exam_send_what_an_export_holds(folder: Path) -> None:
    with receiving() as received:
        judged = list[int]()

        def note(progress: ProgressNote) -> None:
            judged.append(progress.done)

        runtime = Runtime(workers=1, telemetry=Telemetry(received.url))
        stopping = msgspec.structs.replace(runtime, observer=note, stop=lambda: max(judged, default=0) >= 6)
        with pytest.raises(Interrupted):
            evolve(SHORT, runs_dir=folder, run_id="followed", runtime=stopping)
        resume(folder / "followed", runtime=runtime)
        examine(folder / "followed", questions=4, runtime=runtime)
    export_otlp(folder / "followed", folder / "out")
    exported = read_files(folder / "out")
    assert by_id(received) == by_id(exported)
    assert sorted(map(str, map(said, received.logs))) == sorted(map(str, map(said, exported.logs)))
    [resource] = {str(message.resource_spans[0].resource) for message in received.messages["traces"]}
    assert "followed" in resource


def test_a_run_ends_as_ever_while_the_collector_is_away_and_says_so_once(folder: Path) -> None:
    notes = list[ProgressNote]()
    with receiving() as gone:
        pass
    runtime = Runtime(observer=notes.append, telemetry=Telemetry(gone.url))
    summary = evolve(SHORT, runs_dir=folder, run_id="alone", runtime=runtime)
    assert summary.state == "finished" and isinstance(find_run(folder, "alone"), Run)
    assert sum("does not accept telemetry" in note.message for note in notes) == 1
