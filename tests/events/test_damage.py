"""Whatever is done to a log is noticed, or harmless; `python -m tests.events.damage` does it thousands of times."""

from pathlib import Path
from random import Random

import pytest

from tests.events.damage import BAD, KINDS, Case, build, cases, explore, harm, judge, table, truth

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three runs."""
    folder = tmp_path_factory.mktemp("damage")
    build(folder)
    return folder


def test_no_harm_to_any_file_gives_wrong_data_or_stops_the_interpreter(base: Path) -> None:
    results = explore(base, list(cases(base, 30, seed=11)))
    assert len(results) == 30
    assert [result for result in results if result.outcome in BAD] == [], table(results)
    assert {result.case.kind for result in results} == set(KINDS)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "missing"])
def test_every_kind_of_harm_changes_the_file(tmp_path: Path, kind: str) -> None:
    file, data = tmp_path / "some.wal", bytes(700) + b"data" * 100
    for seed in range(30):
        file.write_bytes(data)
        harm(file, kind, Random(seed))
        assert file.read_bytes() != data


def test_a_crash_of_the_interpreter_is_seen_and_the_other_cases_go_on(base: Path) -> None:
    wanted = list(cases(base, 3, seed=1))
    killer = Case("rest", "log/HEAD", "kill", 0)
    outcomes = [result.outcome for result in explore(base, [wanted[0], killer, *wanted[1:]], processes=1)]
    assert outcomes[1] == "crash" and "crash" not in outcomes[:1] + outcomes[2:] and len(outcomes) == 4


def test_wrong_data_is_told_from_right(base: Path, tmp_path: Path) -> None:
    known = truth(base / "killed")
    case = Case("killed", "snapshots/" + min((base / "killed" / "snapshots").iterdir()).name, "flip", 1)
    assert judge(base, case, known, tmp_path).outcome == "harmless"
    assert judge(base, case, known._replace(facts=b""), tmp_path).outcome == "wrong"
    assert judge(base, case, known._replace(digests=b""), tmp_path).outcome == "wrong"
    assert judge(base, case, known._replace(unsealed=b""), tmp_path).outcome == "wrong"
