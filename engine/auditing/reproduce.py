"""The verb `reproduce`: compute a run's numbers again from its folder, and repeat some of its calls.

Rules
    - Everything that `verify` checks: the state is folded again, each request made again and matched with its recorded
      reply, each answer scored again.
    - A share of the execution model's calls, drawn by a seed, is repeated, as far as their models can be reached.
    - A stand-in must give the same replies. A served model need not, even at temperature 0; but if in one exam, or in
      the run, it is right significantly more or less often than the recorded replies to the same requests, these are
      not its own: poor ones at the start make a gain as good ones at the end do.
    - Nothing is recorded.
"""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from inspect import isawaitable
from pathlib import Path
from typing import Any

import msgspec

from mage_es.engine.auditing.theorems.recount import RebuiltCall
from mage_es.engine.auditing.verify import verify
from mage_es.engine.models.registry import open_model
from mage_es.engine.rules.randomness import ranked
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.exams import sign_test
from mage_es.engine.seams.benchmark import Benchmark, scored
from mage_es.engine.seams.check import Check
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.extraction import without_reasoning
from mage_es.engine.seams.faults import ModelFault
from mage_es.engine.seams.model import Model, reply_of
from mage_es.engine.seams.spec import is_embedded
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.events.errors import MageError, PrerequisiteError, UsageError

SHARE = 0.05
"""The share of the calls to repeat."""
AT_ONCE = 8
"""Most calls in flight."""
NAME = "asked again"
_P = 0.001
"""Recorded replies are not a model's own below this p value."""


class AskedAgain(msgspec.Struct, frozen=True, kw_only=True):
    """What a model replied to `asked` of its `calls`: `same` counts those equal word for word; of `scored` answers
    `right` are right now, and `recorded_right` were on record; `p` is the least, over exams and the run itself, of the
    exact sign test on answers that are right in only one of the two. `problem` says why nothing was asked, "" if
    something was."""

    model: str
    calls: int
    asked: int = 0
    same: int = 0
    scored: int = 0
    right: int = 0
    recorded_right: int = 0
    p: float = 1.0
    problem: str = ""


class ReproduceReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every check of a run, what was `asked` again of each model that answered, the `seed` of the draw, and the
    `seconds` taken."""

    run_id: str
    head: str
    checks: tuple[Check, ...]
    asked: tuple[AskedAgain, ...]
    seed: int
    share: float
    seconds: float

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


@typed
async def areproduce(
    run: Run | Path | str,
    *,
    share: float = SHARE,
    seed: int = 0,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    execution: Model | None = None,
) -> ReproduceReport:
    """Check a run as `verify` does, and repeat a `share` (0 to 1) of its calls, drawn by `seed`. `execution` answers in
    place of the model of the same name, if the run got that model as a Python object. Raises `UsageError` for an
    invalid share."""
    if not 0 <= share <= 1:
        raise UsageError(f"share is {share}, but must be from 0 to 1: it is the share of the calls to repeat.")
    run, began, rebuilt = as_run(run), time.perf_counter(), list[RebuiltCall]()
    report = await asyncio.to_thread(verify, run, data_dir=data_dir, benchmark=benchmark, rebuilt=rebuilt)
    asked, given = list[AskedAgain](), {execution.name: execution} if execution else {}
    for name, calls in sorted(_drawn(rebuilt, share, seed).items()) if share else ():
        asked.append(await _asked_again(name, *calls, given))
    return ReproduceReport(
        run_id=run.id,
        head=report.head,
        checks=(*report.checks, *map(_check, asked)),
        asked=tuple(asked),
        seed=seed,
        share=share,
        seconds=time.perf_counter() - began,
    )


reproduce = blocking(areproduce)


def _drawn(rebuilt: Sequence[RebuiltCall], share: float, seed: int) -> dict[str, tuple[int, list[RebuiltCall]]]:
    """Return by model how many calls it had, and those to repeat: at least one."""
    by_model = defaultdict[str, dict[str, RebuiltCall]](dict)
    for each in rebuilt:
        by_model[each.called.model][f"{each.exam}/{each.called.subject}/{each.planned.iteration}"] = each
    drawn = {}
    for name, calls in by_model.items():
        chosen = ranked(sorted(calls), seed, purpose="reproduce")[: math.ceil(share * len(calls))]
        drawn[name] = (len(calls), [calls[key] for key in chosen])
    return drawn


async def _asked_again(name: str, count: int, drawn: Sequence[RebuiltCall], given: Mapping[str, Model]) -> AskedAgain:
    try:
        model = given[name] if name in given else open_model(name, "execution")
    except (UsageError, PrerequisiteError) as missing:
        return AskedAgain(model=name, calls=count, problem=str(missing))
    gate, problems = asyncio.Semaphore(AT_ONCE), list[str]()

    async def ask(each: RebuiltCall) -> str | None:
        async with gate:
            if problems:  # a model that cannot be reached once is not tried again
                return None
            try:
                return without_reasoning((await reply_of(model, each.request)).text)
            except (ModelFault, MageError) as fault:
                problems.append(str(fault))
                return None

    replies = await asyncio.gather(*map(ask, drawn))
    closing: Any = getattr(model, "aclose", None)
    if closing and name not in given:
        with suppress(Exception):  # whatever a client fails at when it is closed, its replies are here
            if isawaitable(closed := closing()):
                await closed
    pairs = [(each, reply) for each, reply in zip(drawn, replies, strict=True) if reply is not None]
    changes = defaultdict[str, list[int]](list)
    # Only the last call of a course has the answer, and an episode has a score of its own.
    last = [(each, reply) for each, reply in pairs if each.called.about == each.planned.question_id and _is_ruled(each)]
    scored = [(each.exam, _is_right(each, reply), _is_right(each, each.called.text)) for each, reply in last]
    for exam, is_right, was_right in scored:
        changes[exam].append(is_right - was_right)
    return AskedAgain(
        model=name,
        calls=count,
        asked=len(pairs),
        same=sum(reply == each.called.text for each, reply in pairs),
        scored=len(scored),
        right=sum(is_right for _, is_right, _ in scored),
        recorded_right=sum(was_right for _, _, was_right in scored),
        p=min((sign_test(each.count(1), each.count(-1)) for each in changes.values()), default=1.0),
        problem=problems[0] if problems and not pairs else "",
    )


def _is_ruled(each: RebuiltCall) -> bool:
    return each.world.has_gold and not is_sequential(each.world.benchmark)


def _is_right(each: RebuiltCall, reply: str) -> bool:
    return scored(each.world.benchmark, each.world.questions[each.planned.question_id], reply).correct


def _check(asked: AskedAgain) -> Check:
    name, bound = f"{NAME} {asked.model}", "the same replies"
    if not asked.asked:
        detail = f"not reached, so its replies must be believed: {asked.problem}"
        return Check(name=name, ok=True, detail=detail, measured=f"0 of {asked.calls}", bound=bound, doubt=True)
    measured = f"{asked.same} of {asked.asked} the same"
    detail = f"{asked.asked} of {asked.calls} calls made again"
    if asked.scored:
        detail += f"; right {asked.right} of {asked.scored}, on record {asked.recorded_right}"
    ok = asked.p >= _P and (asked.same == asked.asked or not is_embedded(asked.model))
    detail += "" if ok else ": the recorded replies are not its own"
    return Check(name=name, ok=ok, detail=detail, measured=measured, bound=bound, doubt=asked.same < asked.asked)
