"""What was learned follows from what is on record: each phase that learns is decided again, from answers, verdicts and
guidance's replies, and so are the plans by which questions were asked.

Rules
    - The commands are made by the functions of the loop itself, on the state before each, and decided as they were. So
      a memory, a skill, a principle, a mastery or a plan that no reply and no verdict gave is found; so are memories in
      a prompt that the state does not give, and a question that was left out.
    - A phase ends when all its questions have an answer, and a snapshot asks no more and no less than the rules say: as
      many of the anchors as the guard needs, and beside them what the gate or the trial of a form needs.
    - Nothing is learned beside these phases, except that people take memories out of use and bring them back, as far as
      that is allowed.
    - A stand-in for guidance replies by rule, and its replies are computed again.
    - What an Explorer met is not decided again; the environment's word for it must be believed.
    - Vectors are computed again where that costs nothing. Only those that count words are the same on any machine: with
      others questions are not planned again, and a difference in what was learned is a doubt. So is one in a tool,
      whose run has a time limit.
    - A served run learns what its clients said, and the wing that serves decides it again. A baseline has no such
      phases: it learns from the first questions that its seed draws, answers those that an exam would ask, and each as
      it is named.
"""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby, zip_longest
from typing import Any

import msgspec

from mage_es.engine.auditing.theorems.inference import learning_types
from mage_es.engine.auditing.theorems.recount import ANOTHER, CheckBasis, misreplied, player_of
from mage_es.engine.auditing.theorems.settings import Draw
from mage_es.engine.commands import Call, Command, Curate, Curation, PlanAnswers
from mage_es.engine.courses import Ask
from mage_es.engine.decide import decide
from mage_es.engine.embedders.registry import metered
from mage_es.engine.loop import (
    assigned_in,
    to_ask_bare,
    to_compare,
    to_evaluate,
    to_evolve,
    to_induce,
    to_learn,
    to_plan,
    to_reprove,
    to_snapshot,
)
from mage_es.engine.rules.rotation import AUTHOR_TOOLS
from mage_es.engine.rules.setting import Setting
from mage_es.engine.run.exam_plan import asked_of, held_out_sample
from mage_es.engine.run.inheriting import inheritance, last_inherited
from mage_es.engine.run.world import World
from mage_es.engine.seams.check import Check
from mage_es.engine.seams.embedder import from_bytes
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.plugins import verb
from mage_es.engine.seams.replies import Reply
from mage_es.engine.session.call import TypedCall, recorded_typed
from mage_es.engine.session.evolving import author
from mage_es.events import vocabulary as v
from mage_es.events.errors import LogError, MageError, PrerequisiteError
from mage_es.events.facts.private import clear_vector
from mage_es.events.log import LogReader
from mage_es.projections.fold import State

NAME = "learned"
BOUND = "0 without a cause"
_PHASES = frozenset({"open", "plan", "update", "evolve", "snapshot"})
_ACTIONS: Mapping[type[v.Event], Curation] = {v.MemoryQuarantined: "quarantine", v.MemoryReleased: "release"}
_OF_TRAFFIC = frozenset({v.InferenceClosed, v.InferenceOpened, v.ServingStarted})
_BY_EXPLORERS = frozenset(
    {
        *(v.ActionRecipeHarvested, v.EdgeAdded, v.EntitySeen, v.ObservationRecorded, v.TaskContextOpened),
        *(v.PatternAbstracted, v.PatternPruned, v.PatternSupported),
    }
)
_NEAR = 1e-4
"""The most by which a cosine may differ between machines."""
_check = partial(Check, name=NAME, bound=BOUND)


def check_learned(reader: LogReader, given: CheckBasis, draw: Draw) -> Check:
    """Return whether each phase that learns wrote what the verdicts and replies before it lead to. `draw` returns what
    `drawn` of theorems/settings.py does."""
    begun, inherited, learning = inheritance(reader), last_inherited(reader), learning_types()
    if baseline := next(reader.of(v.BaselineStarted), None):
        return _of_baseline(reader, baseline, given, draw())
    if given.world is None or (why := _hindrance(given.world)):
        return _unchecked(given.missing if given.world is None else why)
    if (setting := draw()) is None:
        return _unchecked("the seed divides the questions otherwise")
    salt = reader.keys.salt if reader.keys else ""
    doubts = list[str]()
    world, decided = given.world._replace(setting=setting._replace(salt=salt)), 0
    try:
        served = verb("deciding_served")(world, reader) if setting.is_served else None
        at = _Recorded(world, served, inherited, is_release=given.is_release)
    except PrerequisiteError as missing:
        return _unchecked(str(missing))
    for _, commit in groupby(reader.records(), key=lambda record: record.commit):
        records = list(commit)  # what is decided together is written in one batch, a phase with its mark at the end
        if own := [record for record in records if record.seq > inherited]:  # the first batch has both
            try:
                problem, place = _otherwise(at, own)
            except MageError as missing:
                return _unchecked(str(missing))
            decided += place >= 0
            if given.is_release and (misasked := _misasked(at, own[-1].event)):
                return _check(ok=False, detail=misasked, measured="1 without a cause", seq=own[-1].seq)
            if problem and (why := _excuse(given, at.world, own[place].event)):
                doubts.append(f"{problem}: {why}")
            elif problem:
                return _check(ok=False, detail=problem, measured="1 without a cause", seq=own[place].seq)
            is_explored = isinstance(mark := own[-1].event, v.PhaseCompleted) and mark.phase == "explore"
            allowed = _BY_EXPLORERS if is_explored and is_sequential(world.benchmark) else _OF_TRAFFIC
            others = (each for each in own if place < 0 and type(each.event) in learning - allowed)
            if stray := next(others, None):
                detail = f"this {v.tag_of(stray.event)} belongs to no phase that learns"
                return _check(ok=False, detail=detail, measured="1 without a cause", seq=stray.seq)
        try:
            for record in records:
                at.apply(record)
        except (KeyError, LogError):  # `check_replay` says so
            break
    if doubts:
        measured = f"{len(doubts)} of {decided} decisions otherwise"
        return _check(ok=True, detail=doubts[0], measured=measured, doubt=True)
    detail = f"{decided} phases and plans are what the verdicts and replies before them lead to"
    detail += f"; what it took from {begun.parent} is checked there" if begun else ""
    return _check(ok=True, detail=detail, measured=BOUND)


def _of_baseline(reader: LogReader, begun: v.BaselineStarted, given: CheckBasis, setting: Setting | None) -> Check:
    if setting is None or given.world is None or given.world.is_partly_erased:
        return _unchecked(given.missing or "the seed divides the questions otherwise, or a text was erased")
    name, plans = begun.baseline, list(reader.of(v.QuestionPlanned))
    examined = sorted(plan.question_id for plan in plans if plan.purpose == "exam")
    problem = ""
    if other := next((plan for plan in plans if plan.routing_arm != name), None):
        problem = f"{other.question_id} was asked by {other.routing_arm}, and the run is of {name}"
    elif begun.learned != setting.evolution[: len(begun.learned)]:
        problem = f"{name} learned from other questions than the first {len(begun.learned)} that the seed draws"
    elif examined and examined != sorted(held_out_sample(setting, min(len(examined), len(setting.held_out)))):
        problem = f"{name} did not answer the {len(examined)} held-out questions that the seed chooses"
    if problem and not given.is_release:
        return _check(ok=True, detail=f"{problem}: {ANOTHER}", measured="1 otherwise", doubt=True)
    detail = problem or f"{name} learned from {len(begun.learned)} questions and answered {len(examined)}, by its seed"
    return _check(ok=not problem, detail=detail, measured="1 without a cause" if problem else BOUND)


class _Recorded:
    """A run's world and state at one place of its log. Guidance is not asked: what it said is on record."""

    def __init__(
        self,
        world: World,
        served: Callable[[State, Sequence[v.Record]], list[Command]] | None,
        inherited: int,
        *,
        is_release: bool,
    ) -> None:
        self.world, self.served, self.state = world, served, State()
        self.player = player_of(world.setting.config.guidance, "guidance") if is_release else None
        self.last_plan: v.IterationPlanned | None = None
        self._inherited = inherited

    async def guide(self, call: TypedCall, reply: type[Reply], /) -> tuple[Reply | None, str]:
        async def make(call: Call, move: Ask) -> None:
            """Make no call: the run, too, continued without this reply."""

        def note_reply(move: Ask, called: v.ModelCalled) -> None:
            if called.tier == "guidance" and misreplied(self.player, move.request, called):
                raise LogError(f"{called.model} replies otherwise about {called.about}")

        setting = self.world.setting
        return await recorded_typed(
            self.state, call, reply, setting.templates, model=setting.config.guidance, make=make, on_reply=note_reply
        )

    def apply(self, record: v.Record) -> None:
        self.state.apply(record.event)
        self.state.seq = record.seq
        if isinstance(record.event, v.IterationPlanned) and record.seq > self._inherited:
            self.last_plan = record.event


def _hindrance(world: World) -> str:
    if not world.has_gold:
        return "this copy was made without right answers"
    if metered(world.embedder.name):
        return f"the vectors of {world.embedder.name} have to be paid for"
    return "a text was erased" if world.is_partly_erased else ""


def _excuse(given: CheckBasis, world: World, event: v.Event) -> str:
    """Return why an honest run may have decided differently about an event, "" if it may not."""
    if not given.is_release:
        return ANOTHER
    if world.embedder.name != "hash":
        return f"{world.embedder.name} may give other vectors on this machine"
    is_tried = isinstance(event, v.ActionTaken) and event.action == AUTHOR_TOOLS
    return "a tool may take too long on this machine" if is_tried or isinstance(event, v.ToolAuthored) else ""


def _unchecked(why: str) -> Check:
    return _check(ok=True, detail=f"unchecked: {why}", measured="nothing", doubt=True)


def _otherwise(at: _Recorded, records: Sequence[v.Record]) -> tuple[str, int]:
    """Return how a batch differs from what its commands lead to, and its place; ("", -1) if nothing decides it."""
    first, mark = records[0], records[-1].event
    where = f"{first.phase} of iteration {first.iteration}"
    phases = {"snapshot"} if at.world.setting.is_served else _PHASES
    try:
        if isinstance(mark, v.PhaseCompleted) and mark.phase in phases:
            commands = [_driven(_command(at, mark))]
        elif isinstance(first.event, v.QuestionPlanned | v.AnswerCarried) and is_planned_anywhere(at.world):
            commands = [_asked(at, records)]
        elif first.phase == "log":
            commands = list(_curations(records))
        else:
            commands = at.served(at.state, records) if at.served else []
        made = [draft.event for command in commands for draft in decide(at.world.setting, at.state, command)]
    except Exception as error:  # whatever a forged state may cause
        if isinstance(error, PrerequisiteError):
            raise
        return f"{where} cannot be decided again ({type(error).__name__}: {error})", 0
    for place, (recorded, found) in enumerate(
        zip_longest((record.event for record in records), made) if commands else ()
    ):
        if recorded is None or found is None or recorded != as_recorded(found, recorded):
            what = v.tag_of(recorded) if recorded else f"no {v.tag_of(made[place])}"
            also = f" ({differing(recorded, found)})" if recorded and type(recorded) is type(found) else ""
            return f"{where}: verdicts and replies do not lead to this {what}{also}", min(place, len(records) - 1)
    return "", 0 if commands else -1


def _misasked(at: _Recorded, mark: v.Event) -> str:
    """Return which question a phase that ends here should have asked and did not, or vice versa; "" if none."""
    if not isinstance(mark, v.PhaseCompleted) or at.world.setting.is_served:
        return ""
    setting, progress, k = at.world.setting, at.state.progress, mark.iteration
    wanted = set[tuple[v.Phase, str]]()
    match mark.phase:
        case "evaluate":
            wanted |= {(mark.phase, plan.question_id) for plan in progress.plans("evaluate")}
        case "snapshot":
            batches: list[tuple[v.Phase, dict[str, v.Purpose]]] = [("open", to_ask_bare(at, k)), *to_compare(at, k)]
            wanted |= {(phase, name) for phase, names in batches for name in names}
            if setting.reproves(k):
                wanted |= {("open", name) for name in to_reprove(at)}
            planned = {plan.question_id for plan in progress.plans("snapshot")}
            unplanned = {*setting.anchors} - planned - at.state.scores.anchor_answers(k).keys()
            wanted |= {("snapshot", name) for name in unplanned}
        case _:
            return ""
    phases: set[v.Phase] = {mark.phase, "open", "form"} if mark.phase == "snapshot" else {mark.phase}
    asked = ((phase, plan.question_id) for phase in phases for plan in progress.plans(phase))
    settled = {each for each in asked if progress.is_settled(*each)}
    if not (wrong := sorted(wanted ^ settled)):
        return ""
    (phase, name), verb = wrong[0], "was not asked" if wrong[0] in wanted else "was asked"
    return f"{mark.phase} of iteration {k}: {name} {verb} ({phase}), against the rules"


async def _command(at: _Recorded, mark: v.PhaseCompleted) -> Command:
    k = mark.iteration
    match mark.phase:
        case "open":
            return await to_induce(at)
        case "plan":
            return await to_plan(at, k)
        case "update":
            return to_learn(at, k)
        case "evolve":
            return to_evolve(at, k, [await author(at, k, assigned) for assigned in assigned_in(at, k)])
        case _:
            return to_snapshot(at, k)


def _asked(at: _Recorded, records: Sequence[v.Record]) -> PlanAnswers:
    """Return the command that plans questions: all that an iteration asks, or those of a comparison."""
    k, phase = records[0].iteration, records[0].phase
    match phase:
        case "evaluate":
            purposes = to_evaluate(at)
        case "snapshot":
            purposes = dict.fromkeys(at.world.setting.anchors, "anchor")
        case _:
            purposes = {each.event.question_id: each.event.purpose for each in records}  # type: ignore[attr-defined]
    frozen = phase != "evaluate" or at.world.setting.reproves(k)
    return PlanAnswers(k, phase, asked_of(at.world, at.state, purposes), frozen, donors={})


def _curations(records: Sequence[v.Record]) -> Iterator[Curate]:
    """Yield the commands by which people decided on what was learned."""
    for record in records:
        match event := record.event:
            case v.MemoryQuarantined() | v.MemoryReleased():
                action = _ACTIONS[type(event)]
            case v.ProposalReviewed():
                action = "approve" if event.verdict == "approved" else "reject"
            case _:
                continue
        yield Curate(event.memory_id, action, event.reason, event.by, record.ordinal)


def _driven(work: Coroutine[Any, Any, Command]) -> Command:
    """Return the result of work that never waits, since all that it asks for is on record."""
    try:
        work.send(None)
    except StopIteration as end:
        command: Command = end.value
        return command
    raise TypeError("a recorded phase waited for something")


def as_recorded(made: v.Event, recorded: v.Event) -> v.Event:
    """Return an event with the recorded numbers, where it differs only as two machines round differently."""
    if type(recorded) is not type(made):
        return made
    match recorded:
        case v.MemoryAppended() | v.MemoryProposed():
            texts = (getattr(recorded, name, "") for name in ("question", "recognise", "reasoning"))
            one, other = from_bytes(clear_vector(recorded.embedding, *texts)), from_bytes(made.embedding)  # type: ignore[attr-defined]
            is_near = one.shape == other.shape and bool(abs(one - other).max(initial=0) < _NEAR)
            return msgspec.structs.replace(made, embedding=recorded.embedding) if is_near else made
        case v.QuestionPlanned() | v.ProposalSettled():
            near = {name: getattr(recorded, name) for name in recorded.__struct_fields__}
            return msgspec.structs.replace(
                made, **{name: value for name, value in near.items() if _is_near(value, getattr(made, name))}
            )
    return made


def _is_near(one: Any, other: Any) -> bool:
    match one:
        case float():
            return bool(abs(one - other) < _NEAR)
        case tuple():
            return len(one) == len(other) and all(map(_is_near, one, other))
        case v.Retrieved() | v.AnchorTrial():
            return all(_is_near(getattr(one, name), getattr(other, name)) for name in one.__struct_fields__)
    return bool(one == other)


def is_planned_anywhere(world: World) -> bool:
    """Return whether questions are planned the same on any machine: only an embedder that counts words gives the same
    vectors anywhere, at no cost."""
    return world.embedder.name == "hash" and not is_sequential(world.benchmark)


def differing(recorded: v.Event, made: v.Event) -> str:
    fields = (name for name in recorded.__struct_fields__ if getattr(recorded, name) != getattr(made, name))
    return ", ".join(fields)
