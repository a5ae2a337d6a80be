"""The sums that an overview shows: of whole iterations, of what prompts can show, each pull once."""

from collections import Counter

from mage_es.engine.run.directory import Run
from mage_es.engine.run.world import state_of
from mage_es.engine.upkeep.memory import curate
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.life import Life
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import BanditUpdated
from tests.engine.viewing.conftest import valid_in
from tests.engine.viewing.test_chunks import index_of, table
from tests.engine.viewing.test_life import lived, records
from tests.kit.stages import Stage

_BETA = {"alpha_before": 1, "beta_before": 1, "alpha_after": 1, "beta_after": 1}


def test_the_headline_and_the_guard_are_those_of_the_last_closed_iteration_and_an_open_one_is_apart(
    interrupted: Run,
) -> None:
    reader = LogReader(interrupted.log_path)
    state, viewed = state_of(interrupted, reader), Viewed(interrupted)
    scores, closed = state.scores, state.progress.closed
    last = table(viewed, "overview")[-1]
    assert (last["closed"], last["guard"]) == (closed, scores.verdict(closed)) and closed == 0
    assert (last["anchor_correct"], last["anchor_total"]) == scores.score("anchor", closed)
    assert (last["fresh_correct"], last["fresh_total"]) == scores.score("fresh", closed)
    partial = scores.score("anchor", closed + 1)
    assert (last["open_iteration"], last["open_correct"], last["open_total"]) == (closed + 1, *partial)
    assert 0 < partial.total < last["anchor_total"]
    assert index_of(viewed)["anchors"][-1][1] == round(last["anchor_correct"] / last["anchor_total"], 4)
    whole = [row for row in table(viewed, "overview") if row["marker"] in ("start", "iter-0")]
    assert [row["open_iteration"] for row in whole] == [None, None]


def test_memories_in_use_are_those_that_prompts_can_show(copied: Run) -> None:
    before = table(Viewed(copied), "overview")[-1]
    name = next(row["id"] for row in table(Viewed(copied), "memories"))
    curate(copied, name, action="quarantine", reason="doubtful", by="me")
    viewed = Viewed(copied)
    after = table(viewed, "overview")[-1]
    shown = Counter(row["status"] for row in table(viewed, "memory_states") if row["to"] is None)
    assert (after["memories"], after["quarantined"]) == (shown["active"], 1)
    assert (before["memories"] - after["memories"], before["stored"] - after["stored"]) == (1, 0)
    assert after["stored"] == shown.total()


def test_a_pull_is_counted_once_though_a_split_skill_begins_with_those_of_its_parent() -> None:
    events = [
        BanditUpdated(bandit="routing", key=key, arm="cot", question_id=key, reward_micro=0, pulls_after=pulls, **_BETA)
        for key, pulls in (
            ("a", 1),
            ("a", 2),
            ("a", 3),
            ("a-1", 2),
            ("a-2", 2),
        )  # two of the three, discounted, and one
    ]
    life = lived(records([Stage(0, "update", tuple(events))]), Life())
    rows = valid_in(life.counted.bandits, life.seq)
    assert {row["key"]: (row["pulls"], row["own"]) for row in rows} == {"a": (3, 3), "a-1": (2, 1), "a-2": (2, 1)}
    assert sum(row["own"] for row in rows) == len(events)
