"""A file that somebody else wrote is read or refused: by name, with exit code 4 (2 for settings), in little memory."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mage_es.engine.benchmarks.files import contents, read_toml
from mage_es.engine.run.pricing import read_prices
from mage_es.engine.study.matrix.plan import read_matrix
from mage_es.events.errors import PrerequisiteError, UsageError

DEEP = "[" * 100_000 + "]" * 100_000
MIB = 2**20
MOST_MIB = 16
RUN = """
import json, re, sys
from pathlib import Path
from mage_es.cli import main

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024

def run(words):
    try:
        main(words)
    except SystemExit as exited:
        return exited.code

run(["evolve", "good.jsonl", "--dry-run"])
begun = peak()
for words in json.loads(sys.stdin.read()):
    print("begin", *words, file=sys.stderr)
    code = run(words)
    print("end", code, peak() - begun, file=sys.stderr)
"""


def bombs(folder: Path) -> list[str]:
    """Write files that grow where they are read, and return their names."""
    good = '{"question": "How many?", "answer": "4"}\n'
    texts = {
        "deep.jsonl": f'{{"question": "a", "answer": "1", "x": {DEEP}}}\n',
        "deep.json": DEEP,
        "deep-objects.json": "[" + '{"a":' * 100_000 + "1" + "}" * 100_000 + "]",
        "deep-options.csv": f'question,answer,options\na,b,"{DEEP}"\n',
        "long-record.jsonl": '{"question": "a", "answer": "1", "x": [' + "[]," * (3 * MIB) + "[]]}\n",
        "many-values.json": "[" + "1," * (7 * MIB) + "1]",
        "many-lines.jsonl": good + "\n" * (15 * MIB) + good,
        "many-fields.csv": "question,answer\n" + "," * (15 * MIB),
        "never-closed.csv": 'question,answer\n"' + "a,b\n" * (3 * MIB),
        "many-columns.tsv": "\t".join(f"c{k}" for k in range(100_000)) + "\n" + "x\n" * 100_000,
        "long-header.csv": "c" * (12 * MIB),
        "latin.csv": "question,answer\na,\udce9\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, errors="surrogateescape")
    packed = {"spaces": b" " * (60 * MIB), "tasks": good.encode() * (MIB // 3), "none": b"{}\n" * (5 * MIB)}
    for name, content in packed.items():
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(content, 1))
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 10_000, pa.int32()), pa.array(["y" * MIB]))
    tables = {
        "repeated.parquet": {"question": repeated, "answer": ["1"] * 10_000},
        "in-lists.parquet": {"question": ["a"] * 9, "answer": [["z" * MIB] * 20] * 9},
        "blanks.parquet": {"question": [" " * (30 * MIB)], "answer": ["1"]},
        "nothing.parquet": {"question": pa.nulls(1_000_000, pa.string())},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / name, compression="zstd")
    (folder / "cut.jsonl.gz").write_bytes((folder / "none.jsonl.gz").read_bytes()[:500])
    (folder / "cut.parquet").write_bytes((folder / "repeated.parquet").read_bytes()[:-20])
    return [path.name for path in sorted(folder.iterdir())]


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of memory is read from /proc")
def test_what_grows_where_it_is_read_is_refused_by_name_in_bounded_memory(tmp_path: Path) -> None:
    names = bombs(tmp_path)
    (tmp_path / "good.jsonl").write_text("".join(f'{{"question": "Is it {k}?", "answer": "{k}"}}\n' for k in range(9)))
    words = [["evolve", "--dry-run", name] for name in names]
    words += [["score", "good.jsonl", "--predictions", name] for name in names if name.startswith("deep")]
    environment = {**os.environ, "MAGE_ES_MAX_FILE_MIB": str(MOST_MIB), "ARROW_DEFAULT_MEMORY_POOL": "system"}
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(words),
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    said = done.stderr.split("begin ")[1:]
    assert len(said) == len(words), done.stderr[-2000:]
    for (*_, name), told in zip(words, said, strict=True):
        message, _, ended = told.partition("end ")
        code, grown = map(int, ended.split())
        assert code == 4 and f"mage-es: {name}" in message and len(message) < 2_000, message[:2000]
        assert grown < 6 * MOST_MIB, (name, grown)


def test_the_limit_can_be_raised_and_is_named_where_it_is_no_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "pages.txt.gz"
    path.write_bytes(gzip.compress(b" " * (3 * MIB)))
    monkeypatch.setenv("MAGE_ES_MAX_FILE_MIB", "2")
    with pytest.raises(PrerequisiteError, match=r"pages.txt.gz holds .* 2 MiB .* MAGE_ES_MAX_FILE_MIB=8"):
        contents(path)
    monkeypatch.setenv("MAGE_ES_MAX_FILE_MIB", "8")
    assert len(contents(path)) == 3 * MIB
    monkeypatch.setenv("MAGE_ES_MAX_FILE_MIB", "-1")
    with pytest.raises(UsageError, match="'-1' is not valid"):
        contents(path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"pool = 1\nx = " + b"[" * 5_000, "nested too deeply, apparently in line 2"),
        (b"x" + b".x" * 1_000 + b" = 1", "nested too deeply, apparently in line 1"),
        (b"x = " + b"9" * 5_000, "not valid TOML"),
        (b"pool = 1\n# \xe9", "line 2, is not UTF-8"),
        (b"#" * 70_000, "65,536 bytes"),
    ],
    ids=["arrays", "tables", "digits", "latin", "long"],
)
def test_settings_that_nobody_would_write_are_refused_by_file_and_line(
    tmp_path: Path, content: bytes, told: str
) -> None:
    path = tmp_path / "mage-es.toml"
    path.write_bytes(content)
    for read in (read_toml, read_prices, read_matrix):
        with pytest.raises(UsageError, match=rf"mage-es\.toml.*{told}"):
            read(path)
