"""Runs written by hand: real logs with exactly the facts that a table is about, so its figures can be worked out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from mage_es.engine.benchmarks.registry import open_benchmark, with_own_models
from mage_es.engine.config import Config, canonical, fingerprint
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import exam_records
from mage_es.engine.run.questions import rows_of
from mage_es.engine.study.reporting.study import Study, open_study
from mage_es.events import vocabulary as v
from mage_es.events.log import Log, LogReader
from tests.kit.plain_events import plain
from tests.paper_parts import PAPER_PARTS

Verdicts = str
"""One letter a question, the first being q0: 1 right, 0 wrong, j right by a judge, n left undecided, x left without an
answer by a call that failed for good."""


def judged(
    name: str, letter: str, *, iteration: int = -1, purpose: str = "exam", score: float | None = None
) -> v.AnswerJudged | v.AnswerUnanswered | v.AnswerUndecided:
    """Return a verdict, by the rule or as the letter says, or that there is none."""
    if letter == "n":
        return plain(
            v.AnswerUndecided,
            iteration=iteration,
            purpose=purpose,
            question_id=name,
            task_type="t",
            problem="scorer failed: ValueError: no",
        )
    if letter == "x":
        return plain(
            v.AnswerUnanswered,
            iteration=iteration,
            purpose=purpose,
            question_id=name,
            task_type="t",
            problem="filtered: withheld",
        )
    value = float(letter in "1j") if score is None else score
    return v.AnswerJudged(
        iteration=iteration,
        purpose=purpose,  # type: ignore[arg-type]
        question_id=name,
        task_type="t",
        skill="s",
        answer="a",
        score_micro=round(value * 1_000_000),
        correct=value >= 0.5,
        strict=letter == "1" and value == 1.0,
        judge="some/judge" if letter == "j" else "rule",
    )


def called(
    about: str, *, tier: str = "execution", purpose: str = "exam", iteration: int = -1, ms: int = 0, **fields: Any
) -> v.ModelCalled:
    """Return a call with its latency in milliseconds."""
    agent = {"execution": "Learner", "guidance": "SkillDiscovery", "judge": "Critic"}[tier]
    known: dict[str, Any] = {"model": "builtin/analogist", "text": "", "input_tokens": 10, "output_tokens": 5, **fields}
    return v.ModelCalled(
        iteration=iteration,
        tier=tier,  # type: ignore[arg-type]
        agent=agent,
        purpose=purpose,
        about=about,
        attempt=0,
        request_sha256=f"{about}-{tier}-{purpose}",
        stop_reason="stop",
        latency_us=1000 * ms,
        **known,
    )


def played(
    name: str, *, score: float, steps: int, unparsed: int, achieved: int = 0, iteration: int = -1, purpose: str = "exam"
) -> v.EpisodeClosed:
    """Return the end of an episode."""
    return v.EpisodeClosed(
        iteration=iteration,
        purpose=purpose,
        episode_id=name,
        context_id="c",
        steps=steps,
        score_micro=round(score * 1_000_000),
        achievements=tuple(f"a{number}" for number in range(achieved)),
        unparsed=unparsed,
    )


def split(name: str, size: int) -> v.SplitCommitted:
    """Return a commitment to so many questions, whose hashes nobody looks at."""
    return v.SplitCommitted(split=name, size=size, ids_sha256="", questions_sha256="", question_hashes=())


class Facts(NamedTuple):
    """Makers of the events that runs are written with."""

    judged: Callable[..., v.AnswerJudged] = judged
    called: Callable[..., v.ModelCalled] = called
    played: Callable[..., v.EpisodeClosed] = played


class Bench:
    """Writes runs into a folder and opens the study of it."""

    tools = Facts()

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(
        self,
        name: str,
        *,
        events: Iterable[v.Event] = (),
        iterations: int = 1,
        before: Verdicts = "",
        after: Verdicts = "",
        facts: Mapping[str, Sequence[v.Event]] | None = None,
        finished: bool = True,
        taken: Mapping[str, int] | None = None,
        told: int = 0,
        data: Path | None = None,
        **config: Any,
    ) -> Run:
        """Write a run whose exams, at the start and at the end, came to `before` and `after`.

        `events` are those of the iterations, each in the iteration that it names; `facts` further ones of the exam
        with that marker; `taken` are the sizes of splits, `told` the iterations wanted where they are more; what a
        benchmark reads from the folder `data` is stored.
        """
        settings = Config(**{"benchmark": "wordmath", "iterations": told or iterations, **PAPER_PARTS, **config})
        run = Run(name, self.folder / name)
        run.path.mkdir(parents=True)
        start, written = 0, sorted(events, key=lambda event: getattr(event, "iteration", -1))
        opened = [_started(name, settings, data), *(split(part, size) for part, size in (taken or {}).items())]
        drafts = [v.Draft(event=event, iteration=-1, phase="open", ordinal=at) for at, event in enumerate(opened)]
        for k in range(-1, iterations):
            drafts += _drafts([event for event in written if getattr(event, "iteration", -1) == k], iteration=k)
            drafts.append(v.Draft(event=v.IterationClosed(iteration=k, digests=()), iteration=k, phase="close"))
            start = len(drafts) if k < 0 else start
        if finished:
            drafts.append(v.Draft(event=v.RunFinished(iterations=iterations), iteration=iterations, phase="close"))
        with Log.create(run.log_path, run=name, clock=lambda: 0) as log:
            log.append(drafts + _stored(log, settings, data))
            end = len(drafts)
        for marker, letters, head in (("start", before, start), ("latest", after, end)):
            more = (facts or {}).get(marker, ())
            if letters or more:
                self.exam(run, marker, letters, head=head, facts=more)
        return run

    def baseline(
        self,
        name: str,
        way: str,
        letters: Verdicts,
        *,
        facts: Sequence[v.Event] = (),
        shots: int = 0,
        data: Path | None = None,
        **config: Any,
    ) -> Run:
        """Write a baseline, whose own log is its exam; so many examples stood in its prompts."""
        settings = Config(**{"benchmark": "wordmath", "guidance": "", **config})
        run = Run(name, self.folder / name)
        run.path.mkdir(parents=True)
        names = tuple(f"e{number}" for number in range(shots))
        begun = v.BaselineStarted(baseline=way, samples=1, rounds=0, shots=names, oracle_stop=False)
        verdicts = [judged(f"q{place}", letter) for place, letter in enumerate(letters)]
        closed = v.ExamClosed(correct=0, total=len(letters), familiar_correct=0, familiar_total=0)
        with Log.create(run.log_path, run=name, clock=lambda: 0) as log:
            ended = [closed, v.RunFinished(iterations=0)]
            log.append(_drafts([_started(name, settings, data), begun, *verdicts, *facts, *ended], iteration=-1))
            log.append(_stored(log, settings, data))
        return run

    def exam(
        self,
        run: Run,
        marker: str,
        letters: Verdicts,
        *,
        head: int,
        control: str = "none",
        facts: Sequence[v.Event] = (),
    ) -> None:
        """Write an exam of a run, into the run's log too."""
        number = 1 + len(exam_records(LogReader(run.log_path)))
        path = run.exams_path / f"{number:04d}-{marker}"
        path.mkdir(parents=True)
        opened = v.ExamOpened(
            exam=path.name,
            run_id=run.id,
            marker=marker,
            head_seq=head,
            control=control,
            execution="builtin/analogist",
            judge="",
            asked=len(letters),
            asked_sha256="",
            digests=(),
        )
        verdicts = [judged(f"q{place}", letter) for place, letter in enumerate(letters)]
        with Log.create(path / "log", run=f"{run.id}/{path.name}", clock=lambda: 0) as own:
            own.append(_drafts([opened, *verdicts, *facts], iteration=-1))
        closed = v.ExamClosed(
            correct=0,
            total=len(letters),
            familiar_correct=0,
            familiar_total=0,
            exam=path.name,
            head_seq=own.head.seq,
            head_chain=own.head.chain,
        )
        with Log.open(run.log_path, clock=lambda: 0) as log:
            log.append(_drafts([opened, closed], iteration=-1))

    def study(self, **options: Any) -> Study:
        """Return the study of everything written so far."""
        return open_study(self.folder, **options)


def _drafts(events: Sequence[v.Event], *, iteration: int) -> list[v.Draft]:
    return [
        v.Draft(event=event, iteration=iteration, phase="exam", ordinal=place) for place, event in enumerate(events)
    ]


def _stored(log: Log, config: Config, data: Path | None) -> list[v.Draft]:
    if data is None:
        return []
    stored = log.store(*rows_of(open_benchmark(config.benchmark, seed=config.seed, data_dir=data)))
    return [v.Draft(event=stored, iteration=-1, phase="open")]


def _started(name: str, config: Config, data: Path | None) -> v.RunStarted:
    config = with_own_models(config)
    read = open_benchmark(config.benchmark, seed=config.seed, data_dir=data) if data else None
    return v.RunStarted(
        run_id=name,
        benchmark=config.benchmark,
        seed=config.seed,
        config=canonical(config),
        config_sha256=fingerprint(config),
        package_version="0",
        execution_model=config.execution,
        guidance_model=config.guidance,
        embedder="hash",
        embedder_dimension=1,
        embedder_sha256="",
        task_type_source="metadata",
        data_sha256=read.data_sha256 if read else "",
        licence="",
    )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A folder to write runs into."""
    return Bench(tmp_path / "runs")


@pytest.fixture
def cells() -> Callable[..., list[list[str]]]:
    """A function that returns the rows of a table as plain texts."""
    from mage_es.engine.study.reporting.cells import StudyTable
    from mage_es.engine.study.reporting.rendering import plain

    def read(table: StudyTable) -> list[list[str]]:
        return [[plain(entry) for entry in row] for row in table.rows]

    return read
