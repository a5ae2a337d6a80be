"""Texts of subjects: nowhere in clear but under their keys, and gone with a key while every digest stays."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest

from mage_es.engine.config import Config
from mage_es.engine.models.builtin import open_builtin
from mage_es.engine.models.registry import Models
from mage_es.engine.rules.harvest import memory_id
from mage_es.engine.rules.leaks import texts_of
from mage_es.engine.rules.near_duplicates import normalise, question_hash
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.verbs.backup import backup, restore
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.memory import memories
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.show import show
from mage_es.engine.verbs.verify import verify
from mage_es.events.care.export import export
from mage_es.events.disk.keys import destroy_key
from mage_es.events.errors import Interrupted
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, MemoryAppended, ModelCalled, QuestionPlanned
from mage_es.events.vocabulary.private import clear_vector, is_erased, under_of
from mage_es.projections.snapshots import latest_snapshot

pytestmark = pytest.mark.slow

CANARIES = {f"customer-{number}": f"zaphod{number}quux" for number in range(4)}
TASKS = [
    {
        "id": f"row-{number}",
        "question": f"{CANARIES.get(who, 'neighbour')} has {number} pears and buys {7 * number} at shop {number}. "
        "How many pears are there?",
        "answer": f"{8 * number} of {CANARIES.get(who, 'neighbour')}",
        "subject": who,
    }
    for number in range(1, 49)
    for who in [f"customer-{number % 8}" if number % 8 < 4 else ""]
]
HASHED = ("outcome", "kind", "task_type", "question", "answer", "reasoning")
SUBJECTS = {str(task["id"]): task["subject"] for task in TASKS}


class Echo:
    """Answers every other question rightly, and repeats all that it was shown."""

    name = "echo"
    made = 0

    async def complete(self, request: Request) -> Completion:
        self.made += 1
        who, rest = request.prompt.rpartition(" has ")[::2]
        number = int(rest.split()[0])
        right = number if number % 2 else 0
        told = request.prompt.replace("Answer", "")
        return Completion(text=f"{told}\nAnswer: {8 * right} of {who.split()[-1]}", input_tokens=1, output_tokens=1)


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run over tasks of four customers and of none, stopped and resumed, with an exam. Shared: only copy it."""
    config = Config(benchmark="tasks/pears", execution="echo", guidance="builtin/reference")
    runs = tmp_path_factory.mktemp("runs")
    echo = Echo()
    models = Models(echo, open_builtin("builtin/reference", "guidance"), None)
    stopping = Runtime(stop=lambda: echo.made >= 20, workers=1)
    small = {"iterations": 3, "pool": 12, "anchors": 4, "held_out": 6, "teacher_sees": "solutions"}
    config = msgspec.structs.replace(config, **small)
    with pytest.raises(Interrupted):
        evolve(config, tasks=TASKS, runs_dir=runs, run_id="pears", models=models, runtime=stopping)
    run = Run("pears", runs / "pears")
    resume(run, models=models)
    assert echo.made == sum(call.tier == "execution" for call in LogReader(run.log_path).of(ModelCalled))
    examine(run, execution=Echo())
    return run


@pytest.fixture
def run(learned: Run, tmp_path: Path) -> Run:
    return Run("pears", Path(shutil.copytree(learned.path, tmp_path / "runs" / "pears")))


def texts_in(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield all that the files of a folder hold, Parquet also as values: its columns are compressed."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes().decode(errors="replace").casefold()
            if path.suffix == ".parquet":
                yield path, json.dumps(pq.read_table(path).to_pylist(), default=repr).casefold()


def in_clear(folder: Path) -> set[str]:
    """Return the canaries that a folder holds, and where."""
    return {
        f"{name} in {path.relative_to(folder)}"
        for path, text in texts_in(folder)
        for name in (*CANARIES, *CANARIES.values())
        if name in text and path.name != "keys"
    }


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
        vector = clear_vector(memory.embedding, memory.question, memory.reasoning)
        assert np.linalg.norm(np.frombuffer(vector, "<f4")) == pytest.approx(1)
        assert vector not in memory.embedding
    assert learned


def test_what_is_erased_is_in_nothing_that_prompts_are_made_from(run: Run) -> None:
    destroy_key(run.log_path, "customer-1")
    reader = LogReader(run.log_path)
    memory = state_of(run, reader).memory
    erased = {row.memory_id for row in memory.rows() if any(map(is_erased, (row.question, row.answer)))}
    shown = {name for index in ("success", "failure") for name in memory.slice(index, ONE_TYPE).ids}
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


def test_a_copy_has_no_key_until_it_is_given_the_file(run: Run, tmp_path: Path) -> None:
    backup(run, str(tmp_path / "backup"))
    restore(str(tmp_path / "backup"), runs_dir=tmp_path / "copies", name="pears")
    copy = Run("pears", tmp_path / "copies" / "pears")
    assert verify(copy).ok
    assert digests(copy) == digests(run)
    assert not any(canary in shown(copy) for canary in CANARIES.values())
    shutil.copy(run.path / "keys", copy.path / "keys")
    assert shown(copy) == shown(run).replace(str(run.path), str(copy.path))
