"""`import mage_es` is the front door: every public name, nothing heavy, and the command beside it."""

import ast
import asyncio
import importlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import mage_es
from mage_es.engine.verbs.decorators import typed

pytestmark = pytest.mark.slow

CONFIG = mage_es.Config(benchmark="wordmath", iterations=1, pool=16, held_out=12, anchors=8, gate="off")
HEAVY = {"pyarrow", "numpy", "lancedb", "polars", "msgspec", "scipy", "typer", "asyncio"}


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", mage_es.__all__)
def test_every_public_name_resolves_and_says_what_it_is(name: str) -> None:
    found = getattr(mage_es, name)
    assert (found.__doc__ or "").strip()
    assert name in dir(mage_es)


def test_a_name_that_is_none_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'evolv'"):
        mage_es.evolv  # type: ignore[attr-defined]  # noqa: B018


def test_type_checkers_and_the_interpreter_find_each_name_in_the_same_module() -> None:
    spec = importlib.util.find_spec("mage_es")
    assert spec and spec.origin
    block = next(node for node in ast.parse(Path(spec.origin).read_text("utf-8")).body if isinstance(node, ast.If)).body
    imports = [node for node in block if isinstance(node, ast.ImportFrom)]
    there = {
        alias.name: getattr(importlib.import_module(node.module or ""), alias.name)
        for node in imports
        for alias in node.names
    }
    public = {alias.name: alias.name for node in imports for alias in node.names if alias.asname == alias.name}
    public |= {ast.unparse(node.targets[0]): ast.unparse(node.value) for node in block if isinstance(node, ast.Assign)}
    assert sorted(public) == mage_es.__all__
    assert all(getattr(mage_es, name) is there[own] for name, own in public.items())


def test_importing_it_loads_no_data_library() -> None:
    done = python("-c", "import sys, mage_es; print(*{name.partition('.')[0] for name in sys.modules})")
    assert not HEAVY & set(done.stdout.split()), done.stderr


def test_a_command_loads_no_library_of_tables_before_there_is_a_table_to_make() -> None:
    done = python("-c", "import sys, mage_es.engine.verbs.evolve, mage_es.engine.verbs.exam; print(*sys.modules)")
    assert done.stdout and "polars" not in done.stdout.split(), done.stderr


def test_the_package_runs_as_the_command_does() -> None:
    done = python("-m", "mage_es", "--version")
    assert (done.returncode, done.stdout) == (0, f"mage-es {mage_es.__version__}\n")
    assert python("-m", "mage_es", "evolve", "nothing-like-it").returncode == 2


def test_a_run_evolves_and_is_examined_asked_replayed_and_verified_with_paths_as_text(tmp_path: Path) -> None:
    runs_dir = str(tmp_path / "runs")
    summary = mage_es.evolve(CONFIG, runs_dir=runs_dir, run_id="mine")
    assert (summary.state, summary.run_id) == ("finished", "mine")

    run = mage_es.find_run(runs_dir)
    assert [found.id for found in mage_es.list_runs(runs_dir)] == [run.id] == ["mine"]
    assert mage_es.resume(run).events == summary.events
    assert mage_es.examine(run, questions=4).total == 4
    assert mage_es.ask(run, "Ben buys 3 pens at $4 each. How much does he pay?").answer
    replayed = mage_es.replay(run, into=str(tmp_path / "rebuilt"))
    assert all(check.equal for check in replayed.checks)
    assert mage_es.verify(str(run.path)).ok
    with pytest.raises(mage_es.UsageError, match="no run 'other'"):
        mage_es.find_run(runs_dir, "other")


OWN = """
import mage_es
from mage_es.engine.verbs.decorators import typed

TASKS = [mage_es.Task(question=f"How much is {a} plus {b}?", answer=a + b) for a in range(3, 8) for b in range(6)]

def right(reply, task):
    assert isinstance(task, mage_es.Question)
    is_right = reply.split()[-1] == task.gold
    return mage_es.Score(is_right, f"the sum is {task.gold}")

class Adder:
    name = "mine/adder"

    async def complete(self, request):
        a, b = [word for word in request.prompt.replace("?", " ").split() if word.isdigit()][-2:]
        return mage_es.Completion(text=f"That is {int(a) + int(b)}", input_tokens=1, output_tokens=1)
"""
USED = """
import mage_es, mine

config = mage_es.Config(benchmark="sums", iterations=1, pool=8, held_out=5, anchors=4)
models = mage_es.Models(mine.Adder(), mage_es.open_model("builtin/reference", "guidance"))
print(mage_es.evolve(config, tasks=mine.TASKS, scorer=mine.right, models=models).run_id)
print(mage_es.examine("sums-s42-001", execution=mine.Adder()).correct)
"""


def test_own_tasks_are_a_list_and_their_scorer_a_function_that_other_processes_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    place = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def out(*words: str) -> str:
        done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=place, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert out("-c", USED) == "sums-s42-001\n5\n"
    with_another = ("--execution", "builtin/analogist")
    at_start = out("-m", "mage_es", "exam", "sums-s42-001", "--at", "start", *with_another, "--json")
    assert json.loads(at_start)["total"] == 5
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mage_es.UsageError, match="from Python, each time"):
        mage_es.examine("sums-s42-001")
    other = mage_es.open_model("builtin/analogist", "execution")
    shown = mage_es.show("sums-s42-001", mage_es.examine("sums-s42-001", execution=other).answers[0][0])
    assert shown.why == f"the sum is {shown.expected}"
    logged = b"".join(path.read_bytes() for path in (tmp_path / "runs").rglob("log/*/*") if "golds" not in path.parts)
    assert b"the sum is" not in logged, "a reason may give the right answer away"


SOURCE = """
import mage_es
from mage_es.engine.verbs.decorators import typed

class Sums:
    name, licence, task_type_source, data_sha256 = "my-sums", "mine", "metadata", "1"
    answer_format = 'Finish with a line "Answer: <1467>".'

    def questions(self, split):
        pairs = [(a, b) for a in range(3, 12) for b in range(6) if (b == 5) == (split == "test")]
        return [self._question(split, a, b) for a, b in pairs]

    def _question(self, split, a, b):
        text = f"How much is {a} plus {b}?"
        return mage_es.Question(
            id=f"{a}+{b}", benchmark=self.name, split=split, task_type="sum", question=text, gold=str(a + b)
        )

    def score(self, question, reply):
        is_right = reply.split()[-1] == question.gold
        return mage_es.Verdict(answer=reply.split()[-1], score=float(is_right), strict=is_right)
"""


def test_a_benchmark_is_an_object_and_another_process_is_given_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_text(OWN)
    (tmp_path / "source.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    mine, source = importlib.import_module("mine"), importlib.import_module("source")
    models = mage_es.Models(mine.Adder(), mage_es.open_model("builtin/reference", "guidance"))
    config = mage_es.Config(benchmark="my-sums", iterations=1, pool=8, held_out=5, anchors=4)
    run = mage_es.evolve(config, benchmark=source.Sums(), models=models).run_id
    assert run == "my-sums-s42-001"
    assert mage_es.open_run(run).bundle("How much is 3 plus 3?").task_type == "sum"
    with pytest.raises(mage_es.UsageError, match="started with my-sums, not with other"):
        other = source.Sums()
        other.name = "other"
        mage_es.examine(run, benchmark=other)

    def out(*words: str) -> str:
        return (done := python(*words)).stdout + done.stderr

    assert "There is no benchmark 'my-sums'" in out("-m", "mage_es", "exam", run)
    again = "import mage_es, mine, source; "
    again += f"print(mage_es.examine({run!r}, benchmark=source.Sums(), execution=mine.Adder()).correct)"
    assert out("-c", again) == "5\n"


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("gsm8k", "'gsm8k' is not a benchmark: it has no name"),
        (mage_es.Benchmark, "the class Benchmark itself is not a benchmark"),
        (
            mage_es.Question(id="q", benchmark="b", split="test", task_type="", question="?", gold="1"),
            "has no name, task",
        ),
    ],
)
def test_what_is_no_benchmark_is_refused_with_what_it_lacks(given: object, complaint: str) -> None:
    with pytest.raises(mage_es.UsageError, match=complaint):
        mage_es.evolve(mage_es.Config(benchmark="mine"), benchmark=given)  # type: ignore[arg-type]


class Mute:
    name = "mine/mute"

    def complete(self, request: mage_es.Request) -> str:
        return "no completion"


def test_plain_arguments_are_looked_at_at_once_and_lists_where_they_are_used() -> None:
    @typed
    def verb(names: Sequence[str], count: int | None = None) -> Sequence[str]:
        return names

    assert verb(["a", "b"]) == ["a", "b"]
    with pytest.raises(mage_es.UsageError, match="count is 'two', of the type str: give int or None"):
        verb(["a"], "two")  # type: ignore[arg-type]


def begun(**given: object) -> Callable[[], object]:
    teacher = mage_es.open_model("builtin/reference", "guidance")
    usual = {
        "config": mage_es.Config(benchmark="sums", iterations=1, pool=8, held_out=5, anchors=4),
        "tasks": [{"question": f"How much is {a} plus {b}?", "answer": a + b} for a in range(3, 9) for b in range(4)],
        "models": mage_es.Models(mage_es.open_model("builtin/analogist", "execution"), teacher),
    }
    return lambda: mage_es.evolve(**(usual | given))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (begun(config="wordmath"), "config is 'wordmath', of the type str: give mage_es.Config"),
        (begun(config=mage_es.Config(benchmark="sums", iterations="two")), r"Expected `int`, got `str` - at `\$.iter"),  # type: ignore[arg-type]
        (begun(config=mage_es.Config(benchmark=Path("a.csv"))), "configuration cannot be used: .* PosixPath"),  # type: ignore[arg-type]
        (begun(run_id=3), "run_id is 3, of the type int: give str or None"),
        (begun(runs_dir=__file__), "test_package.py is a file: give a folder for runs"),
        (begun(runtime={"workers": 2}), r"'workers': 2}, of the type dict: give mage_es.Runtime\(\.\.\.\) or None"),
        (lambda: mage_es.Runtime(workers=0), "workers is 0; give a whole number from 1 to 4096"),
        (begun(tasks="my.csv"), r"tasks is 'my.csv', a text: to use a file, name it in the configuration"),
        (begun(tasks=["What?"]), "A task is a dictionary with a question and an answer, not a str"),
        (begun(scorer=3), "The scorer 3 is neither a name nor a function of a reply and its task"),
        (begun(scorer=lambda reply: True), "must be a plain function of two values, a reply and its task"),
        (begun(models="openai/x"), r"models is 'openai/x', of the type str: give mage_es.Models\(\.\.\.\) or None"),
        (
            begun(models=mage_es.Models("openai/x", None)),
            r"is a text: open it with mage_es.open_model\('openai/x', 'exec",
        ),  # type: ignore[arg-type]
        (begun(models=mage_es.Models(Mute, None)), "is a class, not an object: give an object whose"),  # type: ignore[arg-type]
        (begun(models=mage_es.Models(Mute(), None)), "A run learns from guidance"),  # type: ignore[arg-type]
        (lambda: mage_es.open_model(None, "execution"), "The model is None: name one as provider/model"),  # type: ignore[arg-type]
        (lambda: mage_es.verify(None), "run is None, of the type NoneType: give Run or Path or str"),  # type: ignore[arg-type]
        (lambda: mage_es.summarise(3), "run is 3, of the type int"),  # type: ignore[arg-type]
        (lambda: mage_es.examine("r", at=1), "at is 1, of the type int: give str"),  # type: ignore[arg-type]
        (lambda: mage_es.diff("r", "r", at="iter-1"), "at is 'iter-1': give a tuple of 2"),  # type: ignore[arg-type]
        (lambda: mage_es.curate("r", "5c0f", action="quarantin", reason="x"), "Did you mean quarantine"),  # type: ignore[arg-type]
    ],
)
def test_what_python_gives_wrong_is_told_with_its_value_and_what_to_give_before_a_run_is_begun(
    call: Callable[[], object], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(mage_es.UsageError, match=told):
        call()
    assert not list(tmp_path.iterdir())


def test_a_model_that_returns_no_completion_is_named_and_the_run_is_kept(tmp_path: Path) -> None:
    silent = mage_es.Models(Mute(), mage_es.open_model("builtin/reference", "guidance"))  # type: ignore[arg-type]
    with pytest.raises(mage_es.UsageError, match=r"mine/mute returned 'no completion', and not a mage_es\.Completion"):
        begun(models=silent, runs_dir=tmp_path)()
    assert mage_es.summarise(mage_es.find_run(tmp_path)).state == "unfinished"
    with pytest.raises(mage_es.UsageError, match="embedder is 'hash'"):
        mage_es.open_run(mage_es.find_run(tmp_path), embedder="hash")  # type: ignore[arg-type]


def test_a_task_that_cannot_be_checked_is_named_by_its_row() -> None:
    tasks = [mage_es.Task(question="How much is 1 plus 1?", answer="2"), {"question": "How much is 2 plus 2?"}]
    with pytest.raises(mage_es.PrerequisiteError, match="sums as given, row 2: answer: there is no such column"):
        mage_es.evolve(mage_es.Config(benchmark="sums"), tasks=tasks, scorer=lambda reply, task: True)


def test_an_opened_run_gives_what_ask_would_show_its_model(tmp_path: Path) -> None:
    run = tmp_path / mage_es.evolve(CONFIG, runs_dir=tmp_path).run_id
    question = "Ben buys 3 pens at $4 each. How much does he pay?"

    frozen = mage_es.open_run(run)
    bundle, asked = frozen.bundle(question), mage_es.ask(run, question)
    assert bundle.memories == asked.bundle
    # Cases are turns of their own: what `ask` shows as one text is what these say one after the other.
    said = [message for message in bundle.messages if message["role"] != "system"]
    assert "\n\n".join(message["content"] for message in said) == asked.prompt and said[-1]["role"] == "user"
    assert (bundle.task_type, bundle.skill) == (asked.task_type, asked.skill)
    assert 0 < bundle.propensity <= 1 and bundle.arm and bundle.route
    known = next(iter(frozen.state.memory.rows()))
    given = frozen.bundle(question, task_type=known.task_type)
    assert given.task_type == known.task_type and given.memories
    roles = [message["role"] for message in given.messages]
    assert roles == ["system", *["user", "assistant"] * (len(roles) // 2 - 1), "user"] and len(roles) > 2
    texts = [message["content"] for message in given.messages]
    assert all(-1 <= memory.similarity <= 1 and memory.question in texts for memory in given.memories)
    assert not mage_es.open_run(run, at="start").bundle(question, task_type=known.task_type).memories
    with pytest.raises(mage_es.UsageError, match=f"no task type '{known.task_type}s'"):
        frozen.bundle(question, task_type=f"{known.task_type}s")
    with pytest.raises(mage_es.UsageError, match="question is None, of the type NoneType: give str"):
        frozen.bundle(None)  # type: ignore[arg-type]


def test_the_async_form_asks_models_in_the_callers_loop_and_the_sync_form_works_beside_it(tmp_path: Path) -> None:
    class Noting:
        name = "test/noting"

        def __init__(self) -> None:
            self.model, self.loops = mage_es.open_model("builtin/analogist", "execution"), set[object]()

        async def complete(self, request: mage_es.Request) -> mage_es.Completion:
            self.loops.add(asyncio.get_running_loop())
            return await self.model.complete(request)

    async def both() -> None:
        here, model = asyncio.get_running_loop(), Noting()
        models = mage_es.Models(model, mage_es.open_model("builtin/reference", "guidance"))
        awaited = await mage_es.aevolve(CONFIG, runs_dir=tmp_path, run_id="awaited", models=models)
        assert model.loops == {here}
        beside = mage_es.evolve(CONFIG, runs_dir=tmp_path, run_id="beside", models=models)
        assert here in model.loops and len(model.loops) == 2
        assert awaited.iterations == beside.iterations
        run, question = str(tmp_path / "awaited"), "Ben buys 3 pens at $4 each. How much does he pay?"
        asked = await mage_es.aask(run, question, execution=model)
        assert asked.answer == mage_es.ask(run, question, execution=model).answer
        assert (await mage_es.aexamine(run, questions=4, execution=model)).total == 4
        assert all(check.equal for check in (await mage_es.areplay(run)).checks) and (await mage_es.averify(run)).ok

    asyncio.run(both())


def test_the_stop_of_a_notebook_ends_what_works_beside_its_loop_and_resume_continues_it(tmp_path: Path) -> None:
    stopped = list[None]()

    class Stopping:
        name = "test/stopping"

        async def complete(self, request: mage_es.Request) -> mage_es.Completion:
            if not stopped:
                stopped.append(signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT))
            await asyncio.sleep(60)
            raise AssertionError

    async def cell() -> None:
        models = mage_es.Models(Stopping(), mage_es.open_model("builtin/reference", "guidance"))
        mage_es.evolve(CONFIG, runs_dir=tmp_path, run_id="mine", models=models)

    loop = asyncio.new_event_loop()  # a runner would take the signal itself, which the loop of a notebook does not
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a worker of pytest-xdist ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        signal.signal(signal.SIGINT, before)
        loop.close()
    with pytest.raises(mage_es.UsageError, match="from Python, each time"):
        mage_es.resume(tmp_path / "mine")
    learner = mage_es.open_model("builtin/analogist", "execution")
    models = mage_es.Models(learner, mage_es.open_model("builtin/reference", "guidance"))
    assert mage_es.resume(tmp_path / "mine", models=models).state == "finished"


def test_a_cell_of_a_notebook_evolves_and_awaits(tmp_path: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    cells = (
        "import mage_es\nconfig = mage_es.Config(benchmark='wordmath', iterations=1, pool=16, held_out=12, anchors=8)",
        "mage_es.evolve(config, run_id='mine').state",
        "(await mage_es.aexamine('mine', questions=4)).total",
    )
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert [cell.outputs[0].data["text/plain"] for cell in book.cells[1:]] == ["'finished'", "4"]


def test_a_baseline_answers_the_same_questions(tmp_path: Path) -> None:
    config = mage_es.Config(benchmark="wordmath", held_out=6, anchors=8, pool=16)
    report = mage_es.baseline("zero_shot_cot", config, runs_dir=str(tmp_path))
    assert report.total == 6
    assert mage_es.resume_baseline(mage_es.find_run(str(tmp_path))) == report
