"""What a run's own record proves harmful goes out of use, with the gain that the same questions show."""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import mage_es
from mage_es.engine.auditing.verify import verify
from mage_es.engine.run.directory import Run
from mage_es.engine.upkeep.memory import curate, memory
from mage_es.engine.upkeep.prune import prune
from mage_es.engine.worth.worth import effects
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, MemoryQuarantined, ModelCalled
from tests.bench.effect import measured
from tests.engine.conftest import SMALL


@pytest.fixture(scope="module")
def measured_once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, dict[str, float]]:
    """A run of truthworld with a harmful memory that was asked again, and the true effects."""
    folder = tmp_path_factory.mktemp("measured")
    found = measured(folder, 1, questions=120, top=6)
    run = mage_es.find_run(folder, "1-asked")
    return run, {one.name: one.truth for one in found}


@pytest.fixture
def run(measured_once: tuple[Run, dict[str, float]], tmp_path: Path) -> Run:
    kept, _ = measured_once
    return Run(kept.id, Path(shutil.copytree(kept.path, tmp_path / kept.id)))


@pytest.mark.slow
def test_what_is_proved_harmful_is_quarantined_with_its_number_and_nothing_is_asked(
    run: Run, measured_once: tuple[Run, dict[str, float]]
) -> None:
    calls = [sum(1 for _ in LogReader(part.log_path).of(ModelCalled)) for part in (run, run.reasked)]
    looked, head = prune(run, only_look=True), LogReader(run.log_path).head
    assert looked.pruned and LogReader(measured_once[0].log_path).head == head
    done = prune(run)
    assert done == msgspec.structs.replace(looked, only_look=False)
    truth = measured_once[1]
    assert all(truth[each.memory_id] < 0 and each.high < 0 and each.corrected <= 0.05 for each in done.pruned)
    events = list(LogReader(run.log_path).of(MemoryQuarantined))
    assert {event.memory_id for event in events} == {each.memory_id for each in done.pruned}
    assert all(event.by == "prune" and "by Holm's correction for" in event.reason for event in events)
    assert [sum(1 for _ in LogReader(part.log_path).of(ModelCalled)) for part in (run, run.reasked)] == calls
    assert not prune(run).pruned and verify(run).ok


@pytest.mark.slow
def test_the_gain_is_of_the_same_questions_as_asked_and_without(run: Run) -> None:
    [only] = (found := prune(run, only_look=True)).pruned
    row, gain = effects(run)[only.memory_id], found.gain
    assert row.paired and (gain.questions, gain.pairs) == (row.paired.questions, row.paired.pairs)
    assert gain.points == -(row.paired.points or 0) and gain.after - gain.before == row.paired.lost - row.paired.won > 0
    asked = {event.question_id for event in LogReader(run.reasked.log_path).of(AnswerJudged)}
    assert gain.pairs <= len(asked) and gain.low is not None and gain.low > 0


@pytest.mark.slow
def test_what_a_person_released_stays_in_use(run: Run) -> None:
    [only] = prune(run).pruned
    curate(run, only.memory_id, action="release", reason="it is right", by="ann")
    again = prune(run)
    assert again.released == 1 and not again.pruned
    assert again.in_words().endswith("; and 1 that a person released.")
    assert memory(run, only.memory_id, at="latest").item.status == "active"


def test_a_memory_with_too_few_answers_is_left_alone(tmp_path: Path, start: Callable[..., Run]) -> None:
    tossing = start(tmp_path, msgspec.structs.replace(SMALL, coin=0.5))
    head = LogReader(tossing.log_path).head
    found = prune(tossing)
    assert found.looked_at == 0 < found.too_few and not found.pruned and found.gain.questions == 0
    assert f"takes 30 questions asked again without it, by `mage-es effect {tossing.id}`" in found.in_words()
    assert LogReader(tossing.log_path).head == head
