"""What a run needs from the machine."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from mage_es.engine.config import Config
from mage_es.engine.providers import doctor

NOW = int(datetime(2026, 11, 20, tzinfo=UTC).timestamp() * 1e6)


@pytest.mark.slow
def test_a_healthy_machine_has_no_failed_check(tmp_path: Path) -> None:
    found = doctor.diagnose(Config(benchmark="wordmath"), runs_dir=tmp_path / "runs", data_dir=None, now=NOW).checks
    assert [finding for finding in found if finding.state == "failed"] == []
    assert {"tasks", "mage-es", "execution model", "embedder", "runs folder", "clock"} <= {
        finding.name for finding in found
    }
    assert not (tmp_path / "runs").exists()


def test_whatever_is_not_in_order_says_how_to_mend_it(tmp_path: Path) -> None:
    config = Config(benchmark="gsm8k", execution="builtin/analogue", embedder="hsah")
    found = doctor.diagnose(config, runs_dir=tmp_path, data_dir=tmp_path, now=0).checks
    wrong = {finding.name: finding for finding in found if finding.state != "ok"}
    assert {"tasks", "execution model", "embedder", "clock"} <= set(wrong)
    assert all(finding.remedy for finding in wrong.values())
    assert "builtin/analogist" in wrong["execution model"].detail
    assert f"mage-es fetch gsm8k --data-dir {tmp_path}" in wrong["tasks"].remedy


@pytest.mark.slow
def test_what_is_configured_comes_first(tmp_path: Path) -> None:
    config = Config(benchmark="wordmath", execution="openai/exec?base_url=http://127.0.0.1:9/v1")
    found = doctor.diagnose(config, runs_dir=tmp_path, data_dir=None, now=NOW).checks
    assert [each.name for each in found[:3]] == ["tasks", "execution model", "execution endpoint"]


def machine(runs_dir: Path, now: int = NOW) -> dict[str, doctor.DoctorCheck]:
    return {each.name: each for each in doctor.machine(runs_dir, now)}


def test_the_versions_of_what_was_installed_with_it_are_told(tmp_path: Path) -> None:
    assert {"msgspec", "polars", "numpy"} <= {*machine(tmp_path)["mage-es"].detail.replace(",", "").split()}


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that not even root may write: /proc")
def test_a_folder_that_cannot_be_written_is_found() -> None:
    finding = machine(Path("/proc/self/runs"))["runs folder"]
    assert (finding.state, "chmod" in finding.remedy) == ("failed", True)


def test_the_write_test_leaves_nothing(tmp_path: Path) -> None:
    assert machine(tmp_path)["runs folder"].state == "ok"
    assert list(tmp_path.iterdir()) == []


def test_a_clock_before_the_newest_run_is_found(tmp_path: Path) -> None:
    (tmp_path / "r1" / "log").mkdir(parents=True)
    marker = tmp_path / "r1" / "log" / "FORMAT"
    marker.write_text("{}")
    os.utime(marker, (NOW / 1e6 + 60, NOW / 1e6 + 60))
    assert "r1" in machine(tmp_path)["clock"].detail
    assert machine(tmp_path, NOW + 120_000_000)["clock"].state == "ok"
