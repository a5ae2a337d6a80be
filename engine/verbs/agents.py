"""What each of the six agents did in a run: its model calls, the events it caused, and missing guidance."""

from collections import Counter
from collections.abc import Mapping

import msgspec

from mage_es.engine.rules.new_memories import CASE
from mage_es.engine.run.inheriting import last_inherited
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader


class MissingGuidance(msgspec.Struct, frozen=True, kw_only=True):
    """How many requests the guidance tier received, and how many it never fulfilled.

    `unreadable`: no reply had the requested form. `failed`: a call failed permanently, counted by kind of fault.
    """

    asked: int
    unreadable: int
    failed: dict[str, int]


class AgentActivity(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's model calls, and the events that it caused (`left`), counted by kind."""

    agent: str
    tier: str
    calls: int
    left: dict[str, int]


TIERS: Mapping[str, str] = {
    "SkillDiscovery": "guidance",
    "Navigator": "guidance",
    "Explorer": "execution",
    "Learner": "execution",
    "Critic": "rule, then judge",
    "Curator": "no model",
}
"""The six agents in the order of the paper's table, and what each of them thinks with in this run."""

_BY_TYPE: Mapping[type[v.Event], tuple[str, str]] = {
    v.SkillCreated: ("SkillDiscovery", "skills"),
    v.ToolAuthored: ("SkillDiscovery", "tools"),
    v.RetrievalRecipeAuthored: ("SkillDiscovery", "retrieval recipes"),
    v.SkillRefined: ("SkillDiscovery", "refinements"),
    v.IterationPlanned: ("Navigator", "plans"),
    v.ObservationRecorded: ("Explorer", "observations"),
    v.PatternAbstracted: ("Explorer", "patterns"),
    v.QuestionPlanned: ("Learner", "answers"),
    v.AnswerJudged: ("Critic", "verdicts"),
    v.MasteryUpdated: ("Curator", "mastery steps"),
    v.BanditUpdated: ("Curator", "rewards"),
    v.ActionRecipeHarvested: ("Curator", "action recipes"),
}
_CASES = "cases of missed questions and of anchors"
_BY_OUTCOME: Mapping[str, tuple[str, str]] = {
    "failure_memory": ("SkillDiscovery", "failure memories"),
    "principle": ("SkillDiscovery", "principles"),
    "success_memory": ("Curator", "success memories"),
}


def agent_activity(reader: LogReader) -> tuple[AgentActivity, ...]:
    calls: Counter[str] = Counter()
    left: dict[str, Counter[str]] = {agent: Counter() for agent in TIERS}
    reads: dict[type[v.Event], tuple[str, ...]] = dict.fromkeys(_BY_TYPE, ())
    reads |= {v.ModelCalled: ("agent",), v.MemoryAppended: ("outcome", "kind"), v.EpisodeClosed: ("purpose",)}
    for batches in reader.batches(reads, since=last_inherited(reader) + 1):
        for cls, batch in batches.items():
            if cls is v.ModelCalled:
                calls.update(batch.columns["agent"])
            elif cls is v.MemoryAppended:
                for outcome, kind in zip(batch.columns["outcome"], batch.columns["kind"], strict=True):
                    agent, what = ("Curator", _CASES) if kind == CASE else _BY_OUTCOME[outcome]
                    left[agent][what] += 1
            elif cls is v.EpisodeClosed:
                left["Explorer"]["episodes"] += sum(purpose == "explore" for purpose in batch.columns["purpose"])
            else:
                agent, what = _BY_TYPE[cls]
                left[agent][what] += len(batch.seqs)
    return tuple(
        AgentActivity(agent=agent, tier=tier, calls=calls[agent], left={k: n for k, n in left[agent].items() if n})
        for agent, tier in TIERS.items()
    )


def missing_guidance(reader: LogReader) -> MissingGuidance | None:
    """Return the requests that the guidance tier never fulfilled; None if it fulfilled all of them.

    A request that was repeated, after a repair or by a resumed process, counts once, by its outcome.
    """
    key = ("iteration", "tier", "purpose", "about")
    reads: dict[type[v.Event], tuple[str, ...]]
    reads = {
        v.ModelCalled: (*key, "attempt"),
        v.ReplyRejected: (*key, "attempt"),
        v.CallFailed: (*key, "fault", "final"),
    }
    replied: set[tuple[object, ...]] = set()
    rejected: set[tuple[object, ...]] = set()
    failed: dict[tuple[object, ...], str] = {}
    for _, event in reader.events(reads):
        assert isinstance(event, v.ModelCalled | v.ReplyRejected | v.CallFailed)
        request = (event.iteration, event.purpose, event.about)
        if event.tier != "guidance":
            continue
        if not isinstance(event, v.CallFailed):
            (replied if isinstance(event, v.ModelCalled) else rejected).add((*request, event.attempt))
        elif event.final:
            failed[request] = event.fault
    fulfilled = {each[:-1] for each in replied - rejected}
    faults = Counter(fault for request, fault in failed.items() if request not in fulfilled)
    unreadable = {each[:-1] for each in rejected} - fulfilled
    if not faults and not unreadable:
        return None
    asked = len({each[:-1] for each in replied} | set(failed))
    return MissingGuidance(asked=asked, unreadable=len(unreadable - set(failed)), failed=dict(sorted(faults.items())))
