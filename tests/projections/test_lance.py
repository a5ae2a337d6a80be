"""The LanceDB tables hold the memory, exactly."""

import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary import Event, MemoryAppended
from mage_es.projections.lance import read_digest, read_rows, write_tables
from mage_es.projections.memory import Memory
from tests.kit.stages import flat
from tests.kit.strategies import history

EVENTS = [event for event in flat(history(seed=21, iterations=5, questions=6)) if type(event) in Memory.reads]
SAMPLE = next(event for event in EVENTS if isinstance(event, MemoryAppended))


def memory_of(events: list[Event]) -> Memory:
    memory = Memory()
    for event in events:
        memory.apply(event)
    return memory


def test_what_is_read_back_has_the_digest_of_the_memory(tmp_path: Path) -> None:
    memory = memory_of(EVENTS)

    write_tables(tmp_path / "tables", memory)

    rows = read_rows(tmp_path / "tables")
    assert [row.memory_id for row in rows] == sorted(row.memory_id for row in memory.rows())
    assert rows == [memory.row(row.memory_id) for row in rows]
    assert read_digest(tmp_path / "tables") == memory.digest()


def test_there_is_a_table_for_each_outcome_that_the_memory_has_with_an_index_of_task_types(tmp_path: Path) -> None:
    import lancedb  # here, since it takes a second, and every process of the suite reads this file

    write_tables(tmp_path, memory_of(EVENTS))

    database = lancedb.connect(tmp_path)
    assert set(database.list_tables().tables) == {"success_memories", "failure_memories", "principles"}
    table = database.open_table("success_memories")
    assert table.index_stats("task_type_idx").num_unindexed_rows == 0
    near = table.search(np.frombuffer(SAMPLE.embedding, dtype="<f4")).where(f"task_type = '{SAMPLE.task_type}'")
    assert near.limit(1).to_list()[0]["memory_id"] == SAMPLE.memory_id


def test_vectors_survive_bit_for_bit_and_a_missing_one_stays_missing(tmp_path: Path) -> None:
    odd = np.array([0.1, -0.0, 1e-45, 3.4e38, -np.inf, 2**-126, 1 / 3, 7], dtype="<f4").tobytes()
    noise = np.random.default_rng(0).integers(0, 2**32, (200, 8), dtype=np.uint32)
    noise[(noise & 0x7F800000) == 0x7F800000] = 1  # no infinities of another sign, no NaN
    vectors = [odd, b"", *(row.tobytes() for row in noise)]
    memory = memory_of(
        [
            msgspec.structs.replace(SAMPLE, memory_id=f"m{i}", outcome="principle", embedding=vector)
            for i, vector in enumerate(vectors)
        ]
    )

    write_tables(tmp_path, memory)

    assert {row.memory_id: row.embedding for row in read_rows(tmp_path)} == {
        f"m{i}": vector for i, vector in enumerate(vectors)
    }


def test_a_memory_without_any_vector_is_written_too(tmp_path: Path) -> None:
    memory = memory_of([msgspec.structs.replace(SAMPLE, memory_id="bare", outcome="principle", embedding=b"")])
    write_tables(tmp_path, memory)
    assert read_digest(tmp_path) == memory.digest()


def test_a_vector_with_a_value_that_is_no_number_is_refused(tmp_path: Path) -> None:
    nan = np.array([np.nan] * 8, dtype="<f4").tobytes()

    with pytest.raises(PrerequisiteError, match="not a number"):
        write_tables(tmp_path, memory_of([msgspec.structs.replace(SAMPLE, embedding=nan)]))


def test_the_memory_of_nothing_is_no_table(tmp_path: Path) -> None:
    write_tables(tmp_path, Memory())
    assert read_digest(tmp_path) == Memory().digest()


@pytest.mark.slow
def test_nothing_reaches_the_terminal_and_importing_the_module_loads_no_lancedb(tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
import msgspec
from mage_es.events.vocabulary import MemoryAppended
from mage_es.projections.lance import read_digest, write_tables
from mage_es.projections.memory import Memory
assert "lancedb" not in sys.modules and "pyarrow" not in sys.modules
memory = Memory()
memory.apply(msgspec.msgpack.decode({msgspec.msgpack.encode(SAMPLE)!r}, type=MemoryAppended))
write_tables(Path({str(tmp_path)!r}), memory)
assert read_digest(Path({str(tmp_path)!r})) == memory.digest()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_where_the_disk_refuses_that_no_event_is_touched(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    blocked = tmp_path / "tables"
    blocked.mkdir()
    (blocked / "success_memories.lance").touch()  # a file where a table's folder is to be
    for path in (tmp_path / "file" / "tables", blocked):
        with pytest.raises(PrerequisiteError, match="the log is not touched"):
            write_tables(path, memory_of(EVENTS))
