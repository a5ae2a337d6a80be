"""The result of an upgrade: what each memory was worth to the new model, and how the four exams compare."""

from collections.abc import Mapping, Sequence

import msgspec

from mage_es.engine.rules.reproof import Showing, in_others_words, proof_of_words, proofs, showing_of
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import (
    PairedDifference,
    exam_records,
    interval,
    learner_of,
    ledger_of,
    paired_difference,
    readable,
    recalled_in,
)
from mage_es.engine.run.inheriting import inheritance, last_inherited
from mage_es.engine.run.world import first_event, state_of
from mage_es.engine.verbs.exam_report import ExamReport
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, Digest, ExamOpened, MemoryQuarantined, Paired, QuestionPlanned


class MemoryProof(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was shown to `shown` questions, of which `won` were right only with it and its neighbours, and
    `lost` only without. `is_out` is whether it therefore went out of use; `writer` is the model that wrote it."""

    memory_id: str
    kind: str
    writer: str
    question: str
    shown: int
    won: int
    lost: int
    is_out: bool


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """How a model did in an exam: with what was learned, or bare; `recalled` answers are the nearest cases' own."""

    execution: str
    is_bare: bool
    exam: str
    correct: int
    total: int
    recalled: int
    interval: tuple[float, float] | None


class UpgradeDifference(PairedDifference, frozen=True, kw_only=True):
    """Two exams on the `interval.pairs` questions that both asked, the first minus the second."""

    what: str


class KeptGain(msgspec.Struct, frozen=True, kw_only=True):
    """How many questions the new model and the old one gained through memories, of the `total` that all four exams
    asked. `share` is the first divided by the second, None if the old one gained nothing."""

    gain: int
    old_gain: int
    total: int
    share: float | None


class UpgradeReport(msgspec.Struct, frozen=True, kw_only=True):
    """What the memories of the run `parent` are worth to another model.

    `benefit` has the paired record by task type, and what is served; the last is for all types; `stale` of its pairs
    have an answer of an older state. `memories` are those
    that were shown, the most harmful first; `words` are all cases in the old model's words together, None if none was
    shown. `standings` are the exams, old before new, bare before with memories; `kept` is None if one of the four is
    missing. `calls` is how many calls the upgrade took, `learned_with` how many the parent had taken to learn.
    """

    run_id: str
    parent: str
    learner: str
    execution: str
    benefit: tuple[Paired, ...]
    memories: tuple[MemoryProof, ...]
    words: tuple[int, int, int] | None
    words_out: int
    standings: tuple[Standing, ...]
    differences: tuple[UpgradeDifference, ...]
    kept: KeptGain | None
    calls: int
    learned_with: int
    stale: int = 0


def upgrade_report(run: Run, child: Run, exams: Sequence[ExamReport]) -> UpgradeReport:
    """Return the report on a run and on the one that continues it with another model, from the latter's exams: those
    with the memories that it is served, and those without."""
    before, after = LogReader(run.log_path), LogReader(child.log_path)
    begun = inheritance(after)
    assert begun is not None
    started = first_event(after)
    state, learner = state_of(child, after), learner_of(after)
    found = _showings(after)
    out = {event.memory_id for event in after.of(MemoryQuarantined, since=last_inherited(after) + 1)}
    rows = {name: state.memory.row(name) for each in found for name in each.memories}
    others = frozenset(name for name, row in rows.items() if in_others_words(row, learner))
    words = proof_of_words(found, others)
    memories = [
        MemoryProof(
            memory_id=name,
            kind=rows[name].kind or rows[name].outcome,
            writer=rows[name].origin.writer,
            question=rows[name].question,
            is_out=name in out,
            **proof._asdict(),
        )
        for name, proof in proofs(found).items()
    ]
    taken = {("old", is_bare): _old_exam(run, before, begun.digests, is_bare=is_bare) for is_bare in (True, False)}
    for exam in sorted(exams, key=lambda exam: exam.control != "bare"):
        taken["new", exam.control == "bare"] = (exam.exam_id, dict(exam.answers))
    answers = {key: answered for key, (_, answered) in taken.items() if answered}
    models = {"old": begun.learner, "new": started.execution_model}
    return UpgradeReport(
        run_id=child.id,
        parent=run.id,
        learner=begun.learner,
        execution=started.execution_model,
        benefit=state.benefit.records(),
        memories=tuple(sorted(memories, key=lambda each: (each.won - each.lost, -each.shown, each.memory_id))),
        words=words if words.shown else None,
        words_out=len(others & out),
        standings=tuple(
            Standing(
                execution=models[who],
                is_bare=is_bare,
                exam=name,
                correct=sum(answered.values()),
                total=len(answered),
                recalled=len(recalled_in(LogReader((run if who == "old" else child).exam(name).log_path))),
                interval=interval(sum(answered.values()), len(answered)),
            )
            for (who, is_bare), (name, answered) in taken.items()
            if answered
        ),
        differences=tuple(
            UpgradeDifference(what=what, **msgspec.structs.asdict(paired_difference(answers[one], answers[other])))
            for what, one, other in _PAIRS
            if one in answers and other in answers
        ),
        kept=_kept_gain(answers),
        calls=calls_of(child),
        learned_with=begun.calls,
        stale=state.benefit.stale,
    )


_PAIRS = (
    ("the old model's gain", ("old", False), ("old", True)),
    ("the new model's gain", ("new", False), ("new", True)),
    ("new model against old, both with memories", ("new", False), ("old", False)),
)


def calls_of(run: Run) -> int:
    """Return how many calls a run and its exams have made, including failed attempts; 0 for one without a log."""
    logs = (each.log_path for each in (run, *run.exams()) if each.events)
    accounts = (use for log in logs for _, use in ledger_of(LogReader(log)).accounts())
    return sum(use.calls + use.failures for use in accounts)


def _showings(reader: LogReader) -> list[Showing]:
    """Return the questions that were asked again, with their two answers, in id order."""
    plans, learned, bare = dict[str, QuestionPlanned](), dict[str, bool](), dict[str, bool]()
    since = last_inherited(reader) + 1
    for event in reader.of(QuestionPlanned, AnswerJudged, since=since):
        match event:
            case QuestionPlanned(purpose="fresh"):
                plans[event.question_id] = event
            case AnswerJudged(purpose="fresh"):
                learned[event.question_id] = event.correct
            case AnswerJudged(purpose="bare"):
                bare[event.question_id] = event.correct
    return [showing_of(plans[name], learned=learned[name], bare=bare[name]) for name in sorted(learned.keys() & bare)]


def _old_exam(run: Run, reader: LogReader, digests: Sequence[Digest], *, is_bare: bool) -> tuple[str, dict[str, bool]]:
    """Return the name and the answers of the newest exam with which the old model can be compared, or ("", {}).

    Bare means at the start, or under the control; with memories means on the state that the new model began with.
    """
    learner = learner_of(reader)

    def is_wanted(opened: ExamOpened) -> bool:
        bare = opened.control == "bare" or (opened.control == "none" and opened.marker == "start")
        served = opened.control == "none" and opened.digests == tuple(digests)
        return opened.execution == learner and (bare if is_bare else served and not bare)

    wanted = (each for each in reversed(exam_records(reader)) if each.closed and is_wanted(each.opened))
    return next(((record.opened.exam, answers) for record, answers in readable(run, wanted)), ("", {}))


def _kept_gain(answers: Mapping[tuple[str, bool], Mapping[str, bool]]) -> KeptGain | None:
    if len(answers) < 4 or not (names := set[str].intersection(*(set(each) for each in answers.values()))):
        return None

    def right(who: str, *, is_bare: bool) -> int:
        return sum(answers[who, is_bare][name] for name in names)

    gained = right("old", is_bare=False) - right("old", is_bare=True)
    gains = right("new", is_bare=False) - right("new", is_bare=True)
    return KeptGain(gain=gains, old_gain=gained, total=len(names), share=gains / gained if gained > 0 else None)
