"""Parts of other packages: found by entry point, imported only when asked for, never in the place of our own."""

import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import msgspec
import pytest

from mage_es.cli import app
from mage_es.engine.auditing.verify import verify
from mage_es.engine.bench.fetching import fetch
from mage_es.engine.benchmarks import registry
from mage_es.engine.benchmarks.registry import names, open_benchmark, own_defaults
from mage_es.engine.benchmarks.tasks.scorers import require_scorer
from mage_es.engine.config import Config
from mage_es.engine.embedders.registry import metered, open_embedder
from mage_es.engine.embedders.vectors import PROBES
from mage_es.engine.models.registry import open_model
from mage_es.engine.providers.doctor import models, tasks
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import reopen_world
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.metering import Metered
from mage_es.engine.seams.model import MAX_TOKENS
from mage_es.engine.seams.plugins import installed, load, verb
from mage_es.engine.search.registry import Searches
from mage_es.engine.study.baselines.table import find_baseline, open_method
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.preflight import room_for_briefs
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemoryAppended

if TYPE_CHECKING:
    from mage_es.engine.study.baselines.method import RunView

PLUGIN = """
from mage_es.engine.bench.gsm8k import GSM8K
from mage_es.engine.benchmarks.registry import BenchmarkEntry
from mage_es.engine.players.worlds.wordmath.benchmark import WordMath

DEFINED = GSM8K._replace(name="defined")


def opened(seed, data_dir):
    return WordMath(seed)


ROW = BenchmarkEntry(opened, defaults={"pool": 7})
"""

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """A function that puts a package with entry points (name=value) of one group on the path."""

    def put(source: str, *, group: str = "benchmarks", **entries: str) -> None:
        (tmp_path / "my_plugin.py").write_text(source)
        info = tmp_path / "my_plugin-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-plugin\nVersion: 1.0\n")
        lines = "".join(f"{name} = {value}\n" for name, value in entries.items())
        (info / "entry_points.txt").write_text(f"[mage_es.{group}]\n{lines}")
        monkeypatch.syspath_prepend(str(tmp_path))
        forget()

    yield put
    monkeypatch.undo()
    sys.modules.pop("my_plugin", None)
    forget()


def forget() -> None:
    installed.cache_clear()
    registry._installed.cache_clear()


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


FEW = """
from mage_es.engine.players.worlds.workshop.benchmark import Workshop


class Few(Workshop):
    def questions(self, split):
        return super().questions(split)[:40]


class Endless(Few):
    is_open_ended, context_role = True, "instruction"


def few(seed, data_dir):
    return Few(seed)


def endless(seed, data_dir):
    return Endless(seed)
"""


def test_rules_obey_what_a_plugin_says_of_itself(install: Install, tmp_path: Path) -> None:
    install(FEW, few="my_plugin:few", endless="my_plugin:endless")
    learned = {name: learned_in(tmp_path / name, benchmark=name) for name in ("few", "endless")}
    assert learned["few"] == (False, set())  # no episode of three steps reaches its goal
    assert learned["endless"][0] and learned["endless"][1]


def learned_in(folder: Path, *, benchmark: str) -> tuple[bool, set[str]]:
    """Return whether contexts count for nothing, and the achievements that a short run of a benchmark remembers."""
    config = Config(
        benchmark=benchmark, execution="builtin/copier", iterations=1, pool=30, held_out=1, anchors=0,
        guard="off", explore_episodes=0, episode_steps=3,
    )  # fmt: skip
    evolve(config, runs_dir=folder, data_dir=None, runtime=Runtime(workers=1), run_id="r")
    reader = LogReader(find_run(folder, "r").log_path)
    world = reopen_world(reader, data_dir=None)
    question = msgspec.structs.replace(world.questions[world.setting.evolution[0]], context="Try hard.")
    events = [record.event for record in reader.records({MemoryAppended})]
    solved = [event for event in events if isinstance(event, MemoryAppended) and event.outcome == "success_memory"]
    return world.setting.context_length(question) == 0, {memory.answer for memory in solved}


def test_nobody_is_sent_to_fetch_or_delete_the_data_of_another_package(install: Install, tmp_path: Path) -> None:
    install(PLUGIN, defined="my_plugin:DEFINED")
    with pytest.raises(PrerequisiteError, match="package that offers defined says where its data is") as missing:
        open_benchmark("defined", seed=1, data_dir=tmp_path)
    (tmp_path / "defined").mkdir()
    (tmp_path / "defined" / "train.jsonl").write_text("{}\n")
    with pytest.raises(PrerequisiteError, match="Nothing was loaded") as malformed:
        open_benchmark("defined", seed=1, data_dir=tmp_path)
    with pytest.raises(UsageError, match="mage-es evolve defined --data-dir FOLDER") as unfetched:
        fetch("defined", tmp_path, announce=print)
    assert not re.search("mage-es fetch|Delete|generated", f"{missing.value}{malformed.value}{unfetched.value}")


def test_what_is_built_in_cannot_be_replaced(install: Install) -> None:
    install(PLUGIN, workshop="my_plugin:opened")
    assert open_benchmark("workshop", seed=1).name == "workshop"


def test_a_plugin_that_cannot_be_imported_is_named_with_its_package(install: Install) -> None:
    install("raise RuntimeError('no luck')", broken="my_plugin:X")
    with pytest.raises(PrerequisiteError, match=r"broken \(my_plugin:X, of my-plugin\).*no luck.*uninstall my-plugin"):
        load("mage_es.benchmarks", "broken")


CHECKING = """
from mage_es.engine.seams.check import Check


def checks(run, reader):
    yield Check(name="mine", ok=False, detail=f"{run.id} has {reader.head.seq} events", bound="fewer")
"""


def test_verify_asks_the_checks_of_other_packages(install: Install, small_run: Run) -> None:
    assert "mine" not in [check.name for check in verify(small_run).checks]
    install(CHECKING, group="checks", mine="my_plugin:checks")
    report = verify(small_run)
    told = {check.name: check.detail for check in report.checks}
    assert told["mine"] == f"{small_run.id} has {LogReader(small_run.log_path).head.seq} events" and not report.ok


WRONG_CHECKS = """
def raises(run, reader):
    yield from ()
    raise ZeroDivisionError("no luck")


def nothing(run, reader):
    return None


def words(run, reader):
    return ["fine"]
"""


@pytest.mark.parametrize(
    ("part", "problem"),
    [("raises", "ZeroDivisionError: no luck"), ("nothing", "TypeError"), ("words", "'fine' is not a `Check`")],
)
def test_a_check_of_another_package_that_fails_says_so_and_hides_no_other(
    install: Install, small_run: Run, part: str, problem: str
) -> None:
    ours = [check.name for check in verify(small_run).checks]
    install(WRONG_CHECKS, group="checks", mine=f"my_plugin:{part}")
    report = verify(small_run)
    (mine,) = [check for check in report.checks if check.name not in ours]
    assert len(report.checks) == len(ours) + 1 and not report.ok
    assert mine.name == "mine" and "of my-plugin" in mine.detail and problem in mine.detail


EMPTY_HANDED = """
class Nothing:
    name = "nothing"


def nothing(*given):
    return Nothing()


def none(*given):
    return None
"""


@pytest.mark.parametrize("part", ["nothing", "none"])
@pytest.mark.parametrize(
    ("group", "opened"),
    [
        ("benchmarks", lambda: open_benchmark("mine", seed=1)),
        ("environments", lambda: open_benchmark("mine", seed=1)),
        ("models", lambda: open_model("mine/any", "execution")),
        ("embedders", lambda: open_embedder("mine/any")),
        ("search", lambda: Searches("mine/world").open([])),
        ("methods", lambda: open_method("mine", cast("RunView", None))),
        ("baselines", lambda: find_baseline("mine")),
        ("scorers", lambda: require_scorer("mine")),
    ],
)
def test_what_a_plugin_makes_is_refused_by_its_name_if_it_lacks_what_is_asked_of_it(
    install: Install, group: str, opened: Callable[[], object], part: str
) -> None:
    install(EMPTY_HANDED, group=group, mine=f"my_plugin:{part}")
    with pytest.raises(PrerequisiteError, match=rf"mine \(my_plugin:{part}, of my-plugin\) .*uninstall my-plugin"):
        opened()


def test_a_verb_of_a_wing_that_is_not_there_is_refused_by_its_name() -> None:
    assert verb("verify") is verify
    with pytest.raises(PrerequisiteError, match="fly is not installed here, because its wing was deleted"):
        verb("fly")


FAULTY = """
from mage_es.engine.benchmarks.registry import BenchmarkEntry

FIVE = 5


def raises(seed, data_dir):
    raise ZeroDivisionError("no luck")


ROW = BenchmarkEntry(raises)


class Atlas:
    def __init__(self, spec):
        raise OSError("no map")
"""


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("FIVE", "is not a benchmark but of type int: 5"),
        ("raises", "cannot be opened: ZeroDivisionError: no luck"),
        ("ROW", "cannot be opened: ZeroDivisionError: no luck"),
    ],
)
def test_a_plugin_that_is_no_benchmark_or_fails_when_opened_is_named_with_its_package(
    install: Install, part: str, said: str
) -> None:
    install(FAULTY, faulty=f"my_plugin:{part}")
    with pytest.raises(
        PrerequisiteError, match=rf"faulty \(my_plugin:{part}, of my-plugin\) {said}.*uninstall my-plugin"
    ):
        open_benchmark("faulty", seed=1)


def test_another_packages_model_that_fails_when_opened_is_named_with_its_package(install: Install) -> None:
    install(FAULTY, group="models", echo="my_plugin:Atlas")
    with pytest.raises(PrerequisiteError, match=r"echo \(my_plugin:Atlas, of my-plugin\) cannot be opened.*no map"):
        open_model("echo/any", "execution")


def test_another_packages_search_that_fails_when_opened_is_named_with_its_package(install: Install) -> None:
    install(FAULTY, group="search", atlas="my_plugin:Atlas")
    with pytest.raises(PrerequisiteError, match=r"atlas \(my_plugin:Atlas, of my-plugin\) cannot be opened.*no map"):
        Searches("atlas/world").open([])


def test_another_packages_embedder_that_fails_when_opened_is_named_with_its_package(install: Install) -> None:
    install(FAULTY, group="embedders", letters="my_plugin:Atlas")
    with pytest.raises(PrerequisiteError, match=r"letters \(my_plugin:Atlas, of my-plugin\) cannot be opened.*no map"):
        open_embedder("letters/latin")


def test_the_doctor_sends_nobody_to_fetch_the_data_of_another_package(install: Install, tmp_path: Path) -> None:
    install(PLUGIN, defined="my_plugin:DEFINED")
    found, _, world = tasks(Config(benchmark="defined"), tmp_path)
    assert (found.state, world) == ("failed", None)
    assert "package that offers defined" in found.detail and "fetch" not in found.detail + found.remedy


PARTS = """
import numpy as np

from mage_es.engine.embedders.served import Embedded
from mage_es.engine.seams.model import Completion, Preflight
from mage_es.engine.seams.search import Page
from mage_es.events.errors import PrerequisiteError


class Echo:
    def __init__(self, spec):
        self.name, self.options = spec.text, spec.options

    async def complete(self, request):
        return Completion(text=request.prompt, input_tokens=1, output_tokens=1)


class Letters:
    dimension, sha256 = 26, "0" * 64

    def __init__(self, spec):
        self.name = spec.text

    def encode(self, texts):
        return np.eye(26, dtype=np.float32)[[len(text) % 26 for text in texts]]


class Served(Echo, Preflight):
    OPTIONS = ("volume",)

    def context(self):
        return 5000

    async def require_served(self):
        raise PrerequisiteError("Nothing plays here.")


class Sheet:
    OPTIONS = ()

    def __init__(self, spec):
        pass

    def embed(self, texts):
        return Embedded(np.eye(26)[[len(text) % 26 for text in texts]], input_tokens=len(texts))


class Atlas:
    def __init__(self, spec):
        self.name = spec.text

    def page(self, title):
        return Page(title, "A place.")

    def similar(self, title, *, count):
        return []

    def passages(self, query, *, count):
        return []
"""


def test_models_embedders_and_searches_are_named_like_our_own(install: Install) -> None:
    install(PARTS, group="models", echo="my_plugin:Echo")
    model = open_model("echo/any?volume=11", "execution")
    assert (model.name, model.options) == ("echo/any?volume=11", {"volume": "11"})  # type: ignore[attr-defined]
    with pytest.raises(UsageError, match="must not hold a key"):
        open_model("echo/any?api_key=x", "execution")


def test_another_packages_commands_that_fail_leave_ours_and_are_named(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(FAULTY, group="commands", mapped="my_plugin:MISSING")
    ours = [*app.KERNEL]
    assert [*app._all().values()][: len(ours)] == ours
    assert "mapped (my_plugin:MISSING, of my-plugin) cannot be imported" in capsys.readouterr().err


def test_the_doctor_knows_the_model_of_another_package(install: Install) -> None:
    install(PARTS, group="models", echo="my_plugin:Echo")
    found = [*models(Config(benchmark="wordmath", execution="echo/any?volume=11"), calls=True)]
    assert [each.state for each in found if each.detail == "echo/any?volume=11"] == ["ok"]
    assert room_for_briefs(open_model("echo/any?volume=11", "guidance")) == 0


def test_another_packages_model_takes_the_options_that_it_lists_and_is_asked_before_a_run(
    install: Install, tmp_path: Path
) -> None:
    install(PARTS, group="models", echo="my_plugin:Served")
    with pytest.raises(UsageError, match=r"echo/ has no option 'volum'\. Did you mean volume\?"):
        open_model("echo/any?volum=11", "execution")
    assert room_for_briefs(open_model("echo/any?volume=11", "guidance")) == 5000 - MAX_TOKENS
    with pytest.raises(PrerequisiteError, match="Nothing plays here"):
        evolve(Config(benchmark="wordmath", execution="echo/any"), runs_dir=tmp_path)
    assert not list(tmp_path.glob("wordmath*"))


def test_another_packages_server_of_vectors_gets_retries_and_a_meter_and_needs_a_price(install: Install) -> None:
    install(PARTS, group="embedders", sheet="my_plugin:Sheet", letters="my_plugin:Letters")
    opened = open_embedder("sheet/latin")
    assert opened.encode(["abc"]).shape == (1, 26)
    assert isinstance(opened, Metered) and sum(each.input_tokens for each in opened.meter.read()) == len(PROBES) + 1
    assert (metered("sheet/latin"), metered("letters/latin")) == ({"embedder": "sheet/latin"}, {})


def test_another_packages_embedder_is_opened_by_its_name(install: Install) -> None:
    install(PARTS, group="embedders", letters="my_plugin:Letters")
    assert open_embedder("letters/latin").encode(["abc"]).shape == (1, 26)


def test_no_vector_of_another_packages_broken_embedder_reaches_the_log(install: Install, tmp_path: Path) -> None:
    broken = PARTS.replace("return np.eye(26", "return np.nan * np.eye(26")
    install(broken, group="embedders", letters="my_plugin:Letters")
    with pytest.raises(PrerequisiteError, match="letters/latin is broken: the embedding of text 1 of"):
        evolve(Config(benchmark="wordmath", embedder="letters/latin", iterations=1, pool=4), runs_dir=tmp_path)
    assert not list(LogReader(find_run(tmp_path, "wordmath-s42-001").log_path).of(MemoryAppended))


def test_a_run_is_verified_without_the_package_of_its_embedder(install: Install, tmp_path: Path) -> None:
    install(PARTS, group="embedders", letters="my_plugin:Letters")
    sizes = {"iterations": 1, "pool": 4, "held_out": 2, "anchors": 2}
    run = evolve(Config(benchmark="wordmath", embedder="letters/latin", **sizes), runs_dir=tmp_path, run_id="r").run_id
    shutil.rmtree(tmp_path / "my_plugin-1.0.dist-info")
    forget()
    found = verify(find_run(tmp_path, run))
    assert found.ok
    [paraphrases] = [check for check in found.checks if check.name == "paraphrases"]
    assert "no provider 'letters'" in paraphrases.detail


def test_another_packages_search_is_opened_by_its_name(install: Install) -> None:
    install(PARTS, group="search", atlas="my_plugin:Atlas")
    question = Question(id="q", benchmark="b", split="test", task_type="t", question="?", gold="x")
    page = Searches("atlas/world").of(question).page("Peru")
    assert page is not None and page.text == "A place."
