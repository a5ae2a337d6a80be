"""The LanceDB tables hold the memory, exactly, and can be lost without loss."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import lancedb
import msgspec
import numpy as np
import pytest

from mage_es.engine.testing.stages import flat
from mage_es.engine.testing.strategies import history
from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary import Event, MemoryAppended, MemoryReinforced
from mage_es.projections.lance import COMPACT_EVERY, MemoryTables, read_digest, read_rows
from mage_es.projections.memory import Memory

EVENTS = [event for event in flat(history(seed=21, iterations=5, questions=6)) if type(event) in Memory.reads]
SAMPLE = next(event for event in EVENTS if isinstance(event, MemoryAppended))


def memory_of(events: list[Event]) -> Memory:
    memory = Memory()
    for event in events:
        memory.apply(event)
    return memory


def versions(path: Path) -> dict[str, int]:
    database = lancedb.connect(path)
    return {name: database.open_table(name).version for name in database.list_tables().tables}


def test_what_is_read_back_has_the_digest_of_the_memory(tmp_path: Path) -> None:
    memory = memory_of(EVENTS)

    assert MemoryTables(tmp_path / "tables").write(memory) == len(memory)

    rows = read_rows(tmp_path / "tables")
    assert [row.memory_id for row in rows] == sorted(row.memory_id for row in memory.rows())
    assert rows == [memory.row(row.memory_id) for row in rows]
    assert read_digest(tmp_path / "tables") == memory.digest()
    assert set(versions(tmp_path / "tables")) == {"success_memories", "failure_memories", "principles"}


def test_writing_after_every_few_events_ends_at_the_same_tables(tmp_path: Path) -> None:
    memory, tables, written = Memory(), MemoryTables(tmp_path), 0
    for number, event in enumerate(EVENTS):
        memory.apply(event)
        if number % 9 == 0:
            written += tables.write(memory)
    written += tables.write(memory)

    assert read_digest(tmp_path) == memory.digest()
    changed_later = sum(type(event) is not MemoryAppended for event in EVENTS)
    assert len(memory) <= written <= len(memory) + changed_later


def test_only_rows_that_changed_are_written_also_by_a_sink_that_finds_the_tables(tmp_path: Path) -> None:
    memory = memory_of(EVENTS)
    MemoryTables(tmp_path).write(memory)
    before = versions(tmp_path)

    found = MemoryTables(tmp_path)
    assert found.write(memory) == 0
    assert versions(tmp_path) == before

    memory.apply(MemoryReinforced(memory_id=SAMPLE.memory_id, question_id="q", count=9))
    assert found.write(memory) == 1
    assert read_digest(tmp_path) == memory.digest()
    assert {name for name in before if versions(tmp_path)[name] != before[name]} == {"success_memories"}


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

    MemoryTables(tmp_path).write(memory)

    assert {row.memory_id: row.embedding for row in read_rows(tmp_path)} == {
        f"m{i}": vector for i, vector in enumerate(vectors)
    }


def test_tables_made_before_any_vector_was_known_are_made_anew(tmp_path: Path) -> None:
    bare = msgspec.structs.replace(SAMPLE, memory_id="bare", outcome="principle", embedding=b"")
    memory, tables = memory_of([bare]), MemoryTables(tmp_path)
    tables.write(memory)
    assert read_digest(tmp_path) == memory.digest()

    memory.apply(SAMPLE)
    assert tables.write(memory) == 2
    assert read_digest(tmp_path) == memory.digest()


def test_a_vector_with_a_value_that_is_no_number_is_refused(tmp_path: Path) -> None:
    nan = np.array([np.nan] * 8, dtype="<f4").tobytes()

    with pytest.raises(PrerequisiteError, match="not a number"):
        MemoryTables(tmp_path).write(memory_of([msgspec.structs.replace(SAMPLE, embedding=nan)]))


def test_tables_of_another_history_are_replaced(tmp_path: Path) -> None:
    MemoryTables(tmp_path).write(memory_of(EVENTS))
    earlier = memory_of(EVENTS[: len(EVENTS) // 2])

    assert MemoryTables(tmp_path).write(earlier) == len(earlier)
    assert read_digest(tmp_path) == earlier.digest()


def test_damaged_tables_are_made_anew(tmp_path: Path) -> None:
    memory, random = memory_of(EVENTS), Random(5)
    MemoryTables(tmp_path / "whole").write(memory)
    files = sorted(path for path in (tmp_path / "whole").rglob("*") if path.is_file())

    rebuilt = 0
    for number in range(24):
        torn = tmp_path / str(number)
        shutil.copytree(tmp_path / "whole", torn)
        victim = torn / random.choice(files).relative_to(tmp_path / "whole")
        data = victim.read_bytes()
        victim.write_bytes((data[: len(data) // 2], bytes(len(data)), b"")[number % 3])
        rebuilt += MemoryTables(torn).write(memory) > 0
        assert read_digest(torn) == memory.digest(), victim
    assert rebuilt > 3


def test_many_small_writes_are_compacted(tmp_path: Path) -> None:
    memory, tables = Memory(), MemoryTables(tmp_path)
    for i in range(COMPACT_EVERY):
        memory.apply(msgspec.structs.replace(SAMPLE, memory_id=f"m{i}"))
        tables.write(memory)

    table = lancedb.connect(tmp_path).open_table("success_memories")
    assert table.stats()["fragment_stats"]["num_fragments"] == 1
    assert table.index_stats("task_type_idx").num_unindexed_rows == 0
    assert read_digest(tmp_path) == memory.digest()


def test_the_memory_of_nothing_is_nothing_on_disk(tmp_path: Path) -> None:
    assert MemoryTables(tmp_path).write(Memory()) == 0
    assert read_digest(tmp_path) == Memory().digest()


def test_nothing_reaches_the_terminal_and_importing_the_sink_loads_no_lancedb(tmp_path: Path) -> None:
    script = f"""
import sys
from pathlib import Path
import msgspec
from mage_es.events.vocabulary import MemoryAppended
from mage_es.projections.lance import MemoryTables, read_digest
from mage_es.projections.memory import Memory
assert "lancedb" not in sys.modules and "pyarrow" not in sys.modules
memory = Memory()
memory.apply(msgspec.msgpack.decode({msgspec.msgpack.encode(SAMPLE)!r}, type=MemoryAppended))
MemoryTables(Path({str(tmp_path)!r})).write(memory)
MemoryTables(Path({str(tmp_path)!r})).write(memory)
assert read_digest(Path({str(tmp_path)!r})) == memory.digest()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_where_the_disk_refuses_that_is_told_as_no_loss(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    blocked = tmp_path / "tables"
    blocked.mkdir()
    (blocked / "success_memories.lance").touch()  # a file where a table's folder is to be
    for path in (tmp_path / "file" / "tables", blocked):
        with pytest.raises(PrerequisiteError, match="nothing recorded is lost"):
            MemoryTables(path).write(memory_of(EVENTS))
