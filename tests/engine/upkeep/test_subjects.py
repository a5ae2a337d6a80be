"""Texts of subjects: nowhere in clear but under their keys, and gone with a key while every digest stays."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.exports.event_files import export
from mage_es.engine.rules.near_duplicates import normalise, question_hash
from mage_es.engine.rules.new_memories import memory_id
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exam_plan import held_out_sample
from mage_es.engine.run.world import reopen_world, state_of
from mage_es.engine.upkeep.backup import backup, restore
from mage_es.engine.upkeep.memory import memories
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.engine.viewing.show import show
from mage_es.events.disk.keys import destroy_key
from mage_es.events.errors import PrerequisiteError
from mage_es.events.facts.private import clear_vector, is_erased, under_of
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, MemoryAppended, ModelCalled, QuestionPlanned
from mage_es.projections.fold import fold
from mage_es.projections.snapshot_files import latest_snapshot
from tests.engine.pears import CANARIES, SUBJECTS, TASKS, Echo, in_clear, models_with, stopped

pytestmark = pytest.mark.slow

HASHED = ("outcome", "kind", "task_type", "question", "answer", "reasoning")


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The run, stopped and resumed, with an exam. Shared: only copy it."""
    echo = Echo()
    run = stopped(tmp_path_factory.mktemp("runs"), echo)
    resume(run, models=models_with(echo))
    assert echo.made == sum(call.tier == "execution" for call in LogReader(run.log_path).of(ModelCalled))
    examine(run, execution=Echo())
    return run


@pytest.fixture
def run(learned: Run, tmp_path: Path) -> Run:
    return Run("pears", Path(shutil.copytree(learned.path, tmp_path / "runs" / "pears")))


def digests(run: Run) -> dict[str, str]:
    report = replay(run)
    assert all(check.recorded == check.rebuilt for check in report.checks), report
    return {check.projection: check.rebuilt for check in report.checks}


def shown(run: Run) -> str:
    """Return all that the run's memory, one of its questions of each customer, and its replies show."""
    parts = [repr(memories(run, at="latest"))]
    asked = {each.question_id: SUBJECTS[each.question_id] for each in LogReader(run.log_path).of(AnswerJudged)}
    parts += [repr(show(run, name)) for name in {who: name for name, who in asked.items()}.values()]
    parts += [call.text for call in LogReader(run.log_path).of(ModelCalled)]
    return "\n".join(parts).casefold()


def private_memories(run: Run) -> list[MemoryAppended]:
    return [each for each in LogReader(run.log_path).of(MemoryAppended) if under_of(each)]


def test_no_file_of_a_run_but_its_keys_holds_a_word_of_a_subject(run: Run, tmp_path: Path) -> None:
    assert not in_clear(run.path)
    assert (run.path / "keys").stat().st_mode & 0o777 == 0o600
    replay(run, tables=True)
    reader = LogReader(run.log_path, opened=False)
    export(reader, tmp_path / "exported", format="parquet", until=reader.head.seq)
    backup(run, str(tmp_path / "backup"))
    assert not in_clear(tmp_path)
    # With the keys all of it can be read, what one customer's question was shown of another's included.
    assert all(canary in shown(run) for canary in CANARIES.values())


def test_no_hash_in_the_log_tells_whether_a_guess_of_a_text_is_right(run: Run) -> None:
    sealed, clear = LogReader(run.log_path, opened=False), LogReader(run.log_path)
    asked = [str(task["question"]) for task in TASKS if task["subject"]]
    hashes = {question_hash(normalise(question)) for question in asked}
    hashes |= {planned.prompt_sha256 for planned in clear.of(QuestionPlanned) if under_of(planned)}
    hashes |= {memory_id(**{name: getattr(each, name) for name in HASHED}) for each in private_memories(run)}
    told = "".join(repr(record) for record in sealed.records())
    assert len(hashes) > len(asked)
    assert not [guess for guess in hashes if guess in told]


def test_the_vector_of_a_memory_is_sealed_like_its_texts(run: Run) -> None:
    learned = private_memories(run)
    for memory in learned:
        vector = clear_vector(memory.embedding, memory.question, memory.recognise, memory.reasoning)
        assert np.linalg.norm(np.frombuffer(vector, "<f4")) == pytest.approx(1)
        assert vector not in memory.embedding
    assert learned


def test_what_is_erased_is_in_nothing_that_prompts_are_made_from(run: Run) -> None:
    destroy_key(run.log_path, "customer-1")
    reader = LogReader(run.log_path)
    memory = state_of(run, reader).memory
    erased = {row.memory_id for row in memory.rows() if any(map(is_erased, (row.question, row.answer)))}
    types = {row.task_type for row in memory.rows()}
    shown = {name for index in ("success", "failure") for each in types for name in memory.slice(index, each).ids}
    assert erased and shown and not erased & shown


def test_with_its_key_a_customer_is_gone_and_nothing_else(run: Run) -> None:
    before, told = digests(run), shown(run)
    assert destroy_key(run.log_path, "customer-1")
    assert not destroy_key(run.log_path, "customer-1")
    assert digests(run) == before
    assert verify(run).ok
    reader = LogReader(run.log_path)
    assert latest_snapshot(run.snapshots_path, reader) is not None
    after = shown(run)
    assert CANARIES["customer-1"] in told
    assert CANARIES["customer-1"] not in after
    assert CANARIES["customer-2"] in after
    assert "[erased " in after


def test_a_reader_without_keys_shows_no_private_text_from_a_snapshot_either(run: Run) -> None:
    for is_opened in (True, False):
        reader = LogReader(run.log_path, opened=is_opened)
        kept = latest_snapshot(run.snapshots_path, reader)
        assert kept is not None
        assert kept.digests() == state_of(run, reader).digests() == fold(reader).digests()
        texts = repr([*kept.memory.rows()])
        assert all((canary in texts) is is_opened for canary in CANARIES.values())


def test_a_copy_has_no_key_until_it_is_given_the_file(run: Run, tmp_path: Path) -> None:
    backup(run, str(tmp_path / "backup"))
    restore(str(tmp_path / "backup"), runs_dir=tmp_path / "copies", name="pears")
    copy = Run("pears", tmp_path / "copies" / "pears")
    assert verify(copy).ok
    assert digests(copy) == digests(run)
    assert not any(canary in shown(copy) for canary in CANARIES.values())
    shutil.copy(run.path / "keys", copy.path / "keys")
    assert shown(copy) == shown(run).replace(str(run.path), str(copy.path))


def test_where_all_that_was_held_out_is_erased_there_is_no_exam_and_the_line_says_why(run: Run) -> None:
    world = reopen_world(LogReader(run.log_path), data_dir=None)
    assert held_out_sample(world.setting, None)
    with pytest.raises(PrerequisiteError, match="None of the held-out questions can be read"):
        held_out_sample(world.setting._replace(held_out=()), None)
