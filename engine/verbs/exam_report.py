"""The result of an exam, compared with exams of the same state and of the run's start."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from mage_es.engine.commands import shared
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exam_plan import families_of
from mage_es.engine.run.exams import (
    ExamRecord,
    PairedDifference,
    exam_records,
    interval,
    learner_of,
    paired_difference,
    read_exam,
    readable,
    reasons,
)
from mage_es.engine.run.world import World
from mage_es.engine.verbs.runs import episode_rows
from mage_es.engine.verbs.summary import EpisodeRow
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.projections.benefit import Benefit
from mage_es.projections.memory import plain


class GroupScore(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    correct: int
    total: int


class ExamDifference(PairedDifference, frozen=True, kw_only=True):
    """An exam compared with another, `exam_id`, on the `total` questions that both asked.

    `marker`, `control` and `execution` are the other exam's, which got `correct` right; the
    difference is this one minus the other.
    """

    exam_id: str
    marker: str
    control: str
    execution: str
    correct: int
    total: int


class ExamReport(msgspec.Struct, frozen=True, kw_only=True):
    """An exam on questions that the run never saw.

    `unfamiliar` are the questions of phrasing families that occur only in the exam (None if the benchmark has no
    families). `answers` is (question id, correct) in id order, for paired comparisons. `interval` is the Wilson score
    interval of `correct` in `total` at 95 %. `undecided` counts, by reason, the answers on which neither the rule nor a
    judge could decide; they are in no other number. `unanswered` counts, by kind of fault, the questions whose call
    failed permanently; they are wrong. `head` is that of the exam's own log. `bare` questions were shown nothing
    learned, `recalled` ones were answered by the nearest cases without a call; with a control, `controlled` ones were
    shown memories under it. `execution` is the model that answered. If questions share a few right answers, `commonest`
    is the most frequent one among those to learn from, and how many of the exam's questions it fits.

    `beside` compares a control with the exam of the same state without one, or another learner with the run's own;
    `before` compares with the same model's exam of the start, on questions whose call did not fail there. Each is None
    if there is no such exam. `repeated`: this exam was already complete, and no call was made.

    `benefit` says by task type how the anchors were answered with what was learned and with the bare prompt, and what
    is served; the last is for all types; () if nothing was tested; `stale` of its pairs have an answer of an older
    state. `form` is what a trial of the form of prompts showed; None without one.
    """

    run_id: str
    exam_id: str
    marker: str
    control: str
    correct: int
    total: int
    familiar: GroupScore | None
    unfamiliar: GroupScore | None
    task_types: tuple[GroupScore, ...]
    execution_calls: int
    guidance_calls: int
    seconds: float
    task_type_source: str
    answers: tuple[tuple[str, bool], ...]
    judge_calls: int = 0
    undecided: dict[str, int] = {}
    unanswered: dict[str, int] = {}
    interval: tuple[float, float] | None = None
    episodes: tuple[EpisodeRow, ...] = ()
    embedder_calls: int = 0
    teacher_sees: str = ""
    head: str = ""
    execution: str = ""
    bare: int = 0
    recalled: int = 0
    controlled: int = 0
    commonest: tuple[str, int] | None = None
    beside: ExamDifference | None = None
    before: ExamDifference | None = None
    repeated: bool = False
    benefit: tuple[v.Paired, ...] = ()
    stale: int = 0
    form: v.FormDecided | None = None


def report_of(run: Run, record: ExamRecord, world: World, *, seconds: float, is_repeated: bool) -> ExamReport:
    log, known = record.log(run), families_of(world)
    sat = read_exam(log, record)
    rows = sat.answers.select("question_id", "correct", "task_type").sort("question_id").rows()
    verdicts = {name: is_right for name, is_right, _ in rows}
    families, types = dict[str, list[bool]](), dict[str, list[bool]]()
    for name, is_right, task_type in rows:
        family = "familiar" if world.questions[name].family in known else "unfamiliar"
        families.setdefault(family, []).append(is_right)
        types.setdefault(task_type, []).append(is_right)
    right, served = sum(verdicts.values()), _benefit(run, record)
    (beside, before), (bare, controlled, recalled) = _compared(run, record, verdicts), _count_shown(log, verdicts)
    return ExamReport(
        run_id=run.id,
        exam_id=sat.name,
        marker=sat.marker,
        control=sat.control,
        correct=right,
        total=len(rows),
        familiar=_score("familiar", families.get("familiar", [])) if known else None,
        unfamiliar=_score("unfamiliar", families.get("unfamiliar", [])) if known else None,
        task_types=tuple(_score(name, correct) for name, correct in sorted(types.items())),
        execution_calls=sat.ledger.total("execution").calls,
        guidance_calls=sat.ledger.total("guidance").calls,
        seconds=seconds,
        # Gold types are for evolution only.
        teacher_sees=world.setting.config.teacher_sees,
        task_type_source="input" if world.typing.source == "gold" else world.typing.source,
        episodes=episode_rows(log),
        answers=tuple(verdicts.items()),
        judge_calls=sat.ledger.total("judge").calls,
        embedder_calls=sat.ledger.total("embedder").calls,
        unanswered=reasons(sat.answers),
        interval=interval(right, len(rows)),
        undecided=reasons(sat.undecided),
        head=log.head.chain,
        execution=sat.execution,
        bare=bare,
        recalled=recalled,
        controlled=controlled,
        commonest=_commonest(world, verdicts),
        beside=beside,
        before=before,
        repeated=is_repeated,
        benefit=served.records(),
        stale=served.stale,
        form=served.form,
    )


def _count_shown(log: LogReader, names: Collection[str]) -> tuple[int, int, int]:
    """Return how many of these questions saw nothing that was learned, how many saw a control's memories, and how many
    were answered by their nearest cases."""
    bare, donated, controlled, recalled = set[str](), set[str](), set[str](), set[str]()
    # An episode retrieves memories at each step, and its first prompt may have none yet.
    reads: Reads = {
        v.QuestionPlanned: ("question_id", "spans", "memories", "donor", "routing_arm"),
        v.EpisodeStepped: ("episode_id", "memories"),
    }
    for _, event in log.events(reads):
        match event:
            case v.QuestionPlanned():
                if event.routing_arm == RECALL:
                    recalled.add(event.question_id)
                elif not event.spans:
                    bare.add(event.question_id)
                donated |= {event.question_id} if event.donor else set()
                if any(hit.answer_of for hit in event.memories) or (event.donor and event.memories):
                    controlled.add(event.question_id)
            case v.EpisodeStepped() if event.memories and event.episode_id in donated:
                controlled.add(event.episode_id)
    asked = set(names)
    return len(bare & asked), len(controlled & asked), len(recalled & asked)


def _compared(
    run: Run, record: ExamRecord, now: Mapping[str, bool]
) -> tuple[ExamDifference | None, ExamDifference | None]:
    """Return the differences to the complete exams of the same state, and of the start by the same models: to the first
    of those with most questions, since examining again until the result is good must change nothing."""
    own, reader = record.opened, LogReader(run.log_path)
    learner = learner_of(reader) or own.execution

    def beside(other: v.ExamOpened) -> bool:
        # Not by the marker: `latest` moves on, and `iter-9` may be the same state.
        return other.digests == own.digests and other.execution == (learner if own.control == "none" else own.execution)

    def before(other: v.ExamOpened) -> bool:
        return other.marker == "start" and other.execution == own.execution

    others = [
        each
        for each in sorted(exam_records(reader), key=lambda each: (-each.opened.asked, each.seq))
        if each.closed and each.opened.control == "none" and each.opened.judge == own.judge and each.seq != record.seq
    ]
    is_compared = own.control != "none" or own.execution != learner
    same = _difference(run, filter(lambda each: beside(each.opened), others), now) if is_compared else None
    is_start = (own.marker, own.control) == ("start", "none")
    start = None if is_start else _difference(run, filter(lambda each: before(each.opened), others), now)
    return same, None if start and same and start.exam_id == same.exam_id else start


def _benefit(run: Run, record: ExamRecord) -> Benefit:
    found = Benefit()
    for event in LogReader(run.log_path).of(v.BenefitDecided, v.FormDecided, until=record.opened.head_seq):
        found.apply(event)
    return found


def _difference(run: Run, others: Iterable[ExamRecord], now: Mapping[str, bool]) -> ExamDifference | None:
    """Return how the answers differ from those in an earlier exam: the first of `others` that asked some of the same
    questions. None if none of them did."""
    for record, answers in readable(run, others):
        then, was = record.opened, {name: is_right for name, is_right in answers.items() if name in now}
        if was:
            found = shared(then, ExamDifference) | msgspec.structs.asdict(paired_difference(now, was))
            return ExamDifference(**found, exam_id=then.exam, correct=sum(was.values()), total=len(was))
    return None


def _commonest(world: World, names: Collection[str]) -> tuple[str, int] | None:
    if not world.setting.is_labelled:
        return None
    golds = [world.questions[name].gold for name in world.setting.evolution]
    # Spellings of a label are one answer, as they are for recall; it is shown as it is written most often.
    ((common, _),) = Counter(map(plain, golds)).most_common(1)
    ((answer, _),) = Counter(gold for gold in golds if plain(gold) == common).most_common(1)
    return answer, sum(plain(world.questions[name].gold) == common for name in names)


def _score(name: str, correct: Sequence[bool]) -> GroupScore:
    return GroupScore(name=name, correct=sum(correct), total=len(correct))
