"""What a session records before its work: the opening of a run, its limits, its signature."""

import msgspec

from mage_es.engine.commands import OpenRun
from mage_es.engine.run.budget import UNLIMITED, Limits
from mage_es.engine.run.fingerprints import fingerprints
from mage_es.engine.run.questions import rows_of
from mage_es.engine.run.world import registered_in
from mage_es.engine.session.session import Session
from mage_es.events.care import naming
from mage_es.events.vocabulary import Draft


def opening(session: Session) -> OpenRun:
    """Store the world's questions beside the log; return the command that commits to them and begins the run."""
    world, limits = session.world, session.runtime.limits
    # Durable before the event that names them; questions without such an event, left by a crash, mean nothing.
    stored = session.log.store(*rows_of(world.benchmark))
    budget = [limits.recorded()] if limits and any(limits) else []
    registered = [registered_in(world, session.registration)] if session.registration else []
    started = msgspec.structs.replace(world.started(session.run.id), **fingerprints(world)._asdict())
    opened = OpenRun(started, (*world.splits.events, stored), budget, registered=registered)
    if parent := world.parent:
        return opened._replace(parent=[parent.event], inherited=parent.drafts)
    return opened


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
    elif any(limits):
        session.announce(f"Budget over all sessions, as recorded: {limits}.")
