"""The Explorer: which tasks it takes, and what it writes about their episodes."""

from collections import Counter
from collections.abc import Sequence

import pytest

from mage_es.engine.agents.explorer import choose_tasks, learn_from_episodes
from mage_es.engine.commands import Explored, LearnFromEpisodes
from mage_es.engine.config import Config
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question
from mage_es.events import vocabulary as v
from tests.engine.rules.episodes import stepped
from tests.engine.rules.states import Built, setting_of

NAMES = tuple(f"q{number}" for number in range(1, 9))
TYPES = {name: "t" if number % 4 == 0 else "u" for number, name in enumerate(NAMES)}


def setting(episodes: int = 3, seed: int = 1) -> Setting:
    config = Config(benchmark="workshop", seed=seed, explore_episodes=episodes)
    return Setting(config, NAMES, ("anchor",), ("held-out",), ("t", "u"), "")


def planned(*frontier: str) -> Built:
    built = Built()
    built.state.apply(
        v.IterationPlanned(iteration=0, frontier=frontier, brief="", epoch=0, fresh=(), revisits=(), repeats=())
    )
    return built


def test_tasks_of_the_frontiers_types_come_first_and_only_evolution_tasks_at_all() -> None:
    chosen = choose_tasks(setting(4), planned("goal").state, 0, TYPES)
    assert [TYPES[name] for name in chosen[:2]] == ["t", "t"] and len(chosen) == 4
    assert set(chosen) <= set(NAMES)


def test_the_choice_follows_seed_and_iteration_only() -> None:
    state = planned("goal").state
    assert choose_tasks(setting(), state, 0, TYPES) == choose_tasks(setting(), state, 0, TYPES)
    assert len({tuple(choose_tasks(setting(8, seed), state, k, TYPES)) for seed in (1, 2) for k in (0, 1)}) == 4


def test_no_more_is_explored_than_there_is() -> None:
    assert sorted(choose_tasks(setting(99), planned().state, 0, TYPES)) == sorted(NAMES)
    assert choose_tasks(setting(0), planned().state, 0, TYPES) == []


def explored(built: Built, name: str, *, relations: Sequence[tuple[str, str, str]] = ()) -> Explored:
    """Put an episode into the state: it walks, then achieves `won`; `ore` and `hill` are seen."""
    judged = v.AnswerJudged(
        iteration=0, purpose="explore", question_id=name, task_type="t", skill="goal", answer="won",
        score_micro=1_000_000, correct=True, strict=True, judge="rule",
    )  # fmt: skip
    built.state.apply(judged)
    for step in (stepped(1, "walk"), stepped(2, "work", "won", effect="You won.")):
        built.state.apply(type(step)(**{f: getattr(step, f) for f in step.__struct_fields__} | {"episode_id": name}))
    question = Question(
        id=name, benchmark="workshop", split="evolution", task_type="t", question=f"Win {name}.", gold="won"
    )
    return Explored(question, [("ore", "material"), ("hill", "place")], relations)


def learned(built: Built, *items: Explored, iteration: int = 0) -> list[v.Draft]:
    drafts = learn_from_episodes(setting_of(), built.state, LearnFromEpisodes(iteration, items))
    for draft in drafts:
        built.state.apply(draft.event)
    return drafts


def kinds(drafts: Sequence[v.Draft]) -> Counter[str]:
    return Counter(type(draft.event).__name__ for draft in drafts)


def test_an_episode_gives_context_entities_relations_observation_pattern_and_recipe() -> None:
    built = Built()
    found = learned(built, explored(built, "q1", relations=[("ore", "found at", "hill")]))
    assert kinds(found) == {
        "TaskContextOpened": 1,
        "EntitySeen": 2,
        "ObservationRecorded": 1,
        "EdgeAdded": 4,
        "PatternAbstracted": 1,
        "ActionRecipeHarvested": 1,
        "PhaseCompleted": 1,
    }
    graph = built.state.graph
    assert graph.related("entity/ore") == [("found at", "entity/hill")]
    assert graph.observed_in("entity/ore") == ["context/q1"]
    assert graph.description("context/q1") == "Win q1."
    assert built.state.recipes.actions("goal")[0].actions == ("walk", "work")
    assert [row.text for row in built.state.patterns.of("t")] == ["`won`: You won."]


def test_what_the_graph_has_already_is_not_written_again() -> None:
    built = Built()
    item = explored(built, "q1", relations=[("ore", "found at", "hill")])
    learned(built, item)
    again = learned(built, item, iteration=1)
    assert kinds(again) == {"PatternSupported": 1, "PhaseCompleted": 1}


def test_what_two_episodes_share_is_written_once() -> None:
    built = Built()
    relation = [("ore", "found at", "hill")]
    items = [explored(built, name, relations=relation) for name in ("q2", "q1")]
    found = learned(built, *items)
    events = [draft.event for draft in found]
    assert kinds(found)["EntitySeen"] == 2 and kinds(found)["TaskContextOpened"] == 2
    assert sum(isinstance(event, v.EdgeAdded) and event.kind == "relation" for event in events) == 1
    assert [event.context_id for event in events if isinstance(event, v.TaskContextOpened)] == ["q1", "q2"]


def test_the_order_in_which_episodes_were_played_changes_nothing() -> None:
    first, second = Built(), Built()
    one = learned(first, *[explored(first, name) for name in ("q1", "q2")])
    other = learned(second, *[explored(second, name) for name in ("q2", "q1")])
    assert one == other


def test_the_phase_mark_comes_last_and_ordinals_tell_facts_apart() -> None:
    built = Built()
    found = learned(built, explored(built, "q1"))
    assert isinstance(found[-1].event, v.PhaseCompleted)
    assert len({(type(d.event), d.event.subject, d.ordinal) for d in found}) == len(found)
    assert {d.phase for d in found} == {"explore"}


@pytest.mark.parametrize("wanted", [v.EntitySeen, v.ObservationRecorded, v.PatternAbstracted, v.ActionRecipeHarvested])
def test_nothing_is_learned_from_no_episode(wanted: type) -> None:
    assert not any(isinstance(draft.event, wanted) for draft in learned(Built()))
