"""The verb `effect`: what a memory, a kind of memory or those of a task type are worth (worth/effect.py).

Rules
    - Only the pairs cost calls. Their price is known in advance, and none is made unless the caller says so.
    - What is asked again is recorded in a log of its own within the run: the plan without the memories, the calls, the
      verdict. Another `effect` pays nothing for it. The run's own log records the results, and its digests do not
      change.
    - A reply that a log of the run has for the same request, by its hash, is not asked for again (askings/reasking.py).
    - A prompt is made on the state at which it was planned. One that this program would word differently is skipped,
      since its pair would differ in more than the memories.
"""

from collections.abc import Collection, Sequence
from itertools import groupby
from pathlib import Path

import msgspec

from mage_es.engine.agents.learner import course_of
from mage_es.engine.askings.reasking import Again, AskingAgain, asking_again, less, models_again
from mage_es.engine.config import parse
from mage_es.engine.courses import Ask, begin
from mage_es.engine.run.asking_price import AskingPrice, Like, price_again
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import World, first_event, reopen_world, require_scoring, state_of
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.model import Model
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.worth.effect import Without, asked_without, to_ask
from mage_es.engine.worth.memories import MemoryItem, full_id
from mage_es.engine.worth.worth import EffectRow, MemoryGroup, OnRecord, on_record, reasked_in
from mage_es.events.digests import sha256_text
from mage_es.events.errors import UsageError, nearest
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import EpisodeClosed, QuestionsReasked
from mage_es.projections.fold import State, fold

TOP = 20
"""Default number of memories to measure, starting with those that most questions saw."""


class EffectReport(msgspec.Struct, frozen=True, kw_only=True):
    """The three numbers of each row; `pooled` are kinds and types for which the coin may have enough where a memory has
    too few. `left` is the price of the pairs that are not yet on record, `made` how many calls were made now, and
    `unclear` how many prompts could not be reproduced, or were not answered."""

    run_id: str
    rows: tuple[EffectRow, ...]
    pooled: tuple[EffectRow, ...]
    left: AskingPrice
    temperature: float
    made: int = 0
    unclear: int = 0


@typed
async def aeffect(
    run: Run | Path | str,
    *,
    memory: str = "",
    kind: str = "",
    task_type: str = "",
    top: int = TOP,
    reask: bool = False,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    runtime: Runtime | None = None,
    execution: Model | None = None,
    judge: Model | None = None,
) -> EffectReport:
    """Return what one memory (its id, or the first digits), all of a kind, all of a task type, or each of the `top`
    most shown is worth. Only with `reask` are questions asked again; else pairs are those on record, and `left` is
    what asking would cost.

    Raises:
        UsageError: The tasks are episodes; more than one of them is given, it does not exist, or it is not text in a
        prompt (a tool, a recipe).
        With `reask`: `execution` or `judge` is not the run's own, or dollars are limited and it has no price.
        PrerequisiteError: The run's world is missing, or the model cannot be reached.
        Interrupted: The runtime's `stop` returned true, or one of its `limits` was reached; the same call continues.
    """
    run, runtime = as_run(run), runtime or Runtime()
    learned, made, unclear = of_prompts(run), 0, 0
    measured = _measured(learned, memory, kind, task_type, top)
    wanted = _wanted(learned, measured)
    if reask and wanted:
        learned, made = await ask_again(
            run,
            learned,
            wanted,
            verb="effect",
            groups=[each.names for each in measured],
            data_dir=data_dir,
            benchmark=benchmark,
            runtime=runtime,
            execution=execution,
            judge=judge,
        )
        unclear = len(_wanted(learned, measured))
    rows = tuple(learned.row(each) for each in measured)
    return EffectReport(
        run_id=run.id,
        rows=rows,
        pooled=tuple(learned.row(each, is_paired=False) for each in _pools(learned, rows)),
        left=price_of(learned, _wanted(learned, measured), runtime.prices),
        temperature=parse(first_event(learned.reader).config).answer_temperature,
        made=made,
        unclear=unclear,
    )


effect = blocking(aeffect)


def of_prompts(run: Run) -> OnRecord:
    """Return what is on record about memories. Raises `UsageError` for episodes: they retrieve at every step."""
    learned = on_record(run)
    if next(learned.reader.of(EpisodeClosed), None):
        raise UsageError(
            f"The tasks of {run.id} are episodes, which retrieve memories at every step: so no prompt can be asked "
            "again without one."
        )
    return learned


async def ask_again(
    run: Run,
    learned: OnRecord,
    wanted: Sequence[Without],
    *,
    verb: str,
    groups: Sequence[frozenset[str]],
    data_dir: Path | str | None,
    benchmark: Benchmark | None,
    runtime: Runtime,
    execution: Model | None,
    judge: Model | None,
) -> tuple[OnRecord, int]:
    """Ask prompts of a run again, in the order of its log, and record what a verb finds about groups of memories;
    return what is on record afterwards, and how many calls that took. Raises what `effect` raises."""
    world = reopen_world(learned.reader, data_dir=data_dir, benchmark=benchmark, frozen=True)
    require_scoring(world, "asking again")
    models = models_again(world, first_event(learned.reader), execution, judge)
    runtime.require_prices(models.names())

    def found() -> QuestionsReasked:
        now = on_record(run)  # a process that wrote the run until a moment ago may have asked more questions
        results = [asked_without(verb, now.askings, names, now.reasked) for names in groups]
        return QuestionsReasked(verb=verb, without=tuple(results))

    async with asking_again(run, learned.reader, world, models.by_tier(), runtime, verb, found) as asking:
        await _ask(asking, learned.reader, wanted)
    return learned._replace(reasked=reasked_in(run, learned.askings)), asking.book.calls


def _measured(learned: OnRecord, memory: str, kind: str, task_type: str, top: int) -> list[MemoryGroup]:
    if len(given := [word for word in (memory, kind, task_type) if word]) > 1:
        raise UsageError(
            f"{' and '.join(given)} cannot be measured together: give only one of memory, kind and task type."
        )
    items = learned.items
    if memory:
        name = full_id(memory, items)
        return [MemoryGroup(name, "memory", frozenset((name,)))]
    if not given:
        if top < 1:
            raise UsageError(f"top is {top}, but must be 1 or more: it is how many memories to measure.")
        return [MemoryGroup(name, "memory", frozenset((name,))) for name in list(learned.shown())[:top]]
    of = "kind" if kind else "type"
    ids = _ids_of(items.values(), of, given[0])
    if not ids:
        known = {each.kind for each in items.values()} if kind else {each.task_type for each in items.values()}
        raise UsageError(f"The run has no memory of the {of} {given[0]!r}.{nearest(given[0], sorted(known))}")
    return [MemoryGroup(given[0], of, ids)]


def _ids_of(items: Collection[MemoryItem], of: str, name: str) -> frozenset[str]:
    if of == "type":
        return frozenset(each.memory_id for each in items if each.task_type == name)
    return frozenset(each.memory_id for each in items if f"{each.kind}/".startswith(f"{name}/"))


def _pools(learned: OnRecord, rows: Sequence[EffectRow]) -> list[MemoryGroup]:
    """Return the kinds and types of memories whose coin has too few tosses."""
    few = [
        row for row in rows if row.of == "memory" and row.coin.points is None and row.coin.with_it + row.coin.without
    ]
    named_by = {("kind", row.kind) for row in few} | {("type", row.task_type) for row in few if row.task_type}
    items = learned.items.values()
    return [MemoryGroup(name, of, _ids_of(items, of, name)) for of, name in sorted(named_by)]


def _wanted(learned: OnRecord, measured: Sequence[MemoryGroup]) -> list[Without]:
    """Return what has to be asked again and is not on record, in the order of the log."""
    found = {each.name: each for group in measured for each in to_ask(learned.askings, group.names)}
    return sorted((each for name, each in found.items() if name not in learned.reasked), key=lambda e: e.asking.seq)


def price_of(learned: OnRecord, wanted: Sequence[Without], prices: Prices) -> AskingPrice:
    return price_again([Like(learned.reader, len(wanted), [each.asking.planned for each in wanted])], prices)


async def _ask(asking: AskingAgain, reader: LogReader, wanted: Sequence[Without]) -> None:
    """Ask prompts again, one moment of the run after another."""
    state: State | None = None
    done = 0
    for _, together in groupby(wanted, key=lambda each: (each.asking.planned.iteration, each.asking.phase)):
        group = list(together)
        until = group[-1].asking.seq
        state = fold(reader, until=until, state=state) if state else state_of(asking.run, reader, until=until)
        found = [again for each in group if (again := _again(asking.world, state, each))]
        await asking.answer(state, found, done=done, total=len(wanted))
        done += len(group)


def _again(world: World, state: State, each: Without) -> Again | None:
    """Return the plan of a prompt without some memories, or None if the original prompt cannot be reproduced."""
    planned = each.asking.planned
    asked = begin(course_of(world.setting, state, planned, world.questions[planned.question_id]))
    if not isinstance(asked, Ask) or sha256_text(asked.request.text) != planned.prompt_sha256:
        return None
    planned = less(world, state, planned, each.removed | each.asking.trimmed)
    return Again(planned, each.asking.phase, each.asking.seq, "\n".join(sorted(each.removed)))
