"""Opening a run's surroundings: benchmark, splits, embedder, typer and models, and what they fix for good.

What is opened for a new run is committed to in its first events; what is opened again later (resume, exam,
ask) is held against that commitment, so a data set that changed in between is noticed before it does harm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es import __version__
from mage_es.engine.benchmarks.protocol import Benchmark, Question
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.commands import Asked
from mage_es.engine.config import Config, canonical, fingerprint, parse
from mage_es.engine.embedders.metering import Metered, Spending
from mage_es.engine.embedders.protocol import Embedder, Vectors
from mage_es.engine.embedders.registry import open_embedder
from mage_es.engine.environments.protocol import is_sequential
from mage_es.engine.episodes import opening_of
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.rules.retrieval import recipe_query
from mage_es.engine.rules.splits import Splits, make_splits
from mage_es.engine.rules.step_prompt import Opening, retrieval_text
from mage_es.engine.search.registry import Searches
from mage_es.engine.setting import Setting
from mage_es.engine.task_typing import TaskTyping
from mage_es.events.errors import PrerequisiteError
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import Event, Purpose, RunStarted, SplitCommitted
from mage_es.projections.fold import State


class World(NamedTuple):
    """Everything around a run that can be asked: questions by id, vectors, task types, verdicts."""

    setting: Setting
    benchmark: Benchmark
    embedder: Embedder
    typing: TaskTyping
    questions: Mapping[str, Question]
    splits: Splits
    searches: Searches | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors of shape [len(texts), dimension]."""
        return self.embedder.encode(texts)

    def asked(
        self, state: State, questions: Sequence[Question], task_types: Sequence[str], purposes: Sequence[Purpose]
    ) -> list[Asked]:
        """Return questions about to be asked on a state, with the vectors that choosing their bundles can need."""
        openings = {question.id: self._opening(question) for question in questions}
        asking = {question.id: _retrieved_by(question, openings[question.id]) for question in questions}
        vectors = self.embed(list(asking.values()))
        texts = {}
        for question, task_type in zip(questions, task_types, strict=True):
            if recipe := state.recipes.retrieval(task_type):
                texts[question.id] = recipe_query(recipe, asking[question.id])
        searched = dict(zip(texts, self.embed(list(texts.values())), strict=True)) if texts else {}
        return [
            Asked(question, task_type, vector, purpose, searched.get(question.id), openings[question.id])
            for question, task_type, vector, purpose in zip(questions, task_types, vectors, purposes, strict=True)
        ]

    def _opening(self, question: Question) -> Opening | None:
        return opening_of(self.benchmark, question) if is_sequential(self.benchmark) else None

    def started(self, run_id: str) -> RunStarted:
        """Return the first event of a run in this world."""
        config = self.setting.config
        return RunStarted(
            run_id=run_id,
            benchmark=config.benchmark,
            seed=config.seed,
            config=canonical(config),
            config_sha256=fingerprint(config),
            package_version=__version__,
            execution_model=config.execution,
            guidance_model=config.guidance,
            embedder=self.embedder.name,
            embedder_dimension=self.embedder.dimension,
            embedder_sha256=self.embedder.sha256,
            strategy_floor=self.setting.strategy_floor,
            task_type_source=self.typing.source,
            data_sha256=self.benchmark.data_sha256,
            licence=self.benchmark.licence,
        )


def open_world(
    config: Config, *, data_dir: Path | None, embedder: Embedder | None = None, toll: Spending | None = None
) -> World:
    """Return the world of a new run; a strategy floor that nobody set is measured on its evolution questions.

    `embedder` takes the place of the one that the configuration names; `toll` is asked before its calls cost something.

    Raises:
        UsageError: An unknown benchmark, embedder or search, or a search in paragraphs that no question has.
        PrerequisiteError: A data set or a corpus is missing or malformed, or too small for the configuration.
        BudgetReached: The toll allows no further call of the embedder.
    """
    embedder = embedder or open_embedder(config.embedder)
    if toll and isinstance(embedder, Metered):
        embedder.meter.charge(toll)
    chosen = config.strategy_floor or embedder.strategy_floor
    world = _open(config, embedder, data_dir=data_dir, strategy_floor=chosen)
    if world.searches:
        world.searches.open(world.questions.values())
    if chosen:
        return world
    from mage_es.engine.embedders.floor import strategy_floor

    texts = [world.questions[name].question for name in world.setting.evolution]
    floor = strategy_floor(texts, world.embedder, seed=config.seed)
    return world._replace(setting=world.setting._replace(strategy_floor=floor))


def reopen_world(reader: LogReader, *, data_dir: Path | None, embedder: Embedder | None = None) -> World:
    """Return the world that a run was started in, after holding it against the run's first events.

    `embedder` takes the place of the one that the run's configuration names, for who needs its vectors late if at all.

    Raises:
        PrerequisiteError: The data, the splits or the embedder are not those that the run committed to.
    """
    started = first_event(reader)
    config = parse(started.config)
    embedder = embedder or open_embedder(config.embedder)
    committed = [record.event for record in reader.records({SplitCommitted})]
    has_common = any(isinstance(event, SplitCommitted) and event.common_shingles for event in committed)
    world = _open(config, embedder, data_dir=data_dir, strategy_floor=started.strategy_floor, has_common=has_common)
    now = world.started(started.run_id)
    for name in ("data_sha256", "embedder", "embedder_dimension", "embedder_sha256"):
        if getattr(now, name) != getattr(started, name):
            raise PrerequisiteError(
                f"The run {started.run_id} was started with {name} {getattr(started, name)}, but now it is "
                f"{getattr(now, name)}: give it the same data and embedder, or start a new run."
            )
    if committed != _as_committed(world.splits.events, committed):
        raise PrerequisiteError(
            f"The questions divide differently from what the run {started.run_id} committed to: "
            "the data set or this program changed. Start a new run."
        )
    return world


def first_event(reader: LogReader) -> RunStarted:
    """Return the `run.started` of a log. Raises `PrerequisiteError` for a run that ended before it."""
    for record in reader.records({RunStarted}):
        if isinstance(record.event, RunStarted):
            return record.event
    raise PrerequisiteError(f"The run {reader.run} ended before its first event; delete its folder and start anew.")


def _as_committed(present: Sequence[SplitCommitted], committed: Sequence[Event]) -> list[SplitCommitted]:
    """Return the present commitments in the form that a run was started with: an earlier release had no shingles."""
    if any(isinstance(event, SplitCommitted) and event.shingles for event in committed):
        return list(present)
    return [msgspec.structs.replace(event, shingles=()) for event in present]


def _open(
    config: Config, embedder: Embedder, *, data_dir: Path | None, strategy_floor: float, has_common: bool = True
) -> World:
    """Open everything; `has_common` says whether the form of questions is left out where they are compared."""
    benchmark = open_benchmark(config.benchmark, seed=config.seed, data_dir=data_dir)
    evolution, test = benchmark.questions("evolution"), benchmark.questions("test")
    splits = make_splits(
        evolution, test, seed=config.seed, anchors=config.anchors, held_out=config.held_out, has_common=has_common
    )
    if not splits.evolution or not splits.held_out:
        raise PrerequisiteError(
            f"{config.benchmark} has {len(evolution)} evolution and {len(test)} test questions, "
            f"of which {len(splits.evolution)} and {len(splits.held_out)} are left where no two are alike: "
            "too few to divide. Give more questions that differ."
        )
    questions = {question.id: question for question in (*evolution, *test)}
    known = [questions[name] for name in splits.evolution]
    setting = Setting(
        config=config,
        strategy_floor=strategy_floor,
        evolution=splits.evolution,
        anchors=splits.anchors if config.guard == "paired" else (),
        held_out=splits.held_out,
        task_types=tuple(sorted({question.task_type for question in known if question.task_type})),
        answer_format=benchmark.answer_format,
        guarded=Guarded(splits.events),
    )
    typing = TaskTyping(benchmark, known, embedder, choice=config.task_types)
    searches = Searches(config.search) if config.search else None
    return World(setting, benchmark, embedder, typing, questions, splits, searches)


def _retrieved_by(question: Question, opening: Opening | None) -> str:
    return retrieval_text(question.question, opening.moment.observation) if opening else question.question
