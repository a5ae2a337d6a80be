"""Every answer scored again: from its recorded replies and the right answers in the run's folder.

Rules
    - The course of each planned question is led again through what the log has of it, on the state that the log makes
      up to its plan (for an exam: at its marker). So every prompt follows from that state, every reply answers such a
      prompt, nothing is answered without a reply but what was rightly recalled, and the verdict is the one that the
      rule, or the recorded reply of the judge, gives.
    - An exam asks the questions that its size and the seed give, with plans that the state gives again where texts can
      be embedded here, has one verdict for each, and the replies of no other model than it names. What a stand-in
      replies is a function of the request, and is computed again.
    - What cannot be checked here is counted with its reason, and leaves a doubt: a copy without right answers, a scorer
      or a benchmark that is not installed, erased texts, another release of this package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

import msgspec

from mage_es.engine.agents.critic import judgement
from mage_es.engine.agents.learner import plan_answers
from mage_es.engine.benchmarks.registry import reopening
from mage_es.engine.courses import Act, Ask, Course, Fact, Finish, Look, Move, Use, advance, begin
from mage_es.engine.models.builtin import PLAYERS, open_builtin
from mage_es.engine.rules.ingredients import trimming_of
from mage_es.engine.rules.recall import is_recalled
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exam_plan import exam_plan, families_of
from mage_es.engine.run.exams import ExamRecord, exam_records
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.run.questions import changes, stored_questions
from mage_es.engine.run.world import World, held_out_sample
from mage_es.engine.seams.benchmark import FAILED
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.extraction import without_reasoning
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.session.course_choice import is_learned, learned, planned_course
from mage_es.engine.session.judge import judged
from mage_es.engine.theorems.check import Check
from mage_es.events.digests import sha256_text
from mage_es.events.errors import LogError, MageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import (
    AnswerCarried,
    AnswerJudged,
    AnswerUnanswered,
    AnswerUndecided,
    BundleTrimmed,
    CallFailed,
    EpisodeClosed,
    EpisodeStepped,
    Event,
    ExamClosed,
    ModelCalled,
    QuestionPlanned,
    Record,
    SearchAnswered,
    ToolRan,
)
from mage_es.events.vocabulary.private import ERASED, PREFIX, is_erased
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger

NAME = "verdicts"
BOUND = "all agree"
ANOTHER = "recorded with another release of this package"
"""Why prompts, plans and replies of stand-ins are not held against what this release makes of them."""
_NO_GOLD = "this copy was made without right answers"
_ERASED = "a text of theirs was erased"
_NEAR = 1e-4
"""How much a cosine may differ from one machine to the next."""

Settled = AnswerJudged | AnswerUnanswered | AnswerUndecided
_Key = tuple[int, str, str]


class Surroundings(msgspec.Struct, frozen=True):
    """What a log is checked with: the world it began in, None where `missing` says why it cannot be opened.

    `is_release`: whether this release of the package is the one that recorded it, so that it must render the same.
    """

    world: World | None
    missing: str = ""
    is_release: bool = True


def check_verdicts(run: Run, reader: LogReader, given: Surroundings) -> Iterator[Check]:
    """Yield the check of the run's own answers, and one for each exam that can be read."""
    if problem := _regolded(reader, given.world):
        yield Check(name=NAME, ok=False, detail=problem, bound=BOUND)
    records = sorted(exam_records(reader), key=lambda record: record.opened.head_seq)
    state, own, exams = State(), _Recount(given), dict[str, Check]()
    problem, seq, inherited = "", 0, last_inherited(reader)

    def examine(until: int) -> None:
        while records and records[0].opened.head_seq < until:
            record = records.pop(0)
            with suppress(LogError):  # `check_inference` says what is wrong with it
                exams[record.opened.exam] = _exam(record, list(record.log(run).records()), state, given)

    for record in reader.records():
        examine(record.seq)
        if record.seq > inherited and not problem:
            problem, seq = own.problem_of(record, state), record.seq
        state.apply(record.event)
        state.seq = record.seq
    examine(reader.head.seq + 1)
    if own.settled or problem:
        yield own.check(NAME, problem, seq if problem else 0)
    yield from (exams[name] for name in sorted(exams))


def _regolded(reader: LogReader, world: World | None) -> str:
    """Return where the questions in the folder are not those that the benchmark itself gives, "" if they are."""
    if world is None or reopening(world.benchmark.name):  # where there is nothing but the folder
        return ""
    stored, has_gold = stored_questions(reader, world.benchmark.name)
    told = changes(stored, [world.questions[each.id] for each in stored if each.id in world.questions], gold=has_gold)
    return f"the questions beside the log are not those of {world.benchmark.name}: {told}" if told else ""


class _Asking:
    """A question that was planned, its course, and what the log has of it so far."""

    def __init__(self, planned: QuestionPlanned, course: Course | None, first: Move | Finish | None) -> None:
        self.planned, self.course, self.first = planned, course, first
        self.facts: list[Event] = []
        self.unchecked = ""


class _Recount:
    """The answers of one log. `execution` and `judge` are the models that an exam names; of a run anyone may answer."""

    def __init__(self, given: Surroundings, *, execution: str = "", judge: str | None = None) -> None:
        self._world, self._is_release, self._execution = given.world, given.is_release, execution
        self._judge = judge if judge is not None or given.world is None else given.world.setting.config.judge
        self._missing = given.missing
        self._open: dict[_Key, _Asking] = {}
        self._method: tuple[int, bool, World] | None = None
        self._player: Model | None = None
        if execution in PLAYERS and given.is_release:
            self._player = open_builtin(execution, PLAYERS[execution][0])
        self._right: dict[str, bool] = {}
        self.settled: list[Settled] = []
        self.plans: list[QuestionPlanned] = []
        self.unchecked: Counter[str] = Counter()

    def problem_of(self, record: Record, state: State) -> str:
        """Take an event up, on the state before it; return what is wrong with it, "" for nothing."""
        match record.event:
            case QuestionPlanned() as planned:
                return self._planned(record, planned, state)
            case AnswerJudged() | AnswerUnanswered() | AnswerUndecided() as settled:
                return self._settled(record, settled)
            case AnswerCarried() as carried:
                return self._carried(carried)
            case ExamClosed(exam="") as closed:  # a baseline is nothing but an exam
                return self.miscounted(closed, frozenset())
            case event:
                if asking := self._asking_of(record, event):
                    asking.facts.append(event)
        return ""

    def check(self, name: str, problem: str, seq: int) -> Check:
        unchecked = sum(self.unchecked.values())
        measured = f"{len(self.settled) - unchecked} of {len(self.settled)} scored again"
        if problem:
            return Check(name=name, ok=False, detail=problem, measured=measured, bound=BOUND, seq=seq)
        why = "; ".join(f"{count} not checked: {why}" for why, count in self.unchecked.most_common())
        detail = "each verdict follows from its recorded replies, and each prompt from its state" if unchecked == 0 else ""
        return Check(name=name, ok=True, detail=detail or why, measured=measured, bound=BOUND, doubt=unchecked > 0)

    def unsettled(self) -> str:
        """Return what is wrong with a log that is complete, "" for nothing."""
        return next((f"{name}: it was planned, and there is no verdict" for _, _, name in sorted(self._open)), "")

    def miscounted(self, closed: ExamClosed, known: frozenset[str] | set[str] | None) -> str:
        """Return how a result differs from the answers; `known` are the familiar families, None where unknown."""
        asked = [each for each in self.settled if each.purpose == "exam" and not isinstance(each, AnswerUndecided)]
        right = {each.question_id: isinstance(each, AnswerJudged) and each.correct for each in asked}
        undecided = sum(each.purpose == "exam" for each in self.settled) - len(asked)
        counted = msgspec.structs.replace(
            closed,
            correct=sum(right.values()),
            total=len(right),
            unanswered=sum(isinstance(each, AnswerUnanswered) for each in asked),
            undecided=undecided,
        )
        if known is not None and self._world:
            is_known = {name: self._world.questions[name].family in known for name in right}
            familiar = [right[name] for name in right if is_known[name]]
            counted = msgspec.structs.replace(
                counted, familiar_correct=sum(familiar), familiar_total=len(familiar)
            )
        wrong = [name for name in closed.__struct_fields__ if getattr(closed, name) != getattr(counted, name)]
        if not wrong:
            return ""
        found = ", ".join(f"{name} {getattr(counted, name)} (recorded {getattr(closed, name)})" for name in wrong)
        return f"its answers make {found}"

    # ------------------------------------------------------------ one question

    def _planned(self, record: Record, planned: QuestionPlanned, state: State) -> str:
        self.plans.append(planned)
        asking = _Asking(planned, None, None)
        self._open[record.iteration, record.phase, planned.question_id] = asking
        world = self._world
        if world is None:
            asking.unchecked = self._missing
            return ""
        if is_erased(planned.prompt_sha256) or world.questions[planned.question_id].subject.startswith(ERASED):
            asking.unchecked = _ERASED
            return ""
        try:
            asking.course = self._course(record, planned, state, world)
            asking.first = begin(asking.course)
        except LogError as error:
            return f"{planned.question_id}: {error}"
        except MageError as error:
            asking.unchecked = str(error)
            return ""
        except Exception as error:  # whatever a forged plan leads to
            return f"{planned.question_id}: its plan names what its state does not have ({type(error).__name__}: {error})"
        return self._misplanned(asking, state, world)

    def _course(self, record: Record, planned: QuestionPlanned, state: State, world: World) -> Course:
        if is_learned(state):
            is_trial = planned.purpose == "trial"
            if self._method is None or self._method[:2] != (record.commit, is_trial):
                made = world._replace(method=learned(world, state, is_trial=is_trial))
                self._method = (record.commit, is_trial, made)
            world = self._method[2]
        course = planned_course(world, state, planned)
        if not world.has_gold:
            return course
        question = world.questions[planned.question_id]
        return judged(course, question, benchmark=world.benchmark, has_judge=bool(self._judge))

    def _misplanned(self, asking: _Asking, state: State, world: World) -> str:
        planned, first = asking.planned, asking.first
        if planned.routing_arm == RECALL and not is_recalled(world.setting, state, planned):
            return f"{planned.question_id}: its answer was recalled, which the record of recall did not allow"
        made = sha256_text(first.request.text) if isinstance(first, Ask) and first.tier == "execution" else ""
        if made != planned.prompt_sha256:
            shown = first.request.text if isinstance(first, Ask) else ""
            what = f"its plan has the prompt {planned.prompt_sha256[:16] or 'none'}, its state makes {made[:16] or 'none'}"
            return self._differs(asking, shown, what)
        return ""

    def _differs(self, asking: _Asking, shown: str, what: str) -> str:
        """Return the problem of a text that is made otherwise now, unless that can be for another reason."""
        if "[erased " in shown or PREFIX in shown:
            asking.unchecked = _ERASED
        elif not self._is_release:
            asking.unchecked = ANOTHER
        else:
            return f"{asking.planned.question_id}: {what}"
        return ""

    def _asking_of(self, record: Record, event: Event) -> _Asking | None:
        match event:
            case ModelCalled(tier="execution" | "judge") | CallFailed(tier="execution" | "judge"):
                names = (event.about, event.about.rpartition("/")[0])
            case EpisodeStepped() | EpisodeClosed():
                names = (event.episode_id,)
            case BundleTrimmed() | ToolRan() | SearchAnswered():
                names = (event.question_id,)
            case _:
                return None
        keys = ((record.iteration, record.phase, name) for name in names)
        return next((self._open[key] for key in keys if key in self._open), None)

    def _settled(self, record: Record, settled: Settled) -> str:
        name = settled.question_id
        asking = self._open.pop((record.iteration, record.phase, name), None)
        if asking is None:
            return f"{name}: it has a verdict, and was not planned before"
        self.settled.append(settled)
        if isinstance(settled, AnswerJudged):
            self._right[name] = settled.correct
        problem = self._unasked(asking, settled)
        if not problem and asking.course is not None and not asking.unchecked:
            try:
                problem = self._led(asking, settled)
            except LogError as error:
                problem = str(error)
            except MageError as error:
                asking.unchecked = str(error)
            except Exception as error:
                problem = f"its course cannot be led again ({type(error).__name__}: {error})"
        if asking.unchecked and not problem:
            self.unchecked[asking.unchecked] += 1
        return f"{name}: {problem}" if problem and not problem.startswith(f"{name}: ") else problem

    def _unasked(self, asking: _Asking, settled: Settled) -> str:
        """Return what is wrong with who replied, which needs nothing but the log."""
        calls = [fact for fact in asking.facts if isinstance(fact, ModelCalled)]
        is_replied = any(call.tier == "execution" for call in calls)
        if not is_replied and asking.planned.routing_arm != RECALL and not isinstance(settled, AnswerUnanswered):
            return "it has a verdict, and no reply of a model is on record"
        if self._execution:
            named = {"execution": self._execution, "judge": self._judge}
            for call in calls:
                if call.model != named[call.tier]:
                    return f"{call.model} replied ({call.tier}), and the exam names {named[call.tier] or 'no model'}"
        return ""

    def _led(self, asking: _Asking, settled: Settled) -> str:
        """Lead a course through its facts to its end; return how that differs from what is on record."""
        assert asking.first is not None and asking.course is not None
        move, used = asking.first, list[Event]()
        while not isinstance(move, Finish):
            fact = _fact_of(move, asking)
            if fact is None:
                return self._missing_fact(move, asking)
            used.append(fact)
            if isinstance(fact, CallFailed) and not (isinstance(move, Ask) and move.is_spare):
                move = Finish("", lost=f"{fact.fault}: {fact.problem}")
                break
            if isinstance(move, Ask) and isinstance(fact, ModelCalled) and move.tier == "execution":
                if problem := self._otherwise_replied(move.request, fact):
                    return problem
            assert isinstance(fact, Fact)
            move = advance(asking.course, fact)
        if spare := next((f for f in asking.facts if isinstance(f, ModelCalled) and f not in used), None):
            if self._world and self._world.has_gold:
                return f"there is a reply ({spare.tier}, {spare.about}) that it was never asked for"
        return self._misjudged(asking, move, settled)

    def _missing_fact(self, move: Move, asking: _Asking) -> str:
        if not isinstance(move, Ask):
            return f"there is no record of a {type(move).__name__.lower()} that its course needs"
        same = [
            fact
            for fact in asking.facts
            if isinstance(fact, ModelCalled | CallFailed)
            and (fact.tier, fact.about, fact.attempt) == (move.tier, move.about, move.attempt)
        ]
        if not same:
            return f"no reply of the {move.tier} model is on record for {move.about}"
        if is_erased(same[0].request_sha256):
            asking.unchecked = _ERASED
            return ""
        what = f"the reply to {move.about} is to the request {same[0].request_sha256[:16]}, its state makes"
        return self._differs(asking, move.request.text, f"{what} {move.request.sha256[:16]}")

    def _otherwise_replied(self, request: Request, called: ModelCalled) -> str:
        if self._player is None:
            return ""
        reply = _replied(self._player, request)
        if without_reasoning(reply.text) == called.text:
            return ""
        return f"{called.model} replies {reply.text[-60:]!r} to this request, and recorded is {called.text[-60:]!r}"

    def _misjudged(self, asking: _Asking, finish: Finish, settled: Settled) -> str:
        planned, verdict = asking.planned, finish.verdict
        if finish.lost:
            made: Event = AnswerUnanswered(
                iteration=planned.iteration,
                purpose=planned.purpose,
                question_id=planned.question_id,
                task_type=planned.task_type,
                skill=planned.skill,
                problem=finish.lost,
            )
        elif verdict is None:
            asking.unchecked = _NO_GOLD
            return ""
        elif verdict.failed and verdict.undecided:
            asking.unchecked = verdict.why
            return ""
        else:
            made = judgement(planned, verdict, reason=finish.reason)
        if made == settled:
            return ""
        if isinstance(settled, AnswerUndecided) and settled.problem.startswith(FAILED):
            told = "right" if isinstance(made, AnswerJudged) and made.correct else "not right"
            asking.unchecked = f"its scorer failed then; now it says {told}"
            return ""
        return f"recorded is {_told(settled)}; scored again it is {_told(made)}"

    def _carried(self, carried: AnswerCarried) -> str:
        before = self._right.get(carried.question_id)
        if before is None or before == carried.correct:  # its verdict may be the parent's
            return ""
        return f"{carried.question_id}: a verdict was carried that is not the one of when it was last asked"


def _fact_of(move: Move, asking: _Asking) -> Event | None:
    """Return what a log has of a move, as a session looks it up."""
    facts, purpose = asking.facts, asking.planned.purpose
    match move:
        case Ask():
            key = (move.tier, move.purpose or purpose, move.about, move.attempt, move.request.sha256)
            calls = (f for f in facts if isinstance(f, ModelCalled))
            failed = (f for f in facts if isinstance(f, CallFailed) and f.final)
            return (
                next((call for call in calls if _key_of(call) == key), None)
                or trimming_of(move, [f for f in facts if isinstance(f, BundleTrimmed)])
                or next((call for call in failed if _key_of(call) == key), None)
            )
        case Use():
            found = [f for f in facts if isinstance(f, ToolRan)]
            return next((f for f in found if (f.tool_id, f.arguments) == (move.tool_id, move.arguments)), None)
        case Look():
            return next((f for f in facts if isinstance(f, SearchAnswered) and f.place == move.place), None)
        case Act(EpisodeStepped() as stepped):
            return next((f for f in facts if isinstance(f, EpisodeStepped) and f.step == stepped.step), None)
        case Act():
            return next((f for f in facts if isinstance(f, EpisodeClosed)), None)
        case _:
            return None


def _key_of(call: ModelCalled | CallFailed) -> tuple[str, str, str, int, str]:
    return call.tier, call.purpose, call.about, call.attempt, call.request_sha256


def _told(event: Event) -> str:
    match event:
        case AnswerJudged():
            word = "right" if event.correct else "wrong"
            also = "".join(f", {what}" for what in (event.reason, "strict" if event.strict else "") if what)
            return f"{word} ({event.answer[:40]!r}, score {event.score_micro / 1e6:g}, by {event.judge}{also})"
        case AnswerUndecided():
            return f"undecided ({event.problem[:80]})"
        case AnswerUnanswered():
            return f"unanswered ({event.problem[:80]})"
        case _:
            raise TypeError(f"{type(event).__name__} settles no question")


def _replied(player: Model, request: Request) -> Completion:
    """Return the reply of a stand-in, which waits for nothing."""
    try:
        player.complete(request).send(None)  # type: ignore[attr-defined]
    except StopIteration as end:
        reply: Completion = end.value
        return reply
    raise TypeError(f"{player.name} waits, and is no stand-in")


# ------------------------------------------------------------ exams


def _exam(record: ExamRecord, events: Sequence[Record], state: State, given: Surroundings) -> Check:
    opened, world = record.opened, given.world
    name = f"{NAME} {opened.exam}"
    recount = _Recount(given, execution=opened.execution, judge=opened.judge)
    for each in events:
        if problem := recount.problem_of(each, state):
            return recount.check(name, problem, each.seq)
    first = next((each.seq for each in events if isinstance(each.event, QuestionPlanned)), 0)
    if world and recount.plans and (problem := _misasked(record, recount.plans, state, given)):
        return recount.check(name, problem, first)
    if record.closed:
        problem = recount.unsettled() or recount.miscounted(record.closed, families_of(world) if world else None)
        if problem:
            return recount.check(name, problem, 0)
    return recount.check(name, "", 0)


def _misasked(record: ExamRecord, plans: Sequence[QuestionPlanned], state: State, given: Surroundings) -> str:
    """Return where an exam asked other questions, or asked them otherwise, than its state and the seed say."""
    world, opened = given.world, record.opened
    assert world is not None
    if any(question.subject.startswith(ERASED) for question in world.questions.values()):
        return ""
    names = sorted(plan.question_id for plan in plans)
    if opened.asked > len(world.setting.held_out) or names != sorted(held_out_sample(world.setting, opened.asked)):
        return f"it did not ask the {opened.asked} held-out questions that the seed chooses"
    # Only what counts words gives the same vectors anywhere, and costs nothing.
    if world.embedder.name != "hash" or is_sequential(world.benchmark) or not given.is_release:
        return ""
    ledger, state.ledger = state.ledger, Ledger()  # an exam's own account begins at nothing
    try:
        drafts = plan_answers(world.setting, state, exam_plan(world, state, names, opened.control))
    finally:
        state.ledger = ledger
    recorded = {plan.question_id: plan for plan in plans}
    for draft in drafts:
        made = draft.event
        if isinstance(made, QuestionPlanned) and (told := _otherwise(recorded[made.question_id], made)):
            return f"{made.question_id}: its plan is not what its state makes: {told}"
    return ""


def _otherwise(recorded: QuestionPlanned, made: QuestionPlanned) -> str:
    """Return the fields in which two plans differ, cosines apart that two machines round differently."""
    near = len(recorded.memories) == len(made.memories) and all(
        one.memory_id == other.memory_id
        and one.answer_of == other.answer_of
        and abs(one.similarity - other.similarity) < _NEAR
        for one, other in zip(recorded.memories, made.memories, strict=True)
    )
    made = msgspec.structs.replace(made, memories=recorded.memories if near else made.memories)
    fields = (name for name in made.__struct_fields__ if getattr(made, name) != getattr(recorded, name))
    return ", ".join(fields)
