"""A run as evidence for GEPA, the optimizer of the package `gepa`: `mage_es.gepa.Adapter`.

Theory of operation
    GEPA evolves the texts of a program, which it knows by its adapter alone. Here the program is the run's own way of
    asking at a marker, with its model, extraction and scorer; its one text is the instruction, the words for the task
    that every prompt begins with. The log has the questions, the replies to them, and the corrections.

    GEPA waits for each answer, while clients of models work in one event loop. So the adapter, once entered, has a loop
    in a thread of its own, which holds the log, the clients and the budget until it is left.

Rules
    - GEPA learns from the questions that the run learned from, and chooses among instructions by the run's anchors or,
      if it has none, by every second of these questions. A held-out question is never asked, and no reflection shows a
      question that serves to choose.
    - A question that has a subject is left out: erasing the subject would not reach the instruction.
    - An instruction that quotes a guarded question counts as wrong on every question, and is never used to ask one.
    - What is asked, answered and written goes into the log of repeated questions (askings/reasking.py). A request whose
      reply is in any log of the run is not made again, so the same optimization, started again after a stop, costs only
      what is left. The run's digests do not change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from mage_es.engine.askings.reasking import AskingAgain, as_examined, asking_again, less, models_again, planned_on
from mage_es.engine.courses import Finish
from mage_es.engine.models.registry import open_model, require_models
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.inheriting import require_closed
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import World, first_event, reopen_world, require_ontology, require_scoring, state_of
from mage_es.engine.seams.benchmark import Benchmark, Question
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.model import Model, Request
from mage_es.engine.study.baseline import writer_of
from mage_es.engine.study.baselines.courses import writing
from mage_es.engine.study.baselines.method import TrialAnswer, blind, taught
from mage_es.engine.study.baselines.optimizing import INSTRUCTION, PLAIN, InstructionAdapter
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, SplitCommitted

try:
    from anyio.from_thread import BlockingPortal, start_blocking_portal
    from gepa import EvaluationBatch
except ImportError as error:
    raise PrerequisiteError(
        f"mage_es.gepa needs the package {error.name}: python -m pip install 'mage-es[gepa]'"
    ) from error


class RunAdapter(InstructionAdapter):
    """A run as the program that GEPA evolves (`gepa.GEPAAdapter`).

        import gepa, mage_es.gepa

        with mage_es.gepa.Adapter("tickets") as adapter:
            found = gepa.optimize(
                seed_candidate=adapter.seed,
                trainset=adapter.trainset,
                valset=adapter.valset,
                adapter=adapter,
                reflection_lm=adapter.reflect,
                max_metric_calls=300,
            )
        found.best_candidate["instruction"]

    `seed` is the run's own instruction. Questions are `mage_es.Question`s: those of `trainset` say as much about their
    right answers as the run's teacher sees, those of `valset` nothing. `reflect` asks the run's guidance model, or the
    learner if the run has none that writes texts.
    """

    def __init__(
        self,
        run: Run | Path | str,
        at: str = "start",
        *,
        data_dir: Path | str | None = None,
        benchmark: Benchmark | None = None,
        runtime: Runtime | None = None,
        execution: Model | None = None,
        guidance: Model | None = None,
        judge: Model | None = None,
    ) -> None:
        """At the `start` questions are asked with the bare prompt, as a program without memories asks them; at the end
        of an iteration, `iter-3` or the `latest`, with what had been learned at that point. `execution` must be the
        run's own model, `guidance` may be another. The limits of `runtime` apply to what is asked now.

        Raises `UsageError` if there is no such end of an iteration, the run's questions are episodes, or too few of
        them were answered, and `PrerequisiteError` if the world of the run is missing.
        """
        self.run, self._runtime, self._given = as_run(run), runtime or Runtime(), (execution, guidance, judge)
        self._reader = LogReader(self.run.log_path)
        self._started = first_event(self._reader)
        self._world = world = reopen_world(self._reader, data_dir=data_dir, benchmark=benchmark, frozen=True)
        require_scoring(world, "asking again")
        if is_sequential(world.benchmark):
            raise UsageError(f"The tasks of {world.benchmark.name} are episodes: they have no instruction to evolve.")
        self._iteration, self._seq = _end_of(self._reader, at)
        self._state = state_of(self.run, self._reader, until=self._seq)
        require_ontology(self._state, at)
        self._guarded = Guarded(self._reader.of(SplitCommitted))
        self.trainset, self.valset = _questions(self.run, self._reader, world)
        names = [task.id for task in (*self.trainset, *self.valset)]
        plans = planned_on(world, self._state, self._iteration, names)
        self._plans = {planned.question_id: planned for planned in plans}
        corrections = {
            row.question_id: row.reasoning
            for row in state_of(self.run, self._reader).memory.rows()
            if row.outcome == "failure_memory" and row.kind == "specific" and row.is_shown
        }
        super().__init__(self._asked, self._written, corrections)
        self.seed = {INSTRUCTION: world.setting.traits.task or PLAIN}
        self._open: tuple[BlockingPortal, AskingAgain] | None = None
        self._closing = ExitStack()

    def __enter__(self) -> RunAdapter:
        """Open models and the log of what is asked again. Raises what `effect` raises with `reask`."""
        execution, guidance, judge = self._given
        models = models_again(self._world, self._started, execution, judge)
        if guidance or (name := writer_of(self._world.setting.config)):
            models = msgspec.structs.replace(models, guidance=guidance or open_model(name, "guidance"))
        require_models(models)
        self._runtime.require_prices(models.names())
        with ExitStack() as opening:
            portal = opening.enter_context(start_blocking_portal())
            asking = asking_again(self.run, self._reader, self._world, models.by_tier(), self._runtime, "gepa")
            self._open = portal, opening.enter_context(portal.wrap_async_context_manager(asking))
            self._closing = opening.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = None
        self._closing.__exit__(kind, error, trace)

    def evaluate(
        self, batch: Sequence[Question], candidate: Mapping[str, str], capture_traces: bool = False
    ) -> EvaluationBatch[Any, TrialAnswer]:
        """Ask questions of the run with an instruction; each scores 1 for a right answer, else 0.

        Raises:
            UsageError: The candidate is not an instruction, or a question is neither in `trainset` nor in `valset`.
            Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached.
        """
        if candidate.keys() != {INSTRUCTION}:
            raise UsageError(
                f"The candidate has {sorted(candidate)}: a run has a single text, its {INSTRUCTION!r}, as in `seed`."
            )
        if others := sorted({task.id for task in batch} - self._plans.keys()):
            raise UsageError(f"{others[0]} is not a question of this adapter: use those of its trainset and valset.")
        return super().evaluate(batch, candidate, capture_traces)

    def make_reflective_dataset(
        self, candidate: Mapping[str, str], eval_batch: Any, components_to_update: Sequence[str]
    ) -> dict[str, list[dict[str, str]]]:
        """Return questions with replies and what was wrong with them: the right answer as far as a teacher of the run
        sees it, and the run's own correction.

        Raises `UsageError` for a question of `valset`.
        """
        known = {task.id for task in self.trainset}
        if others := sorted({task.id for task, _ in eval_batch.trajectories} - known):
            raise UsageError(f"{others[0]} serves to choose among instructions: reflect on trainset questions only.")
        return super().make_reflective_dataset(candidate, eval_batch, components_to_update)

    def _asked(self, instruction: str, names: Sequence[str]) -> Mapping[str, TrialAnswer]:
        world = self._world
        if instruction != self.seed[INSTRUCTION]:
            if self._guarded.likeness([instruction]).is_leak:
                return dict.fromkeys(names, TrialAnswer())
            traits = world.setting.traits._replace(task=instruction)
            world = world._replace(setting=world.setting._replace(traits=traits))
        plans = [less(world, self._state, self._plans[name], frozenset()) for name in names]
        wanted = [as_examined(planned, self._seq) for planned in plans]
        portal, asking = self._opened()
        done = len(self._known)
        answer = partial(asking._replace(world=world).answer, self._state, wanted, done=done, total=done + len(wanted))
        return dict(zip(names, map(_outcome, portal.call(answer)), strict=True))

    def _written(self, request: Request, shown: tuple[str, ...]) -> str:
        portal, asking = self._opened()
        ask = writing(f"{shown[0]}/notes", request, has_guidance="guidance" in asking.clients)
        called = portal.call(asking.write, self._state, self._iteration, ask, shown)
        return called.text if called else ""

    def _opened(self) -> tuple[BlockingPortal, AskingAgain]:
        if self._open is None:
            raise UsageError("The adapter is not open: call `gepa.optimize` within `with mage_es.gepa.Adapter(...)`.")
        return self._open


def _end_of(reader: LogReader, at: str) -> tuple[int, int]:
    """Return the number of an iteration and the event that ended it."""
    ends = {seq: marker.number for marker, seq in reader.markers().items() if marker.kind == "iteration"}
    require_closed(reader.run, reader)
    seq = max(ends) if at == "latest" else reader.resolve(at)
    if seq not in ends:
        raise UsageError(f"{at} is not the end of an iteration: give start, latest, or one such as iter-0.")
    return ends[seq], seq


def _questions(run: Run, reader: LogReader, world: World) -> tuple[list[Question], list[Question]]:
    """Return the questions to learn from, in the run's order, and those to choose by."""
    setting = world.setting
    answered = {judged.question_id for judged in reader.of(AnswerJudged)}
    learned, anchors = (
        [task for name in names if not (task := world.questions[name]).subject]
        for names in ([name for name in setting.evolution if name in answered], setting.anchors)
    )
    if len(learned) < 2:
        raise UsageError(f"{run.id} has {len(learned)} answered questions to learn from: `mage-es resume` asks more.")
    chosen_by = anchors or learned[1::2]
    reflected = learned if anchors else learned[::2]
    return [taught(task, setting.config.teacher_sees) for task in reflected], [blind(task) for task in chosen_by]


def _outcome(end: Finish | None) -> TrialAnswer:
    if end is None:
        return TrialAnswer()
    return TrialAnswer(end.reply, None if end.verdict is None or end.verdict.undecided else end.verdict)
