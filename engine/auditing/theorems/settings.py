"""Settings: those that a run says it had agree with those that its log shows. The log alone is read, by one table.
Which questions an iteration asks, the guard's verdicts and the end are decided again from the state in the log, so that
the settings behind these decisions show too, above all the seed. Settings that are part of a request, such as the
temperature, are checked in theorems/verdicts.py.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, TypeVar

from mage_es.engine.agents.navigator import plan
from mage_es.engine.auditing.theorems.recount import ANOTHER, CheckBasis
from mage_es.engine.commands import PlanIteration, TakeSnapshot
from mage_es.engine.config import Config, parse
from mage_es.engine.rules.prompt import packaged
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.snapshot import is_mastered, take_snapshot
from mage_es.engine.rules.step_prompt import STEP_TEMPLATES
from mage_es.engine.run.inheriting import inheritance, is_served, last_inherited, past_of
from mage_es.engine.run.world import World, divide, templates_of
from mage_es.engine.seams.check import Check
from mage_es.events import vocabulary as v
from mage_es.events.errors import LogError, PrerequisiteError
from mage_es.events.log import LogReader
from mage_es.projections.fold import State

NAME = "settings"
BOUND = "0 contradicted"
_E = TypeVar("_E", bound=v.Event)

AGREEMENTS: tuple[tuple[str, type[v.Event], Callable[[Config, Any], bool]], ...] = (
    ("seed", v.RunStarted, lambda config, event: event.seed == config.seed),
    ("execution", v.RunStarted, lambda config, event: event.execution_model == config.execution),
    ("guidance", v.RunStarted, lambda config, event: event.guidance_model == config.guidance),
    ("execution", v.ModelCalled, lambda config, event: event.tier != "execution" or event.model == config.execution),
    ("guidance", v.ModelCalled, lambda config, event: event.tier != "guidance" or event.model == config.guidance),
    ("judge", v.ModelCalled, lambda config, event: event.tier != "judge" or event.model == config.judge),
    ("anchors", v.SplitCommitted, lambda config, event: event.split != "anchors" or event.size <= config.anchors),
    ("held_out", v.SplitCommitted, lambda config, event: event.split != "held_out" or event.size <= config.held_out),
    ("bundle", v.QuestionPlanned, lambda config, event: len((*event.memories, *event.left_out)) <= config.bundle),
    ("recall", v.QuestionPlanned, lambda config, event: config.recall or event.routing_arm != RECALL),
    ("bandits", v.QuestionPlanned, lambda config, event: config.bandits or event.search_probability == 1),
    ("targets", v.TargetsSelected, lambda config, event: len(event.targets) <= config.targets),
    ("tools", v.ToolAuthored, lambda config, event: config.tools),
    ("retrieval_recipes", v.RetrievalRecipeAuthored, lambda config, event: config.retrieval_recipes),
)
"""A setting, the events in which it shows, and whether one of them agrees with it."""

Draw = Callable[[], Setting | None]


def check_settings(reader: LogReader, started: v.RunStarted, given: CheckBasis, draw: Draw) -> Check:
    """Return whether no event contradicts the settings that the run began with; another release of this package may
    have decided differently, which is a doubt. `draw` returns what `drawn` does."""
    config, world = parse(started.config), given.world
    if shown := next(_shown(reader, config), None):
        return _contradicted(*shown)
    is_worded_otherwise = given.is_release and templates_of(started) != packaged()
    if is_worded_otherwise and not is_served(reader):
        return _contradicted("the templates of its prompts are not those of the package that it names", 1)
    if world is None:
        detail = f"each event agrees with them, but nothing was decided again: {given.missing}"
        return Check(name=NAME, ok=True, detail=detail, measured=BOUND, bound=BOUND, doubt=True)
    if (decided := next(_decided_again(reader, draw()), None)) and given.is_release:
        return _contradicted(*decided)
    if decided:
        detail = f"{decided[0]}: {ANOTHER}"
        return Check(name=NAME, ok=True, detail=detail, measured="1 not shown", bound=BOUND, seq=decided[1], doubt=True)
    if is_worded_otherwise:  # it has its parent's, which may be of another release
        detail = "the templates of its prompts are not this package's: --parent compares them with its parent's"
        return Check(name=NAME, ok=True, detail=detail, measured="1 not shown", bound=BOUND, seq=1, doubt=True)
    detail = "the questions asked, the guard's verdicts and the end follow from them, and each event agrees with them"
    return Check(name=NAME, ok=True, detail=detail, measured=BOUND, bound=BOUND)


def _contradicted(detail: str, seq: int) -> Check:
    return Check(name=NAME, ok=False, detail=detail, measured="1 contradicted", bound=BOUND, seq=seq)


def _shown(reader: LogReader, config: Config) -> Iterator[tuple[str, int]]:
    """Yield each setting that an event contradicts by itself, and the event."""
    inherited = last_inherited(reader)
    for seq, event in reader.numbered(*{sort for _, sort, _ in AGREEMENTS}):
        for name, sort, agrees in AGREEMENTS if seq == 1 or seq > inherited else ():
            if type(event) is sort and not agrees(config, event):
                yield f"{name} is {getattr(config, name)!r}, and this {v.tag_of(event)} has another", seq


def _decided_again(reader: LogReader, setting: Setting | None) -> Iterator[tuple[str, int]]:
    """Yield what the settings would have decided differently, and the event that says what was decided."""
    inherited, state = last_inherited(reader), State()
    if setting is None:
        yield "seed, anchors and held_out divide the questions otherwise", 1
        return
    for _, commit in groupby(reader.records(), key=lambda record: record.commit):
        records = list(commit)  # what is in a batch was decided on the state before it
        for record in records if records[0].seq > inherited else ():
            try:
                problem = _otherwise(setting, state, record.event)
            except (KeyError, LogError) as error:
                problem = f"nothing can be decided on the state before this {v.tag_of(record.event)} ({error})"
            if problem:
                yield problem, record.seq
        try:
            for record in records:
                state.apply(record.event)
                state.seq = record.seq
        except (KeyError, LogError):  # `check_replay` says so
            return


def drawn(reader: LogReader, world: World | None) -> Setting | None:
    """Return the setting with its questions in the order in which they are drawn: none if the run drew none itself, or
    if it has erased some, since the guard may have asked those. Return None without a world, or if the seed divides the
    questions differently from the run."""
    if world is None:
        return None
    begun = inheritance(reader)
    if (begun and begun.is_served) or world.is_partly_erased:
        return world.setting._replace(evolution=())
    try:
        splits = divide(world.setting.config, world.benchmark, past_of(begun))
    except PrerequisiteError:  # with these sizes nothing is left to learn from, or to examine
        return None
    is_same = splits.events == world.splits.events
    return world.setting._replace(evolution=splits.evolution) if is_same else None


def _otherwise(setting: Setting, state: State, event: v.Event) -> str:
    """Return how an event differs from what the settings make of the state before it."""
    config = setting.config
    match event:
        case v.IterationPlanned(iteration=k):
            if k >= setting.end:
                return f"iterations is {config.iterations}, and iteration {k} was planned"
            made = _made(v.IterationPlanned, plan(setting, state, PlanIteration(k)))
            if setting.evolution and (made.fresh, made.revisits) != (event.fresh, event.revisits):
                drawn_by = f"seed {config.seed}, pool {config.pool} and revisit_cap {config.revisit_cap}"
                return f"{drawn_by} choose other questions"
        case v.QuestionPlanned(purpose="fresh" | "revisit") if event.template not in STEP_TEMPLATES:
            coin = 0.0 if setting.reproves(event.iteration) else config.coin
            if event.coin != coin:
                return f"coin is {coin:g}, and {event.question_id} was planned with {event.coin:g}"
        case v.GuardDecided(iteration=k) if setting.evolution:  # a publish asks the guard about each proposal
            decided = _made(v.GuardDecided, take_snapshot(setting, state, TakeSnapshot(k)))
            if decided != event:
                ours, recorded = (f"{each.verdict} (drop {each.drop:g})" for each in (decided, event))
                return f"guard {config.guard} with its limits makes {ours} of iteration {k}, and not {recorded}"
        case v.RunFinished() if 0 < event.iterations < config.iterations:
            if not config.early_stopping or not is_mastered(setting, state):
                return f"iterations is {config.iterations}, and the run finished after {event.iterations}"
    return ""


def _made(sort: type[_E], drafts: Sequence[v.Draft]) -> _E:
    return next(draft.event for draft in drafts if isinstance(draft.event, sort))
