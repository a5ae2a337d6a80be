"""What guidance is asked for follows from what the run's prompts and choices read."""

from typing import Any

import pytest

from mage_es.engine.config import Config, configured
from mage_es.engine.rules.rotation import (
    AUTHOR_RECIPES,
    AUTHOR_TOOLS,
    EXTRACT_PRINCIPLES,
    REFINE_PROMPTS,
    SPLIT_SKILLS,
    WRITE_FAILURES,
)
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.writings import BRIEFS, CORRECTIONS, ONTOLOGY, STRATEGIES, why_unwritten, writings

CHOSEN = {EXTRACT_PRINCIPLES, AUTHOR_TOOLS, AUTHOR_RECIPES}
EVERYTHING = {ONTOLOGY, BRIEFS, WRITE_FAILURES, CORRECTIONS, STRATEGIES, REFINE_PROMPTS, SPLIT_SKILLS, *CHOSEN}


def written(config: Config, *, types: int = 2, **facts: Any) -> set[str]:
    return set(writings(Setting(config, (), (), (), ("t",), "", **facts), types=types))


def with_defaults(**changes: Any) -> Config:
    return Config(benchmark="b", **changes)


def test_where_answers_are_worked_out_guidance_corrects_and_splits() -> None:
    assert written(with_defaults()) == {ONTOLOGY, WRITE_FAILURES, CORRECTIONS, SPLIT_SKILLS}


def test_for_labels_of_one_type_nothing_is_written() -> None:
    assert written(with_defaults(), types=1, is_labelled=True) == set()


def test_strategies_are_seen_on_each_route() -> None:
    labels = written(with_defaults(strategies=True), is_labelled=True)
    assert labels == {ONTOLOGY, WRITE_FAILURES, STRATEGIES, SPLIT_SKILLS}


@pytest.mark.parametrize(
    "changes",
    [
        {"cases": False},
        {"teacher_sees": "errors"},
        {"form": "sections"},
        {"form": "worked"},
        {"route": "cot"},
        {"bandits": True},
    ],
)
def test_corrections_of_labels_are_written_where_their_reasoning_or_their_answer_is_seen(changes: Any) -> None:
    assert CORRECTIONS in written(with_defaults(**changes), is_labelled=True)


def test_briefs_are_written_where_the_explorer_plays() -> None:
    assert BRIEFS in written(with_defaults(), has_episodes=True)
    assert BRIEFS not in written(with_defaults(explore_episodes=0), has_episodes=True)
    assert CORRECTIONS in written(with_defaults(), has_episodes=True, is_labelled=True)


def test_what_is_on_and_not_asked_for_has_another_reason_than_a_switch() -> None:
    for action, switch in ((EXTRACT_PRINCIPLES, "principles"), (WRITE_FAILURES, "failure_memories")):
        assert why_unwritten(with_defaults(**{switch: False}), action) == "switched off"
    assert why_unwritten(with_defaults(), EXTRACT_PRINCIPLES) == "not used without --bandits"
    assert "kept as a case" in why_unwritten(with_defaults(), WRITE_FAILURES)
    assert why_unwritten(with_defaults(), REFINE_PROMPTS) == "switched off"
    assert "one task type" in why_unwritten(with_defaults(), SPLIT_SKILLS)


def test_what_arms_read_is_written_for_bandits() -> None:
    assert not written(with_defaults()) & CHOSEN
    assert written(with_defaults(bandits=True), types=1) >= {ONTOLOGY, *CHOSEN}


@pytest.mark.paper("appendix, call audit")
def test_the_papers_preset_makes_every_call() -> None:
    assert written(configured("paper", benchmark="b"), is_labelled=True) == EVERYTHING


def test_without_failure_memories_there_is_no_strategy_either() -> None:
    assert not written(with_defaults(failure_memories=False, strategies=True)) & {WRITE_FAILURES, STRATEGIES}
