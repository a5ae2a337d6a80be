"""Every answer scored again: from its recorded replies and the right answers in the run's folder.

Rules
    - The course of each planned question is run again over its recorded facts, on the state that the log gives up to
      its plan (for an exam: at its marker; for what was asked again: where the run asked it, or at the iteration that
      it names). So every prompt follows from that state, every reply answers such a prompt,
      only rightly recalled answers have no reply, and the verdict is the one given by the rule, or by the judge's
      recorded reply.
    - An exam asks the questions that its size and the seed give, with the plans that its state gives (if texts can be
      embedded here), and has one verdict for each, and replies only from the models that it names.
    - A stand-in's reply is a function of the request, and is computed again; no call of one fails.
    - What cannot be checked here is counted with its reason, and leaves a doubt: a copy without right answers, a scorer
      or a benchmark that is not installed, erased texts, another release of this package.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from mage_es.engine.agents.learner import plan_answers
from mage_es.engine.askings.reasking import names_again, replies_of
from mage_es.engine.askings.rejudging import recorded_answers
from mage_es.engine.auditing.theorems.learned import as_recorded, differing, is_planned_anywhere
from mage_es.engine.auditing.theorems.reasked import NAME as ASKED_AGAIN
from mage_es.engine.auditing.theorems.reasked import AskedTogether, asked_together
from mage_es.engine.auditing.theorems.recount import BOUND, CheckBasis, Recount
from mage_es.engine.benchmarks.registry import reopening
from mage_es.engine.config import parse
from mage_es.engine.embedders.registry import LateEmbedder
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exam_plan import exam_plan, families_of, held_out_sample
from mage_es.engine.run.exams import ExamRecord, exam_records
from mage_es.engine.run.fingerprints import fingerprints, package_sha256, scorer_in_words, scorer_of
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.run.questions import changes, stored_questions
from mage_es.engine.run.world import World, first_event, reopen_world, require_scoring
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.check import Check
from mage_es.events import vocabulary as v
from mage_es.events.errors import LogDamaged, LogError, PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.projections.fold import State
from mage_es.projections.ledger import Ledger

NAME, SCORER = "verdicts", "scorer"
_CHOSEN_THERE = "which memories it shows was not chosen again"


def basis_of(reader: LogReader, *, data_dir: Path | str | None, benchmark: Benchmark | None) -> CheckBasis:
    """Return what a run is checked with, as far as it is available."""
    try:
        late = LateEmbedder(first_event(reader))
        world = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, embedder=late, frozen=True)
        if world.has_gold:
            require_scoring(world, "scoring again")
    except (UsageError, PrerequisiteError, LogDamaged) as missing:
        return CheckBasis(None, str(missing))
    # A frozen world guards nothing, and what a method's writer wrote counts only if it quotes no guarded question.
    setting = world.setting._replace(guarded=Guarded(world.splits.events))
    return CheckBasis(world._replace(setting=setting), scorer=fingerprints(world)[1:])


def check_scorer(reader: LogReader, given: CheckBasis) -> Check:
    """Return whether a single scorer scored all exams, and whether it is the one that the run learned with."""
    started, records = first_event(reader), exam_records(reader)
    before = scorer_in_words(scorer_of(started))
    scorers = [(record, scorer_of(record.scored_by)) for record in records]
    if other := next(((record, scorer) for record, scorer in scorers if scorer != scorers[0][1]), None):
        first, ours, theirs = (records[0].opened.exam, *map(scorer_in_words, (scorers[0][1], other[1])))
        detail = f"exam {other[0].opened.exam} was scored by another scorer ({theirs}) than exam {first} ({ours})"
        measured = f"{len({scorer for _, scorer in scorers})} scorers"
        return Check(name=SCORER, ok=False, detail=detail, measured=measured, bound="1 scorer", seq=other[0].seq)
    said = [(f"exam {each.opened.exam}", event) for each in records for event in (each.opened, each.scored_by)]
    if false := next((who for who, event in [("the run", started), *said] if _is_false(event, given)), ""):
        detail = f"{false} names this package, whose verdicts on the probes are {given.scorer[1][:16]}, with others: "
        detail += "the record was changed, or a library that the scorer calls is another here"
        return Check(name=SCORER, ok=False, detail=detail, measured="0 true", bound="1 scorer", seq=1)
    packages = {started.package_sha256, *(record.opened.package_sha256 for record in records)}
    doubts = [f"{len(packages)} releases of the package took part"] if len(packages) > 1 else []
    if not packages <= {package_sha256()}:
        doubts.append(f"installed is {package_sha256()[:16]}: what it renders otherwise is not checked")
    if len(judges := sorted({record.opened.judge or "none" for record in records})) > 1:
        doubts.append(f"exams had different judges, so their results differ by these too: {', '.join(judges)}")
    if scorers and scorers[0][1] != scorer_of(started):
        doubts.append(f"exams were scored by another than the run learned by: {scorer_in_words(scorers[0][1])}")
    if given.world and given.scorer != (scorers[0][1] if scorers else scorer_of(started)):
        doubts.append(f"the scorer that is here now is another: {scorer_in_words(given.scorer)}")
    about = f"{before}; package {started.package_version}, {started.package_sha256[:16] or 'unknown'}"
    detail = "; ".join((about, *doubts))
    return Check(name=SCORER, ok=True, detail=detail, measured="1 scorer", bound="1 scorer", doubt=bool(doubts))


def check_verdicts(run: Run, reader: LogReader, given: CheckBasis) -> Iterator[Check]:
    """Yield the check of the run's own answers, one for each exam that can be read, and one of what was asked again."""
    if problem := _regolded(reader, given.world):
        yield Check(name=NAME, ok=False, detail=problem, bound=BOUND)
    state, exams = State(), dict[str, Check]()
    started = first_event(reader)
    given_own = basis_at(given, started)
    own, again = Recount(given_own, execution=started.execution_model), _Again(run, reader, given_own)
    problem, seq, inherited = "", 0, last_inherited(reader)

    def examine(record: ExamRecord) -> None:
        with suppress(LogError):  # `check_inference` says what is wrong with it
            events = list(record.log(run).records())
            exams[record.opened.exam] = _exam(record, events, state, basis_at(given, record.opened))

    # Each belongs to the state after an event of the run; the last of them comes first.
    waiting: list[tuple[int, Callable[[], None]]] = [
        *((record.opened.head_seq, partial(examine, record)) for record in exam_records(reader)),
        *((asked.seq, partial(again.recount, asked, state)) for asked in again.asked),
    ]
    waiting.sort(key=lambda each: -each[0])
    with suppress(KeyError):  # if it cannot be folded `check_replay` says so
        for record in reader.records():
            while waiting and waiting[-1][0] < record.seq:
                waiting.pop()[1]()
            if record.seq > inherited and not problem:
                problem, seq = own.problem_of(record, state), record.seq
            state.apply(record.event)
            state.seq = record.seq
        while waiting and waiting[-1][0] <= reader.head.seq:
            waiting.pop()[1]()
    if own.settled or problem:
        yield own.check(NAME, problem, seq if problem else 0)
    yield from (exams[name] for name in sorted(exams))
    yield from again.check()


class _Again:
    """The answers to what was `asked` again."""

    def __init__(self, run: Run, reader: LogReader, given: CheckBasis) -> None:
        self.asked, self._problem, self._seq = list(asked_together(run, reader)), "", 0
        self._run, self._reader, self._given = run, reader, given
        started = first_event(reader)
        names = names_again(started, parse(started.config).judge)
        replies = replies_of(run, reader, names) if self.asked else {}
        given = msgspec.structs.replace(given, rebuilt=None)
        self._answers = Recount(given, execution=names["execution"], replies=replies)

    def recount(self, asked: AskedTogether, state: State) -> None:
        self._answers.may_reword = asked.may_reword
        for record in asked.records:
            if not self._problem:
                self._problem, self._seq = self._answers.problem_of(record, state), record.seq

    def check(self) -> Iterator[Check]:
        if not self._problem:
            self._problem, self._seq = _misjudged(self._run, self._reader, self._given)
        if self._problem or self._answers.settled:
            yield self._answers.check(f"{NAME} {ASKED_AGAIN}", self._problem, self._seq if self._problem else 0)


def _misjudged(run: Run, reader: LogReader, given: CheckBasis) -> tuple[str, int]:
    """Return which result of answers judged again does not follow from the judge's replies, and its event; ("", 0) if
    none."""
    world = given.world
    if world is None or not world.has_gold or world.is_partly_erased:
        return "", 0
    exams = {record.opened.exam: record for record in exam_records(reader)}
    anew = dict[str, v.ExamRejudged]()
    for seq, event in reader.numbered(v.ExamRejudged, v.QuestionsReasked):
        if isinstance(event, v.ExamRejudged):
            anew[event.exam] = event
            continue
        assert isinstance(event, v.QuestionsReasked)
        for claim in event.judged:
            with suppress(LogError):  # other checks say what is wrong with a log
                taken = exams[claim.exam]._replace(rejudged=anew.get(claim.exam)) if claim.exam in exams else None
                answers = recorded_answers(run, reader, world, taken, until=seq)
                opinions = answers.opinions(replies_of(run, reader, {"judge": claim.judge}))
                counted = answers.result(claim.judge, opinions)
                # A call that failed then may have been made since, and another release may ask in other words.
                unknown = sum(each.problem == "unanswered" for each in opinions)
                now = min(max(claim.now, counted.now), counted.now + unknown)
                if claim != msgspec.structs.replace(counted, now=now):
                    said = f"{claim.judge} found {claim.now} of {claim.total} right that are {claim.right} on record"
                    return f"{said}, and it is {counted.now} of {counted.total} and {counted.right}", seq
    return "", 0


def basis_at(given: CheckBasis, event: v.RunStarted | v.ExamOpened) -> CheckBasis:
    """Return what one log is checked with, given what it says about the package and the scorer of its time."""
    is_release = event.package_sha256 in ("", package_sha256())
    is_unknown = given.world is None or not event.package_sha256
    is_scorer = is_unknown or scorer_of(event) == given.scorer or _is_false(event, given)
    return msgspec.structs.replace(given, is_release=is_release, is_scorer=is_scorer)


def _is_false(event: v.RunStarted | v.ExamOpened | v.ExamRejudged, given: CheckBasis) -> bool:
    """Return whether what an event says about its scorer cannot be true.

    package    verdicts on probes
    the same   the same   prompts, stand-ins' replies and verdicts are compared
    the same   others     false: one package scores a reply in one way (the user's own scorer can be edited, and is
                          known by its file)
    another    the same   verdicts are compared; prompts and stand-ins' replies may have been made differently
    another others its scorer may have been a different one: verdicts that differ are a doubt
    """
    is_ours = given.scorer[0] == "" and given.scorer[1] != ""
    return is_ours and event.package_sha256 == package_sha256() and scorer_of(event) != given.scorer


def _regolded(reader: LogReader, world: World | None) -> str:
    """Return where the questions in the folder differ from the benchmark's own, or "" if they do not."""
    if world is None or reopening(world.benchmark.name):  # if only the folder is at hand
        return ""
    try:
        stored, has_gold = stored_questions(reader, world.benchmark.name)
    except LogDamaged:  # the check of the questions says so
        return ""
    changed = changes(
        stored, [world.questions[each.id] for each in stored if each.id in world.questions], gold=has_gold
    )
    return f"the questions beside the log are not those of {world.benchmark.name}: {changed}" if changed else ""


def _exam(record: ExamRecord, events: Sequence[v.Record], state: State, given: CheckBasis) -> Check:
    opened, world = record.opened, given.world
    name = f"{NAME} {opened.exam}"
    recount = Recount(given, exam=opened.exam, execution=opened.execution, judge=opened.judge)
    for each in events:
        if problem := recount.problem_of(each, state):
            return recount.check(name, problem, each.seq)
    first = next((each.seq for each in events if isinstance(each.event, v.QuestionPlanned)), 0)
    if world and recount.plans and (problem := _misasked(record, recount.plans, state, given)):
        return recount.check(name, problem, first)
    if record.closed:
        problem = recount.unsettled() or recount.miscounted(record.closed, families_of(world) if world else None)
        check = recount.check(name, problem or _misrejudged(record, record.closed, recount, given), 0)
        is_told = not check.ok or check.doubt or world is None or is_planned_anywhere(world)
        return check if is_told else msgspec.structs.replace(check, detail=f"{check.detail}; {_CHOSEN_THERE}")
    return recount.check(name, "", 0)


def _misrejudged(record: ExamRecord, closed: v.ExamClosed, recount: Recount, given: CheckBasis) -> str:
    """Return where an exam's recorded rescoring differs from what its scorer says here, if that is installed."""
    anew = record.rejudged
    if anew is None:
        return ""
    ids = [each.question_id for each in anew.verdicts]
    answers = {each.question_id for each in recount.settled if not isinstance(each, v.AnswerUnanswered)}
    if len({*ids}) < len(ids) or not answers.issuperset(ids) or anew.total != closed.total:
        return f"it has {closed.total} answers, and not each of them was scored again once"
    right = sum(each.correct for each in anew.verdicts)
    unanswered = sum(isinstance(each, v.AnswerUnanswered) for each in recount.settled)
    if (anew.correct, anew.total) != (right, len(anew.verdicts) + unanswered):
        return f"scored again it has {right} of {len(anew.verdicts) + unanswered} right, and not {anew.correct}"
    if given.world is None or not given.world.has_gold or scorer_of(anew) != given.scorer:
        return ""
    for each in anew.verdicts:
        made = recount.made.get(each.question_id)
        if made and (made.correct, made.score_micro) != (each.correct, each.score_micro):
            return f"{each.question_id}: scored again it is {'wrong' if each.correct else 'right'}"
    return ""


def _misasked(record: ExamRecord, plans: Sequence[v.QuestionPlanned], state: State, given: CheckBasis) -> str:
    """Return where an exam's questions, or how they were asked, differ from what its state and the seed say."""
    world, opened = given.world, record.opened
    assert world is not None
    if world.is_partly_erased:
        return ""
    names = sorted(plan.question_id for plan in plans)
    if opened.asked > len(world.setting.held_out) or names != sorted(held_out_sample(world.setting, opened.asked)):
        return f"it did not ask the {opened.asked} held-out questions that the seed chooses"
    # The route depends on right answers.
    if not (is_planned_anywhere(world) and world.has_gold and given.is_release):
        return ""
    ledger, state.ledger = state.ledger, Ledger()  # an exam's own account starts at zero
    try:
        drafts = plan_answers(world.setting, state, exam_plan(world, state, names, opened.control))
    finally:
        state.ledger = ledger
    recorded = {plan.question_id: plan for plan in plans}
    for draft in drafts:
        made = draft.event
        if isinstance(made, v.QuestionPlanned):
            earlier = recorded[made.question_id]
            if wrong := differing(earlier, as_recorded(made, earlier)):
                return f"{made.question_id}: its plan is not what its state makes: {wrong}"
    return ""
