"""Data sets of the Hugging Face hub, read by its own library from a local folder; skipped without that library."""

import importlib.util
import json
from pathlib import Path

import pytest

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.events.errors import PrerequisiteError

HAS_DATASETS = importlib.util.find_spec("datasets") is not None


@pytest.mark.skipif(HAS_DATASETS, reason="the library `datasets` is installed")
def test_without_the_library_the_command_that_installs_it_is_named() -> None:
    with pytest.raises(PrerequisiteError, match=r"python -m pip install datasets$"):
        open_benchmark("tasks/hf:owner/quiz?scorer=exact", seed=1)


@pytest.mark.skipif(not HAS_DATASETS, reason="needs the library `datasets`: python -m pip install datasets")
@pytest.mark.filterwarnings("ignore")
def test_the_splits_of_a_data_set_are_what_is_learned_and_what_is_examined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "quiz").mkdir()
    for split in ("train", "test"):
        rows = [{"question": f"{split} {k}?", "answer": str(k)} for k in range(3)]
        (tmp_path / "quiz" / f"{split}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    opened = open_benchmark(f"tasks/hf:{tmp_path}/quiz?scorer=exact", seed=1)
    assert [q.question for q in opened.questions("evolution")] == ["train 0?", "train 1?", "train 2?"]
    assert [q.question for q in opened.questions("test")] == ["test 0?", "test 1?", "test 2?"]
