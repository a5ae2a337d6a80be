"""Continuing from what another run learned: its events and its questions, in a new run.

Rules
    - A run continues from a closed iteration of its parent. Its own iterations are numbered on from there.
    - It takes every event of the parent that changed what was learned (`taken_types`). It finds them in the parent's
      log, which is hard-linked into its own (events/log/past.py). So nothing is copied, and the run can be replayed,
      verified and backed up without the parent. Calls, prompts and verdicts on anchors belong to the parent and are not
      taken.
    - With another model, it drops what measured the parent's model: bandits, the gate and the record of recall start
      afresh.
    - It has the parent's questions besides its own. Each stays on the side where the parent had it (rules/splits.py).
"""

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from mage_es.engine.benchmarks.registry import open_benchmark, reopening, title
from mage_es.engine.benchmarks.tasks import OWN_TASKS
from mage_es.engine.config import Config
from mage_es.engine.rules.leaks import Guarded, texts_of
from mage_es.engine.rules.near_duplicates import normalise, question_hash
from mage_es.engine.rules.splits import NO_SIDES, Sides, Splits, recorded_splits
from mage_es.engine.run.directory import Run
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.questions import all_questions, grown, stored_questions, with_column_roles, with_questions
from mage_es.engine.seams.benchmark import Benchmark, Question, column_roles_of
from mage_es.engine.seams.environment import is_sequential
from mage_es.events import vocabulary as v
from mage_es.events.disk.documents import Past, Taken
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.facts import tag_of
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.events.segments.questions import named
from mage_es.projections.fold import State, fold, fold_into, give, reads_of
from mage_es.projections.ledger import Ledger
from mage_es.projections.questions import EVOLVING
from mage_es.projections.snapshot_files import latest_snapshot

OWN_ACCOUNTS = frozenset({"scores", "ledger", "traffic"})
"""Projections that account for a run but hold nothing that it learned. They are not inherited."""
OF_THE_LEARNER = frozenset({"bandits", "benefit", "recall"})
"""The projections that measure the model that answered; a run with another model does not inherit them."""
_MARK = v.IterationClosed.__struct_fields__


def inheritance(reader: LogReader) -> v.RunInherited | None:
    """Return what a run says about the run that it continues; None if it began with nothing."""
    return next(reader.of(v.RunInherited, since=1, until=2), None)


def is_merged(event: v.RunInherited) -> bool:
    """Return whether a run began with the memories of two others, each of which has a `run.merged`."""
    return not event.head_chain


def is_served(reader: LogReader) -> bool:
    """Return whether a run learns from what clients say, not in iterations of Algorithm 1."""
    begun = inheritance(reader)
    return begun is not None and begun.is_served


def learning_of(reader: LogReader) -> LogReader:
    """Return the log in which a run asked what it learned from: of a served run, that of the run that it serves."""
    while is_served(reader) and reader.past:
        reader = reader.past.reader
    return reader


def require_not_served(run: Run, reader: LogReader) -> None:
    """Raise `UsageError` for a run that learns by publishing, not in iterations of Algorithm 1."""
    if is_served(reader):
        raise UsageError(
            f"{run.id} is served and learns from what its clients say: continue with `mage-es serve {run.id}`, or "
            f"publish what was proposed with `mage-es publish {run.id}`. To learn more from tasks, start a run that "
            f"continues it: `mage-es evolve BENCHMARK --from {run.id}`."
        )


def last_inherited(reader: LogReader) -> int:
    """Return the sequence number of the last event that a run began with, or 0 without a parent."""
    event = inheritance(reader)
    return 2 + event.events if event else 0


def first_iteration(reader: LogReader) -> int:
    """Return the number of a run's own first iteration."""
    event = inheritance(reader)
    return event.iteration + 1 if event else 0


def not_inherited(event: v.RunInherited) -> frozenset[str]:
    """Return the names of the parent's projections that a run does not inherit."""
    return OWN_ACCOUNTS | (OF_THE_LEARNER if event.learner else frozenset())


def past_of(event: v.RunInherited | None) -> Sides:
    if event is None:
        return NO_SIDES
    sides = (event.evolution, event.anchors, event.held_out, event.resembling)
    return Sides(*map(frozenset, sides))


class Parent(NamedTuple):
    """A run to continue. A merge has two parents; then `drafts` are the events with which the new run begins."""

    reader: LogReader
    started: v.RunStarted
    event: v.RunInherited
    stored: tuple[list[Question], bool]
    """Its questions, and whether their gold answers are in this copy of it."""
    drafts: Sequence[v.Draft] = ()

    @property
    def past(self) -> tuple[LogReader, Past] | None:
        """The parent's log, and what the new run's log takes from it; None for a merge, which has `drafts` instead."""
        if is_merged(self.event):
            return None
        takes = taken_types(not_inherited(self.event))
        return self.reader, Past(seq=self.event.seq, head=self.reader.head, takes=takes)

    def learned(self) -> Iterator[v.Event]:
        """Yield the parent's events that changed what it had learned."""
        if is_merged(self.event):
            return (draft.event for draft in self.drafts)
        return self.reader.of(*inherited_types(), until=self.event.seq)

    def resembling(self, splits: Splits, questions: Sequence[Question]) -> list[str]:
        """Return the ids of the guarded questions that resemble something the parent wrote."""
        # All that it wrote was compared with these when it was written.
        if {*splits.anchors, *splits.held_out} <= past_of(self.event).kept and {*splits.evolution} <= {
            *self.event.evolution
        }:
            return []
        guarded = Guarded(splits.events)
        found = (guarded.likeness_of(event) for event in self.learned() if texts_of(event))
        hashes = {likeness.question_hash for likeness in found if likeness.is_leak}
        kept = {*splits.anchors, *splits.held_out}
        return [q.id for q in questions if q.id in kept and question_hash(normalise(q.question)) in hashes]

    def benchmark(self, config: Config, given: Benchmark | None, *, data_dir: Path | str | None) -> Benchmark:
        """Return the benchmark of a configuration, or the one given, with the parent's questions before its own.

        Raises:
            UsageError: It is not the parent's benchmark, or has other answers to the same questions.
            PrerequisiteError: The parent's gold answers or a data set are missing.
        """
        begun, reopen = self.started.benchmark, reopening(config.benchmark)
        if begun != config.benchmark and not (begun.startswith(OWN_TASKS) and config.benchmark.startswith(OWN_TASKS)):
            raise UsageError(
                f"{self.event.parent} learned from {title(begun)}, and what it learned is of no use for "
                f"{title(config.benchmark)}: name the same benchmark, or more tasks of the same kind."
            )
        known, has_gold = self.stored
        if config.benchmark != begun:
            known = [msgspec.structs.replace(question, benchmark=config.benchmark) for question in known]
        require_gold(self.event.parent, has_gold=has_gold)
        # A user's own tasks may have moved, and what the parent stored of them is enough.
        if not given and reopen and begun == config.benchmark and not _is_there(config.benchmark):
            taken = {column.role: column.name for column in self.started.columns}
            return with_column_roles(reopen(known, self.started.data_sha256), taken)
        new = given or open_benchmark(config.benchmark, seed=config.seed, data_dir=data_dir)
        if not given and not reopen and (begun, self.started.data_sha256) == (config.benchmark, new.data_sha256):
            return with_questions(new, known)  # the same data, so the parent has stored all of its questions
        others, changed = added(known, all_questions(new))
        if changed:
            raise UsageError(
                f"{len(changed)} questions that {self.event.parent} learned from now have another answer: "
                f"{named(changed)}. What it learned from them would be wrong: start a run without --from, or leave "
                "these questions out."
            )
        joined = [*known, *others]
        if reopen:
            return with_column_roles(reopen(joined, new.data_sha256), column_roles_of(new))
        is_bound = is_sequential(new) or getattr(new, "is_seed_bound", False)
        if is_bound and new.data_sha256 != self.started.data_sha256:
            raise UsageError(
                f"What is right in {title(config.benchmark)} depends on the seed: continue with --seed "
                f"{self.started.seed}, that of {self.event.parent}."
            )
        return grown(new, joined)


def require_closed(run_id: str, reader: LogReader) -> None:
    """Raise `UsageError` for a baseline, and for a run that has not closed an iteration."""
    if reader.last(v.IterationClosed):
        return
    if next(reader.of(v.BaselineStarted), None):
        raise UsageError(f"{run_id} is a baseline, which learns nothing: name a run of `mage-es evolve`.")
    raise UsageError(f"{run_id} has not closed an iteration yet: `mage-es resume {run_id}` continues it.")


def require_no_subjects(run_id: str, questions: Iterable[Question]) -> None:
    """Raise `UsageError` if a run has tasks with a subject: what is erased there would live on in another run."""
    if any(question.subject for question in questions):
        raise UsageError(
            f"{run_id} has tasks with a subject, which can be erased there; a run that continues it would keep what "
            f"was learned from them. Start a run with all the tasks instead."
        )


def require_gold(run_id: str, *, has_gold: bool) -> None:
    """Raise `PrerequisiteError` for a copy of a run without its right answers."""
    if not has_gold:
        raise PrerequisiteError(f"This copy of {run_id} has no gold answers: restore a backup that has them.")


def require_continuable(run_id: str, reader: LogReader) -> None:
    """Raise `UsageError` or `PrerequisiteError` for a run that no other can continue, before any price is told."""
    require_closed(run_id, reader)
    questions, has_gold = stored_questions(reader, "")
    require_no_subjects(run_id, questions)
    require_gold(run_id, has_gold=has_gold)


def read_parent(
    run: Run, at: str, *, runs_dir: Path | str, prices: Prices, execution: str = "", reproof: int = 0
) -> Parent:
    """Return a run to continue, at a closed iteration (`start`, `iter-4`; `latest`: the last one). Anything quarantined
    after the last iteration stays in quarantine in the new run. `execution` is the model that it answers with ("": the
    parent's own), and `reproof` how many questions are asked again.

    Raises:
        UsageError: There is no such closed iteration, or the run is a baseline or has subjects.
        LogDamaged: Its log fails its checksums.
    """
    reader = LogReader(run.log_path)
    require_closed(run.id, reader)
    seq = reader.last(v.IterationClosed) if at == "latest" else reader.resolve(at)
    closed, ledger = dict[int, Any](), Ledger()
    # In one pass: the first reading checks the hash of each segment. What a ledger adds up may come in any order.
    reads: Reads = {v.IterationClosed: _MARK, **Ledger.reads}
    for batches in reader.batches(reads, since=1, until=seq, newest_first=True):
        if marks := batches.get(v.IterationClosed):
            closed.update(zip(marks.seqs, marks.events, strict=True))
        give(ledger, {cls: batches[cls] for cls in Ledger.reads if cls in batches})
    if seq not in closed:
        raise UsageError(f"A run continues from a closed iteration, and {at} is within one: choose start or iter-N.")
    started, opened = next(reader.of(v.RunStarted)), min(closed)
    # Between two iterations only people change what was learned; a run never continues from part of an iteration.
    since = list(reader.records(inherited_types(), since=seq + 1)) if at == "latest" else []
    mark = closed[seq]
    if since and all(record.phase == "log" for record in since):
        fold_into((ledger,), reader, since=seq + 1, until=since[-1].seq)
        seq = since[-1].seq
    learner = started.execution_model if execution not in ("", started.execution_model) else ""
    questions, has_gold = stored_questions(reader, started.benchmark)
    require_no_subjects(run.id, questions)
    splits = recorded_splits(list(reader.of(v.SplitCommitted, until=opened)), questions)
    before = inheritance(reader)
    older = past_of(before)
    usd, spent = prices.total(ledger.accounts()), before.usd_micro if before else 0
    event = v.RunInherited(
        events=0,
        iteration=mark.iteration,
        parent=run.id,
        path=os.path.relpath(run.path.resolve(), Path(runs_dir).resolve()),
        seq=seq,
        head_seq=reader.head.seq,
        head_chain=reader.head.chain,
        digests=mark.digests if seq in closed else _digests(run, reader, seq),
        evolution=tuple(sorted(older.evolution.union(splits.evolution))),
        anchors=tuple(sorted(older.anchors.union(splits.anchors))),
        held_out=tuple(sorted(older.held_out.union(splits.held_out))),
        resembling=(),
        calls=sum(use.calls for _, use in ledger.accounts()) + (before.calls if before else 0),
        usd_micro=-1 if usd is None or spent < 0 else round(usd * v.MICRO) + spent,
        learner=learner,
        reproof=reproof,
    )
    return Parent(reader, started, event, (questions, has_gold))


def _digests(run: Run, reader: LogReader, seq: int) -> tuple[v.Digest, ...]:
    return fold(reader, until=seq, state=latest_snapshot(run.snapshots_path, reader, until=seq)).digests()


def inherited_types(without: Collection[str] = ()) -> Collection[type[v.Event]]:
    """Return the types of the events that can change what a run has learned, leaving out those projections."""
    return reads_of(tuple(view for view in State().digested() if view.name not in {*OWN_ACCOUNTS, *without}))


def taken_types(without: Collection[str] = ()) -> tuple[Taken, ...]:
    """Return which events of a parent are taken. Only verdicts on questions that it learned from are: the others are
    its own."""
    evolving = {tag_of(v.AnswerJudged): ("purpose", tuple(sorted(EVOLVING)))}
    return tuple(Taken(tag, *evolving.get(tag, ())) for tag in map(tag_of, inherited_types(without)))


def _is_there(benchmark: str) -> bool:
    from mage_es.engine.benchmarks.tasks.spec import parse

    return benchmark.startswith(OWN_TASKS) and Path(parse(benchmark).source).expanduser().is_file()


def added(known: Sequence[Question], questions: Sequence[Question]) -> tuple[list[Question], list[str]]:
    """Return the questions that are not yet known, under new ids if necessary, and the ids of known ones whose answer
    differs."""
    by_text, taken = {asked_in(question): question for question in known}, {q.id for q in known}
    found, changed = list[Question](), list[str]()
    for question in questions:
        if other := by_text.get(asked_in(question)):
            if _answers(question) != _answers(other):
                changed.append(other.id)
        else:
            name = question.id
            # A row without an id is named by its place, in this file and in the parent's.
            while name in taken:
                name = f"{name}+"
            taken.add(name)
            found.append(msgspec.structs.replace(question, id=name))
    return found, changed


def asked_in(question: Question) -> tuple[str, str]:
    """Return the texts that make a question the same as another, its own and its context."""
    return " ".join(question.question.split()), " ".join(question.context.split())


def _answers(question: Question) -> str:
    return question.meta.get("answers", question.gold).casefold()
