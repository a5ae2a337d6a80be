"""Parts of other packages: found by entry point, imported only when asked for, never in the place of our own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mage_es.engine.benchmarks import registry
from mage_es.engine.benchmarks.registry import names, open_benchmark, own_defaults
from mage_es.engine.plugins import load, plugins
from mage_es.events.errors import PrerequisiteError

PLUGIN = """
from mage_es.engine.benchmarks.gsm8k import GSM8K
from mage_es.engine.benchmarks.registry import Row
from mage_es.engine.benchmarks.wordmath.benchmark import WordMath

DEFINED = GSM8K._replace(name="defined")


def opened(seed, data_dir):
    return WordMath(seed)


ROW = Row(opened, defaults={"pool": 7})
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """A function that puts a package with entry points (name=value) of the benchmarks' group on the path."""

    def put(source: str, **entries: str) -> None:
        (tmp_path / "my_plugin.py").write_text(source)
        info = tmp_path / "my_plugin-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugin\nVersion: 1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in entries.items())
        (info / "entry_points.txt").write_text(f"[mage_es.benchmarks]\n{lines}")
        monkeypatch.syspath_prepend(str(tmp_path))
        forget()

    yield put
    monkeypatch.undo()
    sys.modules.pop("my_plugin", None)
    forget()


def forget() -> None:
    plugins.cache_clear()
    registry._found.cache_clear()


def test_a_definition_a_function_and_a_row_each_become_a_benchmark(install: Install, tmp_path: Path) -> None:
    install(PLUGIN, defined="my_plugin:DEFINED", opened="my_plugin:opened", rowed="my_plugin:ROW")
    assert {"defined", "opened", "rowed"} < set(names())
    assert "my_plugin" not in sys.modules
    (tmp_path / "defined").mkdir()
    for file in ("train.jsonl", "test.jsonl"):
        (tmp_path / "defined" / file).write_text('{"question": "1 + 1?", "answer": "#### 2"}\n')
    assert open_benchmark("defined", seed=1, data_dir=tmp_path).questions("test")[0].gold == "2"
    assert open_benchmark("opened", seed=1).name == "wordmath"
    assert own_defaults("rowed") == {"pool": 7}


def test_what_is_built_in_cannot_be_replaced(install: Install) -> None:
    install(PLUGIN, truthworld="my_plugin:opened")
    assert open_benchmark("truthworld", seed=1).name == "truthworld"


def test_a_plugin_that_cannot_be_imported_is_named_with_its_package(install: Install) -> None:
    install("raise RuntimeError('no luck')", broken="my_plugin:X")
    with pytest.raises(PrerequisiteError, match=r"broken \(my_plugin:X, of my-plugin\).*no luck.*uninstall my-plugin"):
        load("mage_es.benchmarks", "broken")
