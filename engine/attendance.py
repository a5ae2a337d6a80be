"""What each of the six agents did in a run: the calls that it made, and what it left in the log.

Besides that, what their guidance tier was asked for and never gave.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mage_es.engine.guiding import MOST_REPAIRS
from mage_es.engine.reports import AgentRow, Unguided
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import (
    ActionRecipeHarvested,
    AnswerJudged,
    BanditUpdated,
    CallFailed,
    EpisodeClosed,
    Event,
    IterationPlanned,
    MasteryUpdated,
    MemoryAppended,
    ModelCalled,
    ObservationRecorded,
    PatternAbstracted,
    QuestionPlanned,
    ReplyRejected,
    RetrievalRecipeAuthored,
    SkillCreated,
    SkillRefined,
    ToolAuthored,
)

TIERS: Mapping[str, str] = {
    "SkillDiscovery": "guidance",
    "Navigator": "guidance",
    "Explorer": "execution",
    "Learner": "execution",
    "Critic": "rule, then judge",
    "Curator": "no model",
}
"""The six agents in the order of the paper's table, and what each of them thinks with here."""

_BY_TYPE: Mapping[type[Event], tuple[str, str]] = {
    SkillCreated: ("SkillDiscovery", "skills"),
    ToolAuthored: ("SkillDiscovery", "tools"),
    RetrievalRecipeAuthored: ("SkillDiscovery", "retrieval recipes"),
    SkillRefined: ("SkillDiscovery", "refinements"),
    IterationPlanned: ("Navigator", "plans"),
    ObservationRecorded: ("Explorer", "observations"),
    PatternAbstracted: ("Explorer", "patterns"),
    QuestionPlanned: ("Learner", "answers"),
    AnswerJudged: ("Critic", "verdicts"),
    MasteryUpdated: ("Curator", "mastery steps"),
    BanditUpdated: ("Curator", "rewards"),
    ActionRecipeHarvested: ("Curator", "action recipes"),
}
_BY_OUTCOME: Mapping[str, tuple[str, str]] = {
    "failure_memory": ("SkillDiscovery", "failure memories"),
    "principle": ("SkillDiscovery", "principles"),
    "success_memory": ("Curator", "success memories"),
}


def attendance(reader: LogReader) -> tuple[AgentRow, ...]:
    """Return one row for each of the six agents, in the order of the paper's table."""
    calls: Counter[str] = Counter()
    left: dict[str, Counter[str]] = {agent: Counter() for agent in TIERS}
    reads: dict[type[Event], tuple[str, ...]] = dict.fromkeys(_BY_TYPE, ())
    reads |= {ModelCalled: ("agent",), MemoryAppended: ("outcome",), EpisodeClosed: ("purpose",)}
    for batches in reader.batches(reads):
        for cls, batch in batches.items():
            if cls is ModelCalled:
                calls.update(batch.columns["agent"])
            elif cls is MemoryAppended:
                for agent, what in (_BY_OUTCOME[outcome] for outcome in batch.columns["outcome"]):
                    left[agent][what] += 1
            elif cls is EpisodeClosed:
                left["Explorer"]["episodes"] += sum(purpose == "explore" for purpose in batch.columns["purpose"])
            else:
                agent, what = _BY_TYPE[cls]
                left[agent][what] += len(batch.seqs)
    return tuple(
        AgentRow(agent=agent, tier=tier, calls=calls[agent], left={k: n for k, n in left[agent].items() if n})
        for agent, tier in TIERS.items()
    )


def unguided(reader: LogReader) -> Unguided | None:
    """Return what the guidance tier was asked for in vain; None where it gave everything in the end.

    What was asked for a second time, after a repair or by a process that went on, counts as it ended.
    """
    key = ("iteration", "tier", "purpose", "about")
    reads: dict[type[Event], tuple[str, ...]]
    reads = {ModelCalled: (*key, "attempt"), ReplyRejected: (*key, "attempt"), CallFailed: (*key, "fault", "final")}
    replied: set[tuple[object, ...]] = set()
    rejected: set[tuple[object, ...]] = set()
    failed: dict[tuple[object, ...], str] = {}
    for _, event in reader.events(reads):
        assert isinstance(event, ModelCalled | ReplyRejected | CallFailed)
        errand = (event.iteration, event.purpose, event.about)
        if event.tier != "guidance":
            continue
        match event:
            case ModelCalled(attempt=attempt):
                replied.add((*errand, attempt))
            case ReplyRejected(attempt=attempt):
                rejected.add((*errand, attempt))
            case CallFailed(fault=fault, final=True):
                failed[errand] = fault
    given = {each[:-1] for each in replied - rejected}
    faults = Counter(fault for errand, fault in failed.items() if errand not in given)
    in_vain = {each[:-1] for each in rejected if each[-1] == MOST_REPAIRS}
    if not faults and not in_vain:
        return None
    asked = len({each[:-1] for each in replied} | set(failed))
    return Unguided(asked=asked, unreadable=len(in_vain - set(failed)), failed=dict(sorted(faults.items())))
