"""What each agent did is what the log says."""

from collections import Counter

from mage_es.engine.run.directory import Run
from mage_es.engine.verbs.agents import TIERS, agent_activity
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, BanditUpdated, MemoryAppended, ModelCalled


def test_every_call_and_every_fact_is_counted_for_the_agent_that_it_is_from(small_run: Run) -> None:
    reader = LogReader(small_run.log_path)
    rows = {row.agent: row for row in agent_activity(reader)}
    assert list(rows) == list(TIERS)
    events = [record.event for record in reader.records()]
    calls = Counter(event.agent for event in events if isinstance(event, ModelCalled))
    assert {agent: row.calls for agent, row in rows.items()} == {agent: calls[agent] for agent in TIERS}
    outcomes = Counter(event.outcome for event in events if isinstance(event, MemoryAppended))
    assert rows["SkillDiscovery"].left["failure memories"] == outcomes["failure_memory"]
    assert rows["Curator"].left["success memories"] == outcomes["success_memory"]
    assert rows["Critic"].left["verdicts"] == sum(isinstance(event, AnswerJudged) for event in events)
    assert rows["Curator"].left["rewards"] == sum(isinstance(event, BanditUpdated) for event in events)
    assert rows["Explorer"].left == {}  # a benchmark of questions has nothing to explore
