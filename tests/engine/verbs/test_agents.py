"""What each agent did is what the log says."""

from collections import Counter
from pathlib import Path

import msgspec

from mage_es.engine.rules.new_memories import CASE
from mage_es.engine.run.directory import Run
from mage_es.engine.verbs.agents import TIERS, agent_activity
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, BanditUpdated, MemoryAppended, ModelCalled
from tests.engine.conftest import SMALL, begin


def test_every_call_and_every_fact_is_counted_for_the_agent_that_it_is_from(small_run: Run) -> None:
    reader = LogReader(small_run.log_path)
    rows = {row.agent: row for row in agent_activity(reader)}
    assert list(rows) == list(TIERS)
    events = [record.event for record in reader.records()]
    calls = Counter(event.agent for event in events if isinstance(event, ModelCalled))
    assert {agent: row.calls for agent, row in rows.items()} == {agent: calls[agent] for agent in TIERS}
    made = Counter((event.outcome, event.kind == CASE) for event in events if isinstance(event, MemoryAppended))
    assert rows["SkillDiscovery"].left["failure memories"] == made["failure_memory", False]
    assert rows["Curator"].left["success memories"] == made["success_memory", False]
    assert rows["Critic"].left["verdicts"] == sum(isinstance(event, AnswerJudged) for event in events)
    assert rows["Curator"].left["rewards"] == sum(isinstance(event, BanditUpdated) for event in events)
    assert rows["Explorer"].left == {}  # a benchmark of questions has nothing to explore


def test_a_case_is_counted_for_the_agent_that_keeps_it_and_not_for_guidance_which_wrote_none(tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, cases=True, iterations=1)
    reader = LogReader(begin(tmp_path, config, run_id="cases").log_path)
    cases = [event for event in reader.of(MemoryAppended) if event.kind == CASE]
    rows = {row.agent: row for row in agent_activity(reader)}
    assert rows["Curator"].left["cases of missed questions and of anchors"] == len(cases) > 0
    others = [event for event in reader.of(MemoryAppended) if event.outcome == "failure_memory" and event not in cases]
    assert rows["SkillDiscovery"].left.get("failure memories", 0) == len(others)
