"""The answers of one log, scored again: each course is led through its facts in the log (theorems/verdicts.py)."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from mage_es.engine.agents.critic import judgement, unanswered
from mage_es.engine.askings.reasking import Replies
from mage_es.engine.courses import Act, Ask, Course, Fact, Finish, Look, Move, Use, advance, begin
from mage_es.engine.models.registry import open_model
from mage_es.engine.rules.ingredients import trimming_of
from mage_es.engine.rules.recall import is_recalled
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.run.world import World
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.seams.benchmark import FAILED
from mage_es.engine.seams.check import Check
from mage_es.engine.seams.extraction import without_reasoning
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.seams.plugins import verb
from mage_es.engine.seams.spec import is_embedded
from mage_es.engine.search.record import in_record
from mage_es.engine.search.registry import RECORD
from mage_es.engine.session.course_choice import is_learned, planned_course
from mage_es.engine.session.effects import looked_up
from mage_es.engine.session.judge import judged
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.errors import LogError, MageError, UsageError
from mage_es.events.facts.private import ERASED, PREFIX, is_erased
from mage_es.projections.fold import State

BOUND = "all agree"
ANOTHER = "recorded with another release of this package"
"""Why prompts, plans and replies of stand-ins are not compared with what this release would make."""
SCORER_GONE = "scored by another scorer than the one that is here, which says something else"
_NO_GOLD = "this copy was made without right answers"
_ERASED = "a text of theirs was erased"
_REWORDED = "asked with another instruction than the run's, and the reply is not beside the plan"

_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "thinking_tokens", "cache_write_tokens")
_Settled = v.AnswerJudged | v.AnswerUnanswered | v.AnswerUndecided
_Key = tuple[int, str, str]


class RebuiltCall(NamedTuple):
    """A call of the learner whose request was rebuilt; `exam` asked it, "" for the run itself."""

    world: World
    exam: str
    planned: v.QuestionPlanned
    request: Request
    called: v.ModelCalled


class CheckBasis(msgspec.Struct, frozen=True):
    """What a log is checked with: the world it began in, None if `missing` says why it cannot be opened, and the
    fingerprints of its current `scorer`.

    `is_release` and `is_scorer`: whether the current package and scorer are those that recorded it, and so must render
    and score the same. `rebuilt`, if given, collects the calls whose requests were rebuilt.
    """

    world: World | None
    missing: str = ""
    scorer: tuple[str, str] = ("", "")
    is_release: bool = True
    is_scorer: bool = True
    rebuilt: list[RebuiltCall] | None = None


class _Asking:
    """A planned question, its course, and its facts in the log so far."""

    def __init__(self, planned: v.QuestionPlanned, course: Course | None, first: Move | Finish | None) -> None:
        self.planned, self.course, self.first = planned, course, first
        self.facts: list[v.Event] = []
        self.is_reworded = False
        self.unchecked = ""


class Recount:
    """The answers of one log. `execution` and `judge` are the models that it names. `replies` are those of other logs,
    which are not asked for again when a question is."""

    def __init__(
        self,
        given: CheckBasis,
        *,
        exam: str = "",
        execution: str = "",
        judge: str | None = None,
        replies: Replies = MappingProxyType({}),
    ) -> None:
        self._given, self._exam, self._execution = given, exam, execution
        self._judge = judge if judge is not None or given.world is None else given.world.setting.config.judge
        self._is_partly_erased = given.world is not None and given.world.is_partly_erased
        self._open: dict[_Key, _Asking] = {}
        self._method: tuple[int, bool, World] | None = None
        self._player = player_of(execution, "execution") if given.is_release else None
        self._replies, self._right, self._sandbox = replies, dict[str, bool](), Sandbox()
        self.may_reword = False
        """Whether what comes next may have been asked with another instruction (`mage_es.gepa`)."""
        self.settled: list[_Settled] = []
        self.made: dict[str, v.AnswerJudged] = {}
        """The verdicts that the current scorer gives."""
        self.plans: list[v.QuestionPlanned] = []
        self.unchecked: Counter[str] = Counter()

    def problem_of(self, record: v.Record, state: State) -> str:
        """Process an event, on the state before it; return what is wrong with it, or ""."""
        match record.event:
            case v.QuestionPlanned() as event:
                problem = self._planned(record, event, state)
            case v.AnswerJudged() | v.AnswerUnanswered() | v.AnswerUndecided() as event:
                problem = self._settled(record, event, state)
            case v.AnswerCarried() as event:
                problem = self._carried(event)
            case v.ExamClosed(exam="") as closed:  # a baseline is just an exam
                return self.miscounted(closed, frozenset())
            case fact:
                if asking := self._asking_of(record, fact):
                    asking.facts.append(fact)
                return ""
        return f"{event.question_id}: {problem}" if problem else ""

    def check(self, name: str, problem: str, seq: int) -> Check:
        unchecked = sum(self.unchecked.values())
        measured = f"{len(self.settled) - unchecked} of {len(self.settled)} scored again"
        if problem:
            return Check(name=name, ok=False, detail=problem, measured=measured, bound=BOUND, seq=seq)
        why = "; ".join(f"{count} not checked: {why}" for why, count in self.unchecked.most_common())
        detail = (
            "each verdict follows from its recorded replies, and each prompt from its state" if unchecked == 0 else ""
        )
        return Check(name=name, ok=True, detail=detail or why, measured=measured, bound=BOUND, doubt=unchecked > 0)

    def unsettled(self) -> str:
        """Return what is wrong with a complete log, or ""."""
        return next((f"{name}: it was planned, and there is no verdict" for _, _, name in sorted(self._open)), "")

    def miscounted(self, closed: v.ExamClosed, known: frozenset[str] | set[str] | None) -> str:
        """Return how a result differs from the answers; `known` are the known families, or None."""
        asked = [each for each in self.settled if each.purpose == "exam" and not isinstance(each, v.AnswerUndecided)]
        right = {each.question_id: isinstance(each, v.AnswerJudged) and each.correct for each in asked}
        undecided = sum(each.purpose == "exam" for each in self.settled) - len(asked)
        counted = msgspec.structs.replace(
            closed,
            correct=sum(right.values()),
            total=len(right),
            unanswered=sum(isinstance(each, v.AnswerUnanswered) for each in asked),
            undecided=undecided,
        )
        if known is not None and self._given.world:
            is_known = {name: self._given.world.questions[name].family in known for name in right}
            familiar = [right[name] for name in right if is_known[name]]
            counted = msgspec.structs.replace(counted, familiar_correct=sum(familiar), familiar_total=len(familiar))
        wrong = [name for name in closed.__struct_fields__ if getattr(closed, name) != getattr(counted, name)]
        if not wrong:
            return ""
        found = ", ".join(f"{name} {getattr(counted, name)} (recorded {getattr(closed, name)})" for name in wrong)
        return f"its answers make {found}"

    # ------------------------------------------------------------ one question

    def _planned(self, record: v.Record, planned: v.QuestionPlanned, state: State) -> str:
        self.plans.append(planned)
        asking = _Asking(planned, None, None)
        self._open[record.iteration, record.phase, planned.question_id] = asking
        world = self._given.world
        if world is None:
            asking.unchecked = self._given.missing
            return ""
        if not world.has_gold and state.progress.baseline is not None:  # their prompts show right answers
            asking.unchecked = _NO_GOLD
            return ""
        question = world.questions.get(planned.question_id)
        if question is None:
            return "it is none of the questions that the run began with"
        if is_erased(planned.prompt_sha256) or question.subject.startswith(ERASED):
            asking.unchecked = _ERASED
            return ""

        def begun() -> str:
            asking.course = self._course(record, planned, state, world)
            asking.first = begin(asking.course)
            return ""

        problem = _tried(begun, asking, "its plan names what its state does not have")
        return problem if problem or asking.unchecked else self._misplanned(asking, state, world)

    def _course(self, record: v.Record, planned: v.QuestionPlanned, state: State, world: World) -> Course:
        if is_learned(state):
            is_trial = planned.purpose == "trial"
            if self._method is None or self._method[:2] != (record.commit, is_trial):
                made = world._replace(method=verb("learned_method")(world, state, is_trial=is_trial))
                self._method = (record.commit, is_trial, made)
            world = self._method[2]
        course = planned_course(world, state, planned)
        if not world.has_gold:
            return course
        question = world.questions[planned.question_id]
        return judged(course, question, benchmark=world.benchmark, has_judge=bool(self._judge))

    def _misplanned(self, asking: _Asking, state: State, world: World) -> str:
        planned, first = asking.planned, asking.first
        # Which questions can be recalled depends on all right answers.
        if planned.routing_arm == RECALL and world.has_gold:
            if self._is_partly_erased:
                asking.unchecked = _ERASED
            elif not is_recalled(world.setting, state, planned):
                return "its answer was recalled, which the record of recall did not allow"
        made = sha256_text(first.request.text) if isinstance(first, Ask) and first.tier == "execution" else ""
        asking.is_reworded = self.may_reword and made != planned.prompt_sha256
        if made != planned.prompt_sha256 and not asking.is_reworded:
            shown = first.request.text if isinstance(first, Ask) else ""
            recorded = planned.prompt_sha256[:16] or "none"
            return self._differs(
                asking, shown, f"its plan has the prompt {recorded}, its state makes {made[:16] or 'none'}"
            )
        return ""

    def _differs(self, asking: _Asking, shown: str, what: str) -> str:
        """Return the problem if a text now comes out differently, unless that may have another reason."""
        if "[erased " in shown or PREFIX in shown:
            asking.unchecked = _ERASED
        elif not self._given.is_release:
            asking.unchecked = ANOTHER
        else:
            return what
        return ""

    def _asking_of(self, record: v.Record, event: v.Event) -> _Asking | None:
        names: tuple[str, ...]
        match event:
            case v.ModelCalled(tier="execution" | "judge") | v.CallFailed(tier="execution" | "judge"):
                names = (event.about, event.about.rpartition("/")[0])
            case v.EpisodeStepped() | v.EpisodeClosed():
                names = (event.episode_id,)
            case v.BundleTrimmed() | v.ToolRan() | v.SearchAnswered():
                names = (event.question_id,)
            case _:
                return None
        keys = ((record.iteration, record.phase, name) for name in names)
        return next((self._open[key] for key in keys if key in self._open), None)

    def _settled(self, record: v.Record, settled: _Settled, state: State) -> str:
        asking = self._open.pop((record.iteration, record.phase, settled.question_id), None)
        if asking is None:
            return "it has a verdict, and was not planned before"
        self.settled.append(settled)
        if isinstance(settled, v.AnswerJudged) and settled.purpose == "anchor":
            self._right[settled.question_id] = settled.correct
        problem = self._unasked(asking, settled)
        if not problem and asking.course is not None and not asking.unchecked:
            problem = _tried(lambda: self._led(asking, settled, state), asking, "its course cannot be led again")
        if asking.unchecked and not problem:
            self.unchecked[asking.unchecked] += 1
        return problem

    def _unasked(self, asking: _Asking, settled: _Settled) -> str:
        """Return what is wrong with the models that replied; this needs only the log."""
        calls = [fact for fact in asking.facts if isinstance(fact, v.ModelCalled)]
        is_replied = any(call.tier == "execution" for call in calls)
        is_recalled = asking.planned.routing_arm == RECALL
        if isinstance(settled, v.AnswerJudged) and settled.recalled != is_recalled:
            return f"its plan is {'' if is_recalled else 'not '}to recall an answer, and its verdict says otherwise"
        # A look-up among cases asks no model, and its plan has no prompt.
        is_looked_up = isinstance(asking.first, Finish) or not (asking.first or asking.planned.prompt_sha256)
        needs_reply = not (is_recalled or is_looked_up or isinstance(settled, v.AnswerUnanswered))
        if needs_reply and not is_replied and not self._replies:
            return "it has a verdict, and no reply of a model is on record"
        if self._execution:
            named = {"execution": self._execution, **({"judge": self._judge} if self._exam else {})}
            for call in calls:
                if call.model != named.get(call.tier, call.model):
                    who = "the exam" if self._exam else "the run"
                    return f"{call.model} replied ({call.tier}), and {who} names {named[call.tier] or 'no model'}"
        return ""

    def _led(self, asking: _Asking, settled: _Settled, state: State) -> str:
        """Run a course through its facts to the end; return how the end differs from the record."""
        assert asking.first is not None and asking.course is not None
        move, used = asking.first, list[v.Event]()
        while not isinstance(move, Finish):
            fact = _fact_of(move, asking, self._replies)
            if fact is None:
                return self._missing_fact(move, asking)
            used.append(fact)
            if isinstance(fact, v.CallFailed) and self._player and fact.tier == "execution":
                return f"a call of {fact.model} failed ({fact.fault}), which answers by rule"
            if isinstance(fact, v.CallFailed) and not (isinstance(move, Ask) and move.is_spare):
                move = Finish("", lost=f"{fact.fault}: {fact.problem}")
                break
            if isinstance(move, Ask) and isinstance(fact, v.ModelCalled) and move.tier == "execution":
                if self._given.rebuilt is not None and self._given.world:
                    self._given.rebuilt.append(
                        RebuiltCall(self._given.world, self._exam, asking.planned, move.request, fact)
                    )
                if not asking.is_reworded and (problem := misreplied(self._player, move.request, fact)):
                    return problem
            if problem := self._otherwise_found(move, fact, asking, state):
                return problem
            assert isinstance(fact, Fact)
            move = advance(asking.course, fact)
        # Without right answers a judge's prompt is unknown.
        has_gold = self._given.world is not None and self._given.world.has_gold
        calls = (f for f in asking.facts if isinstance(f, v.ModelCalled) and (f.tier == "execution" or has_gold))
        if spare := next((call for call in calls if call not in used), None):
            return f"there is a reply ({spare.tier}, {spare.about}) to what was never asked"
        return self._misjudged(asking, move, settled)

    def _missing_fact(self, move: Move, asking: _Asking) -> str:
        if not isinstance(move, Ask):
            return f"there is no record of a {type(move).__name__.lower()} that its course needs"
        same = [
            fact
            for fact in asking.facts
            if isinstance(fact, v.ModelCalled | v.CallFailed)
            and (fact.tier, fact.about, fact.attempt) == (move.tier, move.about, move.attempt)
        ]
        if asking.is_reworded:
            asking.unchecked = _REWORDED
            return ""
        if not same:
            return f"no reply of the {move.tier} model is on record for {move.about}"
        if is_erased(same[0].request_sha256):
            asking.unchecked = _ERASED
            return ""
        what = f"the reply to {move.about} is to the request {same[0].request_sha256[:16]}, its state makes"
        return self._differs(asking, move.request.text, f"{what} {move.request.sha256[:16]}")

    def _otherwise_found(self, move: Move, fact: v.Event, asking: _Asking, state: State) -> str:
        """Return how a tool, or a search of the question's own paragraphs, finds something else than is recorded."""
        if not self._given.is_release:
            return ""
        match move, fact:
            case Use(), v.ToolRan() if not is_erased(fact.result):
                ran = self._sandbox.run(state.tools.tool(move.tool_id).source, move.arguments)
                if ran != (fact.result, fact.problem) and (ran.problem or fact.problem):
                    asking.unchecked = "a tool may take too long on this machine"
                elif ran != (fact.result, fact.problem):
                    return f"the tool {move.tool_id} returns {ran.result[:60]!r}, and recorded is {fact.result[:60]!r}"
            case Look(), v.SearchAnswered(search=search) if search == RECORD and not any(map(is_erased, fact.texts)):
                pages, similar, problem = looked_up(in_record(move.question), move)
                titles, texts = tuple(page.title for page in pages) or similar, tuple(page.text for page in pages)
                if (titles, texts, problem) != (fact.titles, fact.texts, fact.problem):
                    return f"its own paragraphs do not have what is recorded for {move.query[:60]!r}"
        return ""

    def _misjudged(self, asking: _Asking, finish: Finish, settled: _Settled) -> str:
        planned, verdict = asking.planned, finish.verdict
        if finish.lost:
            made: v.Event = unanswered(planned, finish.lost)
        elif verdict is None:
            asking.unchecked = _NO_GOLD
            return ""
        elif verdict.failed and verdict.undecided:
            asking.unchecked = verdict.why
            return ""
        else:
            made = judgement(planned, verdict, reason=finish.reason)
        if isinstance(made, v.AnswerJudged):
            self.made[planned.question_id] = made
        if made == settled:
            return ""
        if not self._given.is_scorer:
            asking.unchecked = SCORER_GONE
            return ""
        if isinstance(settled, v.AnswerUndecided) and settled.problem.startswith(FAILED):
            now = "right" if isinstance(made, v.AnswerJudged) and made.correct else "not right"
            asking.unchecked = f"its scorer failed then; now it says {now}"
            return ""
        return f"recorded is {_in_words(settled)}; scored again it is {_in_words(made)}"

    def _carried(self, carried: v.AnswerCarried) -> str:
        before = self._right.get(carried.question_id)
        if before is None or before == carried.correct:  # its verdict may be the parent's
            return ""
        return "a verdict was carried that is not the one of when it was last asked"


def _tried(work: Callable[[], str], asking: _Asking, otherwise: str) -> str:
    """Return the problem that `work` finds or runs into; if a part is missing, the question stays unchecked."""
    try:
        return work()
    except LogError as error:
        return str(error)
    except MageError as error:
        asking.unchecked = str(error)
        return ""
    except Exception as error:  # whatever a forged plan or fact may cause
        return f"{otherwise} ({type(error).__name__}: {error})"


def _fact_of(move: Move, asking: _Asking, replies: Replies) -> v.Event | None:
    """Return a move's fact from the log, as a session would look it up; `replies` are those of other logs."""
    facts, purpose = asking.facts, asking.planned.purpose
    same = -1 if asking.is_reworded else None  # all but the hash of the request
    match move:
        case Ask():
            key = (move.tier, move.purpose or purpose, move.about, move.attempt, move.request.sha256)
            calls = [
                f for f in facts if isinstance(f, v.ModelCalled | v.CallFailed) and _key_of(f)[:same] == key[:same]
            ]
            return (
                next((call for call in calls if isinstance(call, v.ModelCalled)), None)
                or replies.get((move.tier, move.request.sha256))
                or trimming_of(move, [f for f in facts if isinstance(f, v.BundleTrimmed)])
                or next((call for call in calls if isinstance(call, v.CallFailed) and call.final), None)
            )
        case Use(tool_id, arguments):
            ran = (f for f in facts if isinstance(f, v.ToolRan))
            return next((f for f in ran if (f.tool_id, f.arguments) == (tool_id, arguments)), None)
        case Look():
            return next((f for f in facts if isinstance(f, v.SearchAnswered) and f.place == move.place), None)
        case Act(v.EpisodeStepped() as stepped):
            return next((f for f in facts if isinstance(f, v.EpisodeStepped) and f.step == stepped.step), None)
        case Act():
            return next((f for f in facts if isinstance(f, v.EpisodeClosed)), None)
        case _:
            return None


def _key_of(call: v.ModelCalled | v.CallFailed) -> tuple[str, str, str, int, str]:
    return call.tier, call.purpose, call.about, call.attempt, call.request_sha256


def _in_words(event: v.Event) -> str:
    match event:
        case v.AnswerJudged():
            word = "right" if event.correct else "wrong"
            also = "".join(f", {what}" for what in (event.reason, "strict" if event.strict else "") if what)
            return f"{word} ({event.answer[:40]!r}, score {event.score_micro / 1e6:g}, by {event.judge}{also})"
        case v.AnswerUndecided():
            return f"undecided ({event.problem[:80]})"
        case v.AnswerUnanswered():
            return f"unanswered ({event.problem[:80]})"
        case _:
            raise TypeError(f"{type(event).__name__} settles no question")


def player_of(spec: str, tier: v.Tier) -> Model | None:
    """Return the stand-in that a spec names, None for any other model."""
    with suppress(UsageError):  # a log can name anything
        return open_model(spec, tier) if is_embedded(spec) else None
    return None


def misreplied(player: Model | None, request: Request, called: v.ModelCalled) -> str:
    """Return how a reply on record, or its count of tokens, differs from that of a stand-in, which never waits."""
    if player is None:
        return ""
    asking: Any = player.complete(request)
    try:
        asking.send(None)
    except StopIteration as end:
        said: Completion = end.value
        if (text := without_reasoning(said.text)) != called.text:
            return f"{called.model} replies {text[-60:]!r} to this request, and recorded is {called.text[-60:]!r}"
        made, recorded = (tuple(getattr(each, name) for name in _COUNTS) for each in (said, called))
        return "" if made == recorded else f"{called.model} counts {made} tokens, and recorded are {recorded}"
    raise TypeError(f"{player.name} awaits something, so it is not a stand-in")
