"""No function of the gold of held-out questions or anchors reaches a prompt: permute it, and every byte stays.

Of held-out gold nothing at all is read before the verdicts of an exam, which nothing follows from: the run's whole log
of plans and every prompt of run, exam, `ask` and a served bundle are the same. Of the anchors' gold the guard learns
whether answers are right, and a rollback changes prompts: that is its office. So for anchors the law says that nothing
but the verdicts is read: with verdicts that do not depend on gold (a scorer that tosses a coin by question and reply),
the run is the same, rollbacks and all, until anchors become cases in its last snapshot. A judge's prompt holds the gold
it judges by, and is none of the learner's.
"""

import hashlib
import os
import re
from collections.abc import Collection, Sequence
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.benchmarks.tasks import ROLES
from mage_es.engine.benchmarks.tasks.benchmark import given_tasks
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.rules.own import OF_ANCHORS
from mage_es.engine.rules.splits import Splits
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import divide
from mage_es.engine.seams.benchmark import Question, Split, Verdict
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.serving.bounds import bounds_of
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.open_run import open_run
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing.ask import ask
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.log import LogReader
from tests.engine.serving.talking import said

pytestmark = pytest.mark.slow

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[3] / "shared" / "data"))
NAME = "permuted-gold"
LABELS = ("billing", "delivery", "returns")
WORDS = ("river", "lamp", "stone", "cloud", "table", "green", "quiet", "paper", "engine", "window", "salt", "copper")
TELL_GOLD = (
    v.RunStarted,
    v.QuestionsStored,
    v.AnswerJudged,
    v.ExamOpened,
    v.ExamClosed,
    v.IterationClosed,
    v.SegmentSealed,
)
"""Events that hold a hash of the data, a verdict, or a digest or hash of verdicts."""


class Given:
    """A benchmark whose anchors, if any are named, are judged by a coin, so that verdicts say nothing of their gold."""

    name = NAME

    def __init__(self, inner: Any, questions: Sequence[Question], tossed: Collection[str] = ()) -> None:
        self._inner, self._tossed = inner, frozenset(tossed)
        self._questions = [msgspec.structs.replace(question, benchmark=NAME) for question in questions]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def questions(self, split: Split) -> Sequence[Question]:
        return [question for question in self._questions if question.split == split]

    def score(self, question: Question, reply: str) -> Verdict:
        if question.id in self._tossed:
            is_right = hashlib.sha256(f"{question.id} {reply}".encode()).digest()[0] % 3 > 0
            return Verdict(answer=reply[-60:], score=float(is_right), strict=is_right)
        verdict: Verdict = self._inner.score(question, reply)
        return verdict


class Listening:
    """A model that keeps every prompt; its replies follow from the prompt alone."""

    def __init__(self, inner: Any = None) -> None:
        self._inner, self.name, self.heard = inner, getattr(inner, "name", "mine/copier"), list[str]()

    async def complete(self, request: Request) -> Completion:
        self.heard.append(request.text)
        if self._inner:
            completion: Completion = await self._inner.complete(request)
            return completion
        shown = re.findall(rf"Answer: ({'|'.join(LABELS)})", request.text)
        by_chance = LABELS[int(sha256_text(request.text), 16) % len(LABELS)]
        return Completion(text=f"Answer: {shown[0] if shown else by_chance}", input_tokens=1, output_tokens=1)


def observed(benchmark: Any, config: Config, execution: str = "", *, which: str = "held_out") -> dict[str, object]:
    """Return what a run on a benchmark, its exam, its answers to users and its bundles put before any model.

    Of a run whose `anchors` have other gold, what was put there until they became cases, which no anchor is shown
    (rules/refit.py).
    """
    learner = Listening(open_model(execution, "execution") if execution else None)
    teacher = Listening(open_model("builtin/reference", "guidance"))
    models = Models(execution=learner, guidance=teacher)
    with TemporaryDirectory() as folder:
        evolve(config, benchmark=benchmark, runs_dir=folder, run_id="r", models=models, runtime=Runtime(workers=1))
        run = find_run(folder, "r")
        seen: dict[str, object] = {"learned": events_of(run), "evolving": learner.heard[:], "guided": teacher.heard}
        if which == "anchors":
            return before_refit(seen)
        learner.heard.clear()
        examine(run, execution=learner, benchmark=benchmark, runtime=Runtime(workers=1))
        seen |= {"examining": learner.heard[:], "exam": events_of(run.exams()[0])}
        texts = [question.question for question in benchmark.questions("evolution")][:6]
        if not hasattr(benchmark, "environment"):
            opened = open_run(run, benchmark=benchmark, min_similarity=0)
            seen["bundles"] = [msgspec.to_builtins(opened.bundle(text)) for text in texts]
            learner.heard.clear()
            for text in texts:
                ask(run, text, benchmark=benchmark, execution=learner)
            seen |= {"asked": learner.heard[:], "served": served(run, benchmark, texts)}
    return seen


def served(run: Run, benchmark: Any, texts: Sequence[str]) -> list[object]:
    """Return what a proxy puts before questions of the run, and before the same in other words."""
    live = LiveRun.open(run, benchmark=benchmark, holdback=0, bounds=bounds_of(0.0, (), 0))
    try:
        asked = [*texts, *(f"Please: {text}" for text in texts)]
        prepared = [live.prepare(said(text), "chat", session=str(number)) for number, text in enumerate(asked)]
        return [(each.notes, each.opened.memories, each.opened.task_type, each.opened.arm) for each in prepared]
    finally:
        live.close()


def events_of(run: Run) -> list[v.Event]:
    events = [record.event for record in LogReader(run.log_path).records() if not isinstance(record.event, TELL_GOLD)]
    return [msgspec.structs.replace(e, latency_us=0) if isinstance(e, v.ModelCalled) else e for e in events]


def same(one: dict[str, object], other: dict[str, object]) -> None:
    assert one.keys() == other.keys()
    for part, value in one.items():
        assert value == other[part], part


def before_refit(seen: dict[str, object]) -> dict[str, object]:
    events = seen["learned"]
    assert isinstance(events, list)
    learned = takewhile(lambda event: not (isinstance(event, v.MemoryAppended) and event.phase == OF_ANCHORS), events)
    return {"learned": list(learned), "evolving": seen["evolving"], "guided": seen["guided"]}


def rotated(names: Sequence[str]) -> dict[str, str]:
    """Return for each question the one whose gold it gets."""
    return dict(zip(names, (*names[1:], *names[:1]), strict=True))


COLUMNS = sorted({name for role, names in ROLES.items() for name in names if role not in ("options", "id", "subject")})


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[dict[str, Any]], str]:
    """Return own tasks whose columns have names of roles, whatever they hold, and the name that says which is what."""
    asked, right, *others = draw(st.permutations(COLUMNS))
    extra = [name for name in others[: draw(st.integers(0, 4))] if name != "split"]
    chance = draw(st.randoms(use_true_random=False))
    rows = [
        {
            asked: f"{' '.join(chance.choices(WORDS, k=6))} {k}",
            right: chance.choice(LABELS),
            **{name: chance.choice(("red", "blue")) for name in extra},
        }
        for k in range(48)
    ]
    # Which of the others is a schema or a solution is not what matters here; a second question or answer is none.
    columns = f"question:{asked},answer:{right}"
    return rows, f"mine?columns={columns}&labels={','.join(LABELS)}&scorer=choice"


CONFIG = Config(
    benchmark=NAME, iterations=2, pool=6, held_out=8, anchors=5, targets=1, embedder="hash", teacher_sees="answers"
)


def divided(rows: Sequence[dict[str, Any]], name: str) -> tuple[Splits, str]:
    tasks = given_tasks(name, rows)
    return divide(CONFIG, tasks), tasks.column_roles["answer"]


@settings(max_examples=4, deadline=None)
@given(tables(), st.sampled_from(["held_out", "anchors"]))
def test_own_tasks_put_no_function_of_held_out_or_anchor_gold_before_a_model(
    table: tuple[list[dict[str, Any]], str], which: str
) -> None:
    rows, name = table
    splits, answer = divided(rows, name)
    guarded = rotated(getattr(splits, which))
    tossed = splits.anchors if which == "anchors" else ()
    named = {f"row-{k + 1}": row for k, row in enumerate(rows)}
    permuted = [
        {**row, answer: named[guarded[row_id]][answer]} if row_id in guarded else row for row_id, row in named.items()
    ]
    assert permuted != rows or len({named[each][answer] for each in guarded}) == 1
    both = []
    for each in (rows, permuted):
        tasks = given_tasks(name, each)
        benchmark = Given(tasks, [*tasks.questions("evolution"), *tasks.questions("test")], tossed)
        both.append(observed(benchmark, CONFIG, which=which))
    same(*both)


NINE = {
    "gsm8k": "builtin/analogist",
    "realmath": "builtin/copier",
    "hotpotqa": "builtin/copier",
    "webqa": "builtin/copier",
    "stbench": "builtin/copier",
    "finqa": "builtin/copier",
    "medqa": "builtin/copier",
    "webshop-100": "builtin/copier",
    "wordmath": "builtin/analogist",
}
"""Not Crafter: all its questions have the same gold, so there is nothing to permute."""


class Unpermuted(NamedTuple):
    """A few questions of a benchmark, and what a run on them put before models, with the gold that they have."""

    inner: Any
    questions: Sequence[Question]
    splits: Splits
    seen: dict[str, object]
    config: Config
    execution: str


@pytest.fixture(scope="module", params=NINE)
def unpermuted(request: pytest.FixtureRequest) -> Unpermuted:
    name = request.param
    if name != "wordmath" and not DATA.is_dir():
        pytest.skip(f"no records in {DATA}; set MAGE_ES_DATA")
    inner = open_benchmark(name, seed=42, data_dir=DATA)
    few = [*inner.questions("evolution")[:60], *inner.questions("test")[:40]]
    config = msgspec.structs.replace(CONFIG, benchmark=NAME, episode_steps=12)
    splits = divide(config, Given(inner, few))
    seen = observed(Given(inner, few, splits.anchors), config, NINE[name])
    return Unpermuted(inner, few, splits, seen, config, NINE[name])


@pytest.mark.parametrize("which", ["held_out", "anchors"])
def test_no_benchmark_puts_a_function_of_held_out_or_anchor_gold_before_a_model(
    unpermuted: Unpermuted, which: str
) -> None:
    inner, few, splits, seen, config, execution = unpermuted
    by_id, guarded = {question.id: question for question in few}, rotated(getattr(splits, which))
    permuted = [regiven(question, by_id[guarded.get(question.id, question.id)], inner) for question in few]
    assert permuted != few
    expected = before_refit(seen) if which == "anchors" else seen
    same(expected, observed(Given(inner, permuted, splits.anchors), config, execution, which=which))


def regiven(question: Question, other: Question, inner: Any) -> Question:
    """Return a question with the gold of another, and all that is made from it."""
    made: dict[str, Any] = {"task_type": other.task_type} if inner.task_type_source == "gold" else {}
    if not hasattr(inner, "environment"):  # of an episode it says what world is played, and that is seen
        made["meta"] = other.meta
    return msgspec.structs.replace(question, gold=other.gold, solution=other.solution, **made)
