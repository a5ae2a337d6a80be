"""What `fetch` brings is what the benchmark reads, under the names that it has upstream."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mage_es.engine.bench.fetching import SOURCES, fetch
from mage_es.engine.benchmarks.registry import open_benchmark

from .conftest import Files


def finqa(number: int) -> dict[str, object]:
    qa = {"question": f"What is {number} plus 1?", "program": f"add({number}, 1)", "exe_ans": number + 1.0}
    return {"id": f"q-{number}", "pre_text": [], "post_text": [], "table": [["a", "1"]], "qa": qa}


def medqa(number: int) -> dict[str, object]:
    options = {"A": "one", "B": "two"}
    return {"question": f"Which of these is {number}?", "options": options, "answer_idx": "A", "meta_info": "step1"}


def realmath(number: int) -> dict[str, object]:
    return {"question": f"What is the value of $x_{number}$?", "answer": f"${number}$", "theorem": "t", "context": None}


MAKE = {"finqa": finqa, "medqa": medqa, "realmath": realmath}


def content(file: str, records: list[dict[str, object]]) -> bytes:
    if file.endswith(".parquet"):
        sink = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(records), sink)
        return sink.getvalue()
    if file.endswith(".json"):
        return json.dumps(records).encode()
    return "".join(json.dumps(record) + "\n" for record in records).encode()


@pytest.mark.parametrize("name", MAKE)
def test_fetched_files_make_the_benchmark(name: str, tmp_path: Path, server: Files) -> None:
    files = list(SOURCES[name].files)
    for place, file in enumerate(files):
        server.content[f"/{file}"] = content(file, [MAKE[name](10 * place + each) for each in range(10)])
    said: list[str] = []
    fetched = fetch(name, tmp_path, base_url=server.url, announce=said.append)
    assert [file.name for file in fetched] == files
    assert said[0] == f"{name}: licence {SOURCES[name].licence}"
    benchmark = open_benchmark(name, seed=0, data_dir=tmp_path)
    counts = {split: len(benchmark.questions(split)) for split in ("evolution", "test")}  # type: ignore[arg-type]
    assert sum(counts.values()) == 10 * len(files)
    assert counts["test"] == 10 or name == "realmath"
