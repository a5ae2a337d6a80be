"""What a session records before it starts work: the opening of a run, its limits, its signature."""

from collections.abc import Iterator

import msgspec

from mage_es.engine.commands import CloseIteration, Command, CompletePhase, FinishRun, OpenRun
from mage_es.engine.decide import decide
from mage_es.engine.run.budget import UNLIMITED, Limits
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exam_plan import registered_in
from mage_es.engine.run.fingerprints import fingerprints
from mage_es.engine.run.inheriting import Parent
from mage_es.engine.run.questions import rows_of
from mage_es.engine.run.world import World, require_ontology
from mage_es.engine.session.session import Session
from mage_es.events.log import Log, LogReader
from mage_es.events.signing.heads import naming
from mage_es.events.vocabulary import Draft
from mage_es.projections.fold import State, fold
from mage_es.projections.scores import START
from mage_es.projections.snapshot_files import write_snapshot


def opening(session: Session) -> OpenRun:
    """Do what `store_questions` does, and return the command with the session's limits and registration."""
    world, limits = session.world, session.runtime.limits
    budget = [limits.recorded()] if limits and limits != UNLIMITED else []
    registered = [registered_in(world, session.registration)] if session.registration else []
    return store_questions(session.run, session.log, world)._replace(budget=budget, registered=registered)


def store_questions(run: Run, log: Log, world: World) -> OpenRun:
    """Store the world's questions beside the log; return the command that commits to them and begins the run."""
    # Durable before the event that names them; questions without such an event, left by a crash, mean nothing.
    stored = log.store(*rows_of(world.benchmark))
    started = msgspec.structs.replace(world.started(run.id), **fingerprints(world)._asdict())
    opened = OpenRun(started, (*world.splits.events, stored))
    if parent := world.parent:
        return opened._replace(parent=[parent.event], inherited=parent.drafts)
    return opened


def begin_at_once(run: Run, log: Log, world: World, parent: Parent, *, is_all: bool = False) -> State:
    """Record the beginning of a run that needs no calls to be usable, either completely or not at all, and return the
    state. If the run has no more than a beginning (`is_all`), also finish it.
    """
    state, drafts = fold(LogReader(run.log_path)), list[Draft]()
    for command in _at_once(run, log, world._replace(parent=parent), state, is_all=is_all):
        decided = decide(world.setting, state, command)
        drafts += decided
        for draft in decided:
            state.apply(draft.event)
    # In one batch with the rest, unlike the close of other runs, so that no crash leaves the run without its marker.
    state.seq = log.append(drafts).seqs[-1]
    write_snapshot(run.snapshots_path, state, chain=log.head.chain)
    return state


def _at_once(run: Run, log: Log, world: World, state: State, *, is_all: bool) -> Iterator[Command]:
    assert world.parent is not None
    k = world.parent.event.iteration
    yield store_questions(run, log, world)
    require_ontology(state, f"iteration {k}")
    yield CompletePhase(START, "open")
    yield CloseIteration(k, state.digests())
    if is_all:
        yield FinishRun()


def sign(session: Session) -> None:
    """Sign the head of the run's log, if there is a key."""
    if session.runtime.signer:
        session.commit([naming(session.runtime.signer)])
        session.runtime.sign(session.log, session.run.log_path)


def keep_budget(session: Session, recorded: Limits) -> None:
    """Record limits that differ from the run's, and announce which limits hold from here on."""
    limits, kept = session.runtime.limits or UNLIMITED, recorded.recorded()
    if (now := limits.recorded()) != kept:
        session.commit([Draft(event=now, iteration=-1, phase="log", ordinal=session.state.seq)])
        session.announce(f"Budget over all sessions: {limits} (before: {recorded}).")
    elif limits != UNLIMITED:
        session.announce(f"Budget over all sessions, as recorded: {limits}.")
