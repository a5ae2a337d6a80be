"""Cells of a matrix file: which there are, what they are called, what is refused."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.study.matrix import plan
from mage_es.engine.study.matrix.plan import Matrix, cells, read_matrix
from mage_es.events.errors import UsageError


def matrix(**content: Any) -> Matrix:
    return msgspec.convert({"benchmarks": ["wordmath"], "seeds": [1], **content}, Matrix)


def test_the_sample_is_a_matrix_of_two_benchmarks_two_systems_and_two_seeds() -> None:
    names = [cell.name for cell in cells(read_matrix(Path(plan.__file__).with_name("sample.toml")))]
    assert names == [
        f"{benchmark}-{variant}-s{seed}"
        for benchmark in ("wordmath", "workshop")
        for variant in ("full", "no-success")
        for seed in (42, 43)
    ]


def test_models_that_are_named_stand_in_the_name_and_the_benchmarks_own_do_not() -> None:
    found = cells(matrix(learners=["benchmark", "vllm/Qwen/Qwen3-8B?a=1"], teachers=["anthropic/claude-opus-4-8"]))
    assert [cell.name for cell in found] == [
        "wordmath-claude-opus-4-8-full-s1",
        "wordmath-Qwen3-8B-claude-opus-4-8-full-s1",
    ]


def test_a_name_stays_when_seeds_variants_and_benchmarks_are_added() -> None:
    small = {cell.name for cell in cells(matrix())}
    large = {
        cell.name
        for cell in cells(matrix(benchmarks=["gsm8k", "wordmath"], seeds=[1, 2], teachers=["benchmark", "x/y"]))
    }
    assert small <= large


def test_settings_of_the_variant_win_over_the_benchmarks_and_those_over_all() -> None:
    found = cells(
        matrix(
            benchmarks=["wordmath", "gsm8k"],
            settings={"pool": 1, "iterations": 1},
            benchmark={"gsm8k": {"pool": 2}},
            variants={"full": {}, "large": {"pool": 3}},
        )
    )
    assert {cell.name: cell.settings["pool"] for cell in found} == {
        "wordmath-full-s1": 1,
        "wordmath-large-s1": 3,
        "gsm8k-full-s1": 2,
        "gsm8k-large-s1": 3,
    }
    assert all(cell.settings["iterations"] == 1 for cell in found)


def test_a_baseline_has_one_cell_however_many_teachers() -> None:
    found = cells(matrix(teachers=["a/x", "a/y"], variants={"full": {}, "react": {"baseline": "react"}}))
    assert [(cell.name, cell.baseline) for cell in found] == [
        ("wordmath-x-full-s1", ""),
        ("wordmath-react-s1", "react"),
        ("wordmath-y-full-s1", ""),
    ]
    assert "baseline" not in found[1].settings


def test_what_is_excluded_is_no_cell() -> None:
    left_out = [{"benchmark": "gsm8k", "seed": 2}]
    found = cells(matrix(benchmarks=["wordmath", "gsm8k"], seeds=[1, 2], exclude=left_out))
    assert [cell.name for cell in found] == ["wordmath-full-s1", "wordmath-full-s2", "gsm8k-full-s1"]


@pytest.mark.parametrize(
    ("content", "part"),
    [
        ({"learners": ["a/m", "b/m"]}, "different last parts"),
        ({"benchmark": {"gsm9k": {}}}, "[benchmark.gsm9k]"),
        ({"exclude": [{"model": "x"}]}, "'model'"),
        ({"settings": {"seed": 3}}, "seed is one of"),
        ({"variants": {"full": {"guidance": "x"}}}, "guidance is one of"),
    ],
)
def test_what_has_no_one_meaning_is_refused(content: dict[str, Any], part: str) -> None:
    with pytest.raises(UsageError) as refused:
        cells(matrix(**content))
    assert part in str(refused.value)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("benchmarks = [", "not valid TOML"),
        ('benchmarks = ["x"]', "seeds"),
        ('benchmarks = ["x"]\nseeds = []', "mage-es matrix --help"),
        ('benchmarks = ["x"]\nseeds = [1]\nvariant = 3', "variant"),
    ],
)
def test_a_file_that_is_no_matrix_is_a_usage_error(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "m.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match=r".") as refused:
        read_matrix(path)
    assert part in str(refused.value)
    with pytest.raises(UsageError, match="cannot be read"):
        read_matrix(tmp_path / "none.toml")
