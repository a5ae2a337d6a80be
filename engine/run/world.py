"""Opening a run's surroundings: benchmark, splits, embedder, typer and models, and everything that follows from them. A
new run commits to them in its first events, and stores its questions. Anything that opens it later (resume, exam, ask)
uses these, and compares the rest, so that a change is noticed before it does harm.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

import msgspec

from mage_es import __version__
from mage_es.engine.benchmarks.registry import given_name, open_benchmark, title, with_own_models
from mage_es.engine.benchmarks.tasks import names_tasks
from mage_es.engine.commands import Asked
from mage_es.engine.config import Config, canonical, fingerprint, parse
from mage_es.engine.embedders.registry import PAPER, open_embedder
from mage_es.engine.embedders.vectors import CheckedEmbedder
from mage_es.engine.rules.gold import are_copied, are_labels, are_short, may_be_results
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.rules.near_duplicates import LEAST_QUESTIONS
from mage_es.engine.rules.prompt import Templates, packaged
from mage_es.engine.rules.retrieval import recipe_query
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.splits import NO_SIDES, Sides, Splits, make_splits, recorded_splits
from mage_es.engine.rules.step_prompt import retrieval_text
from mage_es.engine.rules.subjects import own_words
from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import Parent, inheritance, past_of
from mage_es.engine.run.questions import all_questions, recorded_benchmark
from mage_es.engine.run.task_typing import TaskTyping
from mage_es.engine.seams.benchmark import Benchmark, Question, column_roles_of, options_of, traits_of
from mage_es.engine.seams.embedder import Embedder, Vectors
from mage_es.engine.seams.environment import Opening, is_sequential, opening_of
from mage_es.engine.seams.metering import Metered, SpendingGuard
from mage_es.engine.search.registry import Searches
from mage_es.events import vocabulary as v
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.facts.private import ERASED
from mage_es.events.log import LogReader
from mage_es.events.segments.questions import named
from mage_es.projections.fold import State, fold
from mage_es.projections.snapshot_files import latest_snapshot


class World(NamedTuple):
    """Everything around a run that can be asked: questions by id, vectors, task types, verdicts."""

    setting: Setting
    benchmark: Benchmark
    embedder: Embedder
    typing: TaskTyping
    questions: Mapping[str, Question]
    splits: Splits
    searches: Searches | None = None
    parent: Parent | None = None
    """What a new run continues from."""
    method: object = None
    """The method at work (engine/study/baselines/method.py), or its trial, if a session has one that learns; otherwise
    its state is rebuilt from the log."""
    has_gold: bool = True
    """Whether the gold answers are present: a copy of a run may lack them."""

    def limit_scorer(self, seconds: float) -> None:
        """Limit how long the benchmark's `score` may take, if it has a limit."""
        limit: Callable[[float], None] = getattr(self.benchmark, "limit_scorer", lambda seconds: None)
        limit(seconds)

    @property
    def is_partly_erased(self) -> bool:
        """Whether some questions cannot be read here: their subject's key was destroyed, or is elsewhere."""
        return any(question.subject.startswith(ERASED) for question in self.questions.values())

    @property
    def is_scored_apart(self) -> bool:
        """Whether the benchmark's `score` waits for another process."""
        return bool(getattr(self.benchmark, "is_scored_apart", False))

    def types_of(self, state: State, questions: Sequence[Question]) -> dict[str, str]:
        """Return the task type of each question, by id."""
        types = self.typing.types_of(questions, state.graph.induced_types())
        return {question.id: name for question, name in zip(questions, types, strict=True)}

    def asked(
        self,
        state: State,
        questions: Sequence[Question],
        task_types: Sequence[str],
        purposes: Sequence[v.Purpose],
        vectors: Vectors | None = None,
    ) -> list[Asked]:
        """Return questions about to be asked on a state, with the vectors needed to choose their bundles. `vectors` are
        those of the questions' texts, if known; an episode's text is more than its question."""
        openings: dict[str, Opening] = {}
        if is_sequential(self.benchmark):
            openings = {question.id: opening_of(self.benchmark, question) for question in questions}
        asking = {question.id: question.question for question in questions}
        for name, opening in openings.items():
            asking[name] = retrieval_text(asking[name], opening.moment.observation)
        if vectors is None or openings:
            vectors = self.embedder.encode(list(asking.values()))
        texts = {}
        for question, task_type in zip(questions, task_types, strict=True):
            if recipe := state.recipes.retrieval(task_type):
                texts[question.id] = recipe_query(recipe, asking[question.id])
        searched = dict(zip(texts, self.embedder.encode(list(texts.values())), strict=True)) if texts else {}
        return [
            Asked(question, task_type, vector, purpose, searched.get(question.id), openings.get(question.id))
            for question, task_type, vector, purpose in zip(questions, task_types, vectors, purposes, strict=True)
        ]

    def started(self, run_id: str) -> v.RunStarted:
        config = self.setting.config
        return v.RunStarted(
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
            task_type_source=self.typing.source,
            data_sha256=self.benchmark.data_sha256,
            licence=self.benchmark.licence,
            guidance_room=self.setting.guidance_room,
            is_type_asked=self.setting.traits.is_type_asked,
            columns=tuple(v.ColumnRole(role=role, name=name) for role, name in column_roles_of(self.benchmark).items()),
            templates=tuple(
                v.Template(name=name, wording=text) for name, text in sorted(self.setting.templates.items())
            ),
        )


def open_world(
    config: Config,
    *,
    data_dir: Path | str | None,
    benchmark: Benchmark | None = None,
    embedder: Embedder | None = None,
    spending: SpendingGuard | None = None,
    guidance_room: int = 0,
    parent: Parent | None = None,
    templates: Templates | None = None,
) -> World:
    """Return the world of a new run, which continues its `parent`, if any. `benchmark` and `embedder` replace those in
    the configuration, `templates` this program's; `spending` allows the embedder's calls and books what they cost;
    `guidance_room` is how many tokens of a brief the guidance model's server has room for (0: it does not say).

    Raises:
        UsageError: An unknown benchmark, embedder or search, a search in paragraphs that no question has, or a
            mismatch with the parent.
        PrerequisiteError: A data set or a corpus is missing or malformed, or too small for the configuration.
        BudgetReached: The budget allows no further call of the embedder.
    """
    config = with_own_models(config)
    embedder = CheckedEmbedder(embedder) if embedder else open_embedder(config.embedder)
    if spending and isinstance(embedder, Metered):
        embedder.meter.charge(spending)
    if parent:
        benchmark = parent.benchmark(config, benchmark, data_dir=data_dir)
        parent, splits = _without_likenesses(config, benchmark, parent)
    else:
        benchmark = benchmark or open_benchmark(config.benchmark, seed=config.seed, data_dir=data_dir)
        splits = divide(config, benchmark)
    begun = parent and parent.event
    asking = packaged() if templates is None else templates
    world = _open(config, embedder, benchmark, splits, guidance_room=guidance_room, begun=begun, templates=asking)
    if parent:
        _require_same(world.started(""), parent.started, ("embedder", "embedder_sha256", "task_type_source"))
        world = world._replace(parent=parent)
    if world.searches:
        world.searches.open(world.questions.values())
    return world


def reopen_world(
    reader: LogReader,
    *,
    data_dir: Path | str | None,
    benchmark: Benchmark | None = None,
    embedder: Embedder | None = None,
    frozen: bool = False,
) -> World:
    """Return the world that a run was started in, with the questions that it stored, after comparing the rest.
    `benchmark` is the object that the run began with, if it got one from Python; `embedder` replaces the one in the
    run's configuration. A `frozen` world plans and learns nothing, so it needs no guarded questions. Comparing the
    splits would take longest, since all questions would have to be divided again: it is skipped for a frozen world and
    for a served run.

    Raises:
        UsageError: `benchmark` is not a benchmark, or not the run's.
        PrerequisiteError: The splits, the embedder, or something else about the benchmark are not what the run
        committed to.
        LogDamaged: The stored questions are damaged.
    """
    started = first_event(reader)
    config = parse(started.config)
    if benchmark is not None and (name := given_name(benchmark)) != started.benchmark:
        raise UsageError(f"The run {started.run_id} was started with {started.benchmark}, not with {name}.")
    if embedder is not None and not hasattr(embedder, "dimension"):
        raise UsageError(f"embedder is {embedder!r:.80}: give an object with everything that `mage_es.Embedder` lists.")
    # What `paper` meant then, since what can be loaded may have changed.
    name = started.embedder if config.embedder == PAPER else config.embedder
    embedder = CheckedEmbedder(embedder) if embedder else open_embedder(name)
    opened, has_gold = recorded_benchmark(reader, started, data_dir=data_dir)
    committed = list(reader.of(v.SplitCommitted))
    begun = inheritance(reader)
    # Erased questions cannot be divided again; they are no longer in a split, and never asked. A served run draws no
    # new questions, and clients wait for its start.
    is_divided = (
        frozen
        or (begun and begun.is_served)
        or any(question.subject.startswith(ERASED) for question in all_questions(opened))
    )
    splits = recorded_splits(committed, all_questions(opened)) if is_divided else divide(config, opened, past_of(begun))
    room, asking = started.guidance_room, templates_of(started)
    world = _open(
        config, embedder, opened, splits, guidance_room=room, learns=not frozen, begun=begun, templates=asking
    )
    world = world._replace(has_gold=has_gold)
    _require_same(world.started(""), started, ("embedder", "embedder_dimension", "embedder_sha256"))
    if committed != list(world.splits.events):
        raise PrerequisiteError(
            f"This release divides the questions differently from what the run {started.run_id} committed to. "
            f"Use the release that started it ({started.package_version}), or start a new run."
        )
    return world


def require_scoring(world: World, what: str) -> None:
    """Raise `PrerequisiteError` in a copy of a run without its gold answers; `what` names, for the message, what needs
    them. Raises whatever the benchmark's `require_scorer` raises, if its scorer is not part of the run."""
    if not world.has_gold:
        raise PrerequisiteError(
            f"This copy of the run has no gold answers, and {what} needs them: restore a backup that has them, or "
            f"copy its folder log/golds here."
        )
    require: Callable[[], None] = getattr(world.benchmark, "require_scorer", lambda: None)
    require()


def require_readable(world: World, state: State) -> None:
    """Raise `PrerequisiteError` if unfinished questions belong to a subject whose key is gone."""
    plans = (plan for phase in get_args(v.Phase) for plan in state.progress.plans(phase))
    if gone := sorted({p.question_id for p in plans if world.questions[p.question_id].subject.startswith(ERASED)}):
        raise PrerequisiteError(
            f"The current work cannot be finished, since {len(gone)} of its questions cannot be read "
            f"({named(gone)}): "
            "their subject's key was destroyed, or is not in this copy. You can still ask questions on what was "
            "learned before."
        )


def require_ontology(state: State, marker: str) -> None:
    """Raises `UsageError` for a marker before the run had a skill."""
    if not state.graph.skills():
        raise UsageError(
            f"At {marker} the run had no skills and no task types yet: choose `start` or a later marker. "
            "A baseline never has any; `mage-es report` shows its results."
        )


def state_of(run: Run, reader: LogReader, *, until: int | None = None) -> State:
    """Return the state after event `until` (default: the last), folded from the nearest snapshot before it."""
    return fold(reader, until=until, state=latest_snapshot(run.snapshots_path, reader, until=until))


def templates_of(started: v.RunStarted) -> Templates:
    return {template.name: template.wording for template in started.templates}


def first_event(reader: LogReader) -> v.RunStarted:
    """Return the `run.started` of a log. Raises `PrerequisiteError` for a run that ended before it."""
    if started := next(reader.of(v.RunStarted, since=1), None):
        return started
    cut = next((event for event in reader.of(v.LogRepaired) if event.cut_first == 1), None)
    if cut is not None:
        many = f"its first {cut.cut_last} events" if cut.cut_last else "all its events"
        raise PrerequisiteError(
            f"A repair cut {many} out of the log of {reader.run}, so nothing is left to continue: restore the run from "
            f"a backup, or start another. The bytes that were cut out are in its folder log/quarantine."
        )
    raise PrerequisiteError(
        f"The run {reader.run} ended before its first event: start it again, with --run-id {reader.run}."
    )


def baseline_of(reader: LogReader) -> v.BaselineStarted | None:
    return next(reader.of(v.BaselineStarted), None)


def divide(config: Config, benchmark: Benchmark, past: Sides = NO_SIDES) -> Splits:
    """Return the splits of a run, including what the benchmark itself left out.

    Raises `PrerequisiteError` if there is nothing to learn from, or nothing to examine.
    """
    evolution, test = benchmark.questions("evolution"), benchmark.questions("test")
    sizes = {"anchors": config.anchors, "held_out": config.held_out}
    splits = make_splits(evolution, test, seed=config.seed, **sizes, past=past)
    splits = splits._replace(repeats=(*getattr(benchmark, "repeats", ()), *splits.repeats))
    if splits.evolution and splits.held_out:
        return splits
    left = (len(splits.evolution) + len(splits.anchors), len(splits.held_out))
    count = f"{len(evolution)}, and {len(test)} of a test" if test else f"{len(evolution)}"
    alike = f" All nearly repeat one another, such as {' and '.join(splits.groups[0][:2])}." if splits.groups else ""
    raise PrerequisiteError(
        f"{title(config.benchmark)} has too few different questions to divide ({count}): {left[0]} would be left "
        f"to learn from, and {left[1]} to examine.{alike} Give more different questions; with {LEAST_QUESTIONS} or "
        "more, what they all have in common, such as a table, can be told from what they ask."
    )


def _without_likenesses(config: Config, benchmark: Benchmark, parent: Parent) -> tuple[Parent, Splits]:
    """Return the splits without the questions that resemble what the parent wrote, and the parent with their ids."""
    while True:
        splits = divide(config, benchmark, past_of(parent.event))
        if not (found := parent.resembling(splits, all_questions(benchmark))):
            return parent, splits
        resembling = (*parent.event.resembling, *found)
        parent = parent._replace(event=msgspec.structs.replace(parent.event, resembling=resembling))


def _require_same(now: v.RunStarted, before: v.RunStarted, names: Sequence[str]) -> None:
    for name in names:
        if getattr(now, name) != getattr(before, name):
            raise PrerequisiteError(
                f"The run {before.run_id} was started with {name} {getattr(before, name)}, but now it is "
                f"{getattr(now, name)}: give the same, or start a new run."
            )


def _open(
    config: Config,
    embedder: Embedder,
    benchmark: Benchmark,
    splits: Splits,
    *,
    guidance_room: int,
    begun: v.RunInherited | None,
    templates: Templates,
    learns: bool = True,
) -> World:
    questions = {question.id: question for question in all_questions(benchmark)}
    known = [questions[name] for name in splits.evolution]
    golds = [question.gold for question in known]
    is_own = names_tasks(benchmark.name) or getattr(benchmark, "is_seed_bound", False)
    setting = Setting(
        config=config,
        evolution=splits.evolution,
        anchors=splits.anchors if config.guard == "paired" else (),
        held_out=splits.held_out,
        task_types=tuple(sorted({question.task_type for question in known if question.task_type})),
        answer_format=benchmark.answer_format,
        guarded=Guarded(splits.events if learns else ()),
        traits=traits_of(benchmark),
        guidance_room=guidance_room,
        subjects={q.id: q.subject for q in questions.values() if q.subject and not q.subject.startswith(ERASED)},
        own_words=own_words(questions.values()),
        first=begun.iteration + 1 if begun else 0,
        is_labelled=are_labels(golds) and not any(map(options_of, known)),
        # General knowledge can be reasoned about; someone's private rule can only be learned from its cases.
        is_short=is_own and are_short(golds) and not any(each.solution or options_of(each) for each in known),
        is_calculated=may_be_results(golds) and not are_copied([(each.question, each.gold) for each in known]),
        templates=templates,
        has_episodes=is_sequential(benchmark),
        is_served=begun is not None and begun.is_served,
        reproof=begun.reproof if begun else 0,
    )
    typing = TaskTyping(benchmark, known, embedder, choice=config.task_types)
    searches = Searches(config.search) if config.search else None
    world = World(setting, benchmark, embedder, typing, questions, splits, searches)
    world.limit_scorer(config.scorer_seconds)
    return world
