"""Beginning and resuming: what is refused is refused before anything is made, and says what to do."""

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run import directory
from mage_es.engine.run.budget import Limits
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.verbs.evolve import evolve, evolve_price
from mage_es.engine.verbs.resume import resume
from mage_es.events.errors import BudgetReached, PrerequisiteError, RunLocked, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import IterationClosed, ModelCalled, RunFinished, RunResumed
from tests.kit.models import Overheard
from tests.paper_parts import PAPER_PARTS

pytestmark = pytest.mark.slow

SMALL = Config(benchmark="wordmath", seed=7, iterations=2, pool=24, held_out=20, anchors=12, gate="off", **PAPER_PARTS)
HERE: dict[str, Any] = {"data_dir": None, "runtime": Runtime(workers=2)}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"benchmark": "wordmaths"}, "no benchmark 'wordmaths'. Did you mean wordmath"),
        ({"execution": "builtin/analogis"}, "no model 'builtin/analogis'. Did you mean builtin/analogist"),
        ({"execution": "builtin/reference"}, "guidance"),
        ({"embedder": "hsh"}, "no embedder 'hsh'"),
    ],
)
def test_an_unknown_name_is_refused_before_a_folder_is_made(
    tmp_path: Path, change: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        evolve(msgspec.structs.replace(SMALL, **change), runs_dir=tmp_path / "runs", **HERE)
    assert not (tmp_path / "runs").exists()


def test_a_value_out_of_bounds_is_named_before_a_folder_is_made(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be used: Expected `int` >= 1 - at `\$.pool`"):
        evolve(msgspec.structs.replace(SMALL, pool=0), runs_dir=tmp_path / "runs", **HERE)
    assert not (tmp_path / "runs").exists()


def test_a_missing_data_set_ends_with_the_command_that_fetches_it(tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, benchmark="gsm8k")
    with pytest.raises(PrerequisiteError, match="mage-es fetch gsm8k"):
        evolve(config, runs_dir=tmp_path / "runs", **HERE | {"data_dir": tmp_path / "data"})
    assert not (tmp_path / "runs").exists()


def test_a_resumed_run_with_another_configuration_shows_the_difference(small_run: Run) -> None:
    other = msgspec.structs.replace(SMALL, pool=30, guard="off")
    with pytest.raises(UsageError, match="pool was 24, now 30; guard was 'paired', now 'off'"):
        resume(small_run, config=other, **HERE)


def test_a_second_writer_is_refused(small_run: Run, tmp_path: Path) -> None:
    run = Run("copy", tmp_path / "copy")
    shutil.copytree(small_run.log_path, run.log_path)
    with Log.open(run.log_path, clock=clock), pytest.raises(RunLocked):
        resume(run, config=None, **HERE)


def test_resuming_a_finished_run_changes_nothing(small_run: Run, tmp_path: Path) -> None:
    run = Run("copy", tmp_path / "copy")
    shutil.copytree(small_run.log_path, run.log_path)
    before = LogReader(run.log_path).head
    assert resume(run, config=SMALL, **HERE).state == "finished"
    assert LogReader(run.log_path).head == before
    assert not list(LogReader(run.log_path).records({RunResumed}))


def test_changed_data_is_noticed_before_a_run_goes_on(small_run: Run, tmp_path: Path) -> None:
    run = forge_data_hash(small_run, tmp_path)
    shutil.copytree(small_run.log_path / "questions", run.log_path / "questions")
    with pytest.raises(PrerequisiteError, match=r"wordmath is not the same as .* none of its questions"):
        resume(run, config=None, **HERE)


def forge_data_hash(source: Run, folder: Path) -> Run:
    """Copy a run without its end, as if it had been started on other data."""
    from mage_es.events.vocabulary import Draft, RunStarted, SegmentSealed

    run = Run(source.id, folder / "forged")
    with Log.create(run.log_path, run=run.id, clock=clock) as log:
        for record in LogReader(source.log_path).records():
            event = record.event
            if isinstance(event, RunStarted):
                event = msgspec.structs.replace(event, data_sha256="0" * 64)
            if not isinstance(event, SegmentSealed | RunFinished):
                log.append([Draft(event=event, iteration=record.iteration, phase=record.phase, ordinal=record.ordinal)])
    return run


def test_an_iteration_is_not_begun_on_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match=r"MiB are free .* Nothing is lost"):
        directory.require_free_space(tmp_path, floor_mib=10**9)
    directory.require_free_space(tmp_path, floor_mib=0)


def test_a_run_refused_for_want_of_space_is_whole_and_goes_on_when_there_is_some(
    tmp_path: Path, small_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage, asked = shutil.disk_usage(tmp_path), []

    def full_before_the_second_iteration(path: Path) -> object:
        asked.append(path)
        return usage._replace(free=10 * 2**20) if len(asked) == 3 else usage

    monkeypatch.setattr(shutil, "disk_usage", full_before_the_second_iteration)
    with pytest.raises(PrerequisiteError, match="Only 10 MiB are free"):
        evolve(SMALL, runs_dir=tmp_path, run_id="r", **HERE)
    run = Run("r", tmp_path / "r")
    assert verify(run).ok
    closed = [record.event.iteration for record in LogReader(run.log_path).records({IterationClosed})]
    assert closed == [-1, 0]
    resume(run, config=None, **HERE)
    last = [list(LogReader(r.log_path).records({IterationClosed}))[-1].event for r in (run, small_run)]
    assert last[0] == last[1]


def test_on_a_full_disk_no_call_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=10 * 2**20))
    with pytest.raises(PrerequisiteError, match="Only 10 MiB are free"):
        evolve(SMALL, runs_dir=tmp_path, run_id="r", **HERE)
    assert not list(LogReader(Run("r", tmp_path / "r").log_path).of(ModelCalled))


def test_a_config_says_what_differs_and_survives_its_canonical_form() -> None:
    from mage_es.engine.config import canonical, difference, fingerprint, parse

    other = msgspec.structs.replace(SMALL, seed=8)
    assert difference(SMALL, other) == [("seed", 7, 8)]
    assert parse(canonical(SMALL)) == SMALL
    assert fingerprint(SMALL) != fingerprint(other)


def test_a_run_records_the_names_of_the_models_that_python_gave_it(tmp_path: Path) -> None:
    learner = Overheard(open_model("builtin/analogist", "execution"), "mine/execution")
    models = Models(learner, Overheard(open_model("builtin/reference", "guidance"), "mine/guidance"))
    # A language model's teacher sees answers; these rules write from solutions.
    config = msgspec.structs.replace(SMALL, teacher_sees="solutions")
    begun = evolve(config, runs_dir=tmp_path, models=models, **HERE)
    assert (begun.execution, begun.guidance) == ("mine/execution", "mine/guidance")
    again = resume(Run(begun.run_id, tmp_path / begun.run_id), config=config, models=models, runtime=Runtime())
    assert again.head == begun.head
    with pytest.raises(UsageError, match="no provider 'mine'"):
        resume(Run(begun.run_id, tmp_path / begun.run_id), runtime=Runtime())


def test_progress_shows_the_accuracy_of_the_anchors_that_were_measured_and_how_many_they_are(tmp_path: Path) -> None:
    notes = list[ProgressNote]()
    config = msgspec.structs.replace(SMALL, iterations=4)
    begun = evolve(config, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=1, observer=notes.append))
    last = {note.iteration: note for note in notes if note.phase == "snapshot" and not note.is_announcement}
    few = {k: note.total for k, note in last.items() if note.total < config.anchors}
    assert few
    for row in begun.rows[1:]:
        assert last[row.iteration].level == pytest.approx(row.anchor_correct / row.anchor_total)
        assert last[row.iteration].anchors == row.anchor_total


def test_the_price_of_going_on_counts_no_iteration_that_was_stopped_in_the_middle(tmp_path: Path) -> None:
    stopping = Runtime(workers=1, limits=Limits(max_calls=90))
    with pytest.raises(BudgetReached):
        evolve(SMALL, runs_dir=tmp_path, data_dir=None, runtime=stopping, run_id="stopped")
    reader = LogReader(tmp_path / "stopped" / "log")
    closed = [event.iteration for event in reader.of(IterationClosed)]
    calls = [event.iteration for event in reader.of(ModelCalled)]
    assert closed == [-1, 0] and max(calls) == 1
    price = evolve_price(msgspec.structs.replace(SMALL, iterations=1), from_run=tmp_path / "stopped")
    assert price is not None and price.calls == 2 * calls.count(-1) + calls.count(0)
