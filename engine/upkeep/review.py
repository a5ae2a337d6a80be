"""The verb `memory review`: the proposals that wait for a person's decision, with everything that helps to decide."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from mage_es.engine.commands import shared
from mage_es.engine.rules.leaks import Guarded, texts_of
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.inheriting import is_served
from mage_es.engine.run.world import state_of
from mage_es.engine.verbs.decorators import typed
from mage_es.engine.worth.proposals import RefusedProposal, refused
from mage_es.events import vocabulary as v
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.log.markers import mark_of
from mage_es.projections.fold import State


class NearAnchor(msgspec.Struct, frozen=True, kw_only=True):
    """An anchor near a proposal: its question, their cosine, and how it was answered; `is_shown`: with the proposal in
    its prompt."""

    question_id: str
    question: str
    similarity: float
    is_shown: bool
    was_right: bool
    is_right: bool


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal that waits for a review (`waiting`), or for the next publish after it (`approved`). `why` says why no
    anchor could judge it, in the publish of `marker`. `leak` is the share, 0 to 1, of a question of the split
    `leak_split` (anchors or held-out) that its texts hold; at 0.8 or more it would have been refused.
    """

    memory_id: str
    status: str
    key: str
    is_gold: bool
    feedback: str
    proposed: str
    marker: str
    outcome: str
    task_type: str
    question: str
    reasoning: str
    answer: str
    wrong_answer: str
    why: str
    floor: float
    anchors: tuple[NearAnchor, ...]
    leak: float
    leak_split: str


class ReviewReport(msgspec.Struct, frozen=True, kw_only=True):
    """What waits for a person in a served run, oldest first; `untried` are proposals that no publish has tried,
    `refused` those that will never be used."""

    run_id: str
    proposals: tuple[Waiting, ...]
    untried: int
    refused: tuple[RefusedProposal, ...] = ()


@typed
def review(run: Run | Path | str) -> ReviewReport:
    """Return the proposals of a served run that wait for a review. A process may serve it meanwhile.

    Raises `UsageError` for a run that is not served.
    """
    run = as_run(run)
    reader = LogReader(run.log_path)
    if not is_served(reader):
        raise UsageError(
            f"{run.id} is not served, so no client proposed anything to it. `mage-es serve {run.id}` serves it as "
            f"{run.id}-served: name that run."
        )
    state = state_of(run, reader)
    return ReviewReport(
        run_id=run.id,
        proposals=tuple(_waiting(reader, state)),
        untried=len(state.traffic.proposals("")),
        refused=tuple(refused(reader)),
    )


def _waiting(reader: LogReader, state: State) -> Iterator[Waiting]:
    settled = {each.memory_id: each for each in reader.of(v.ProposalSettled)}
    traffic = state.traffic
    verdicts = {each.memory_id: traffic.verdict(each.memory_id) for each in traffic.proposals("waiting", "approved")}
    texts = {text.id: str(text.question) for text in reader.questions()[0]} if verdicts else {}
    guarded = Guarded(reader.of(v.SplitCommitted) if verdicts else ())
    for record in reader.records({v.MemoryProposed}) if verdicts else ():
        event = record.event
        assert isinstance(event, v.MemoryProposed)
        # Of several keys that proposed it, each may have other letters in its question: those in use count.
        status = verdicts.get(event.memory_id)
        if not status or event.feedback != state.memory.row(event.memory_id).question_id:
            continue
        tried, likeness = settled[event.memory_id], guarded.likeness(texts_of(event))
        anchors = (
            NearAnchor(question=texts.get(trial.question_id, ""), **msgspec.structs.asdict(trial))
            for trial in tried.trials
        )
        yield Waiting(
            **shared(event, Waiting),
            status=status,
            proposed=datetime.fromtimestamp(record.ts_us / 1e6, UTC).isoformat(timespec="seconds"),
            marker=mark_of(tried.iteration),
            why=tried.reason,
            floor=tried.floor,
            anchors=tuple(anchors),
            leak=likeness.similarity,
            leak_split=likeness.split,
        )
