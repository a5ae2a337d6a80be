"""Arms come and go with what they need, and each brings along what it is for."""

from collections import Counter

import msgspec
import numpy as np
import pytest
from pytest import approx

from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.config import Config
from mage_es.engine.rules.bandits import Choice
from mage_es.engine.rules.cascade import Cascade
from mage_es.engine.rules.choice import CHAIN_STEPS, Choosing, Chosen
from mage_es.engine.rules.retrieval import NEAREST, SEARCH_ARMS
from mage_es.engine.rules.routes import ROUTING_ARMS
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import ContextRole, Question, Traits
from tests.engine.rules.states import Built, setting_of
from tests.engine.rules.test_cascade import OFF

RIGHT, UP = np.array([1, 0], dtype=np.float32), np.array([0, 1], dtype=np.float32)


def asked(name: str = "q1", *, recipe: bool = False) -> Asked:
    question = Question(id=name, benchmark="", split="evolution", task_type="t", question=f"{name}?", gold="1")
    return Asked(question, "t", RIGHT, "fresh", UP if recipe else None)


def choosing(built: Built, setting: Setting, *, frozen: bool = False, **donors: Asked) -> Choosing:
    return Choosing(setting, built.state, PlanAnswers(3, "evaluate", [], frozen, donors))


def forced(built: Built, setting: Setting, *arms: str, question: Asked | None = None, **donors: Asked) -> Chosen:
    """Choose, frozen, after giving some arms by far the best posteriors of their keys."""
    for arm in (*SEARCH_ARMS, *ROUTING_ARMS):
        built.reward(arm, alpha=100 if arm in arms else 1, beta=1 if arm in arms else 100, pulls=100)
    chosen = choosing(built, setting, frozen=True, **donors).choose(question or asked(), "goal")
    assert {chosen.search.arm, chosen.routing.arm} >= set(arms)
    return chosen


def search_arms(built: Built, setting: Setting | None = None, *, question: Asked | None = None) -> list[str]:
    return list(choosing(built, setting or setting_of()).offered(question or asked(), "goal", list(SEARCH_ARMS)))


def routes(
    built: Built, setting: Setting | None = None, *, added: Cascade | None = None, name: str = "q1"
) -> list[str]:
    return choosing(built, setting or setting_of()).routes(asked(name), "goal", added or Cascade())


@pytest.mark.paper("section 3.2, routing bandit")
def test_a_route_is_offered_where_it_differs() -> None:
    built = Built()
    assert routes(built) == ["direct", "cot"]
    built.skill("b")
    built.skill("goal", needs=("b",))
    assert routes(built) == ["direct", "cot", "chain"]
    built.memory("rule", "principle")
    assert routes(built) == ["direct", "cot", "chain", "cot_principles"]
    assert routes(built, added=Cascade(principles=("rule",))) == ["direct", "cot", "chain"]
    assert routes(built, setting_of(principles=False)) == ["direct", "cot", "chain"]
    built.tool("failed", active=False)
    assert "tool" not in routes(built)
    built.tool()
    assert routes(built)[-1] == "tool"


@pytest.mark.paper("section 3.2, search bandit")
def test_a_search_arm_is_offered_where_it_gives_what_no_other_gives() -> None:
    built = Built()
    assert search_arms(built) == ["none"]
    built.memory("near", vector=(0.9, 0.4))
    assert search_arms(built) == ["none", "balanced"]
    built.memory("wrong", "failure_memory")
    assert search_arms(built) == ["none", "balanced", "success_only", "failure_only"]
    for twin in range(3):
        built.memory(f"twin {twin}", vector=(0.9, 0.4))
    built.memory("other", vector=(0.9, -0.5))
    assert search_arms(built) == ["none", "balanced", "success_only", "failure_only", "diverse"]
    built.skill("b")
    built.skill("goal", needs=("b",))
    assert "cascade" not in search_arms(built, setting_of(cascade_plan=False))
    built.memory("of-b", "principle", skill="b")
    assert search_arms(built, setting_of(cascade_plan=False))[-1] == "cascade"
    assert "cascade" not in search_arms(built, setting_of(**OFF))
    built.recipe(quotas=(2, 1))
    assert "recipe" not in search_arms(built)
    built.recipe("recipe2", quotas=(1, 0))
    assert search_arms(built)[-1] == "recipe"


def test_an_arm_that_alone_is_offered_is_certain_and_no_pull() -> None:
    built, setting = Built(), setting_of(warmup=1)
    chooser = choosing(built, setting)
    assert [chooser.choose(asked(f"q{i}"), "goal").search for i in range(3)] == [Choice("none", 1.0)] * 3


def test_no_question_sees_what_was_made_of_it() -> None:
    built = Built()
    built.skill("b")
    built.skill("goal", needs=("b",))
    built.memory("rule", "principle", skill="b")
    built.memory("own rule", "principle", skill="goal")
    built.actions("steps", "goal", "made")
    built.tool(questions=("q-rule", "q-own rule"))
    built.tool("newest", questions=("q-own rule",))
    assert {"cot_principles", "tool"} <= set(routes(built)) and "cascade" in search_arms(built)
    owner = asked("q-own rule")
    assert "cot_principles" not in routes(built, name="q-own rule")
    assert "tool" not in routes(built, name="q-own rule")
    assert {"cot_principles", "tool"} <= set(routes(built, setting_of(revisit_self="include"), name="q-own rule"))
    given = choosing(built, setting_of()).offered(owner, "goal", ["cascade"])["cascade"].cascade
    assert (given.principles, given.action_recipes) == (("rule",), ("steps",))
    given = choosing(built, setting_of()).offered(asked("q-rule"), "goal", ["cascade"])["cascade"].cascade
    assert given.principles == ()
    given = choosing(built, setting_of()).offered(asked("q-steps"), "goal", ["cascade"])["cascade"].cascade
    assert given.action_recipes == ()


def test_without_bandits_every_question_gets_the_default_arms() -> None:
    built, setting = Built(), setting_of(bandits=False)
    built.reward("none", alpha=100, beta=1, pulls=100)
    for frozen in (True, False):
        chosen = choosing(built, setting, frozen=frozen).choose(asked(), "goal")
        assert (chosen.search, chosen.routing) == (Choice("balanced", 1.0), Choice("cot", 1.0))


@pytest.mark.parametrize(("is_labelled", "route"), [(True, "direct"), (False, "cot")])
def test_by_default_every_question_gets_its_nearest_cases_and_the_route_of_its_kind(
    *, is_labelled: bool, route: str
) -> None:
    setting = Setting(Config(benchmark="wordmath"), (), (), (), ("t",), "", is_labelled=is_labelled)
    chosen = choosing(different(), setting).choose(asked(), "goal")
    assert (chosen.search, chosen.routing) == (Choice("nearest", 1.0), Choice(route, 1.0))
    found = [hit.memory_id for hit in (*chosen.bundle.success, *chosen.bundle.failure)]
    assert found == ["twin 2", "twin 1", "twin 0", "other", "wrong"]
    bare = choosing(different(), setting).bare()
    assert (bare.search, bare.routing) == (Choice("none", 1.0), Choice(route, 1.0))


def test_a_frozen_key_in_warmup_serves_the_default_arms() -> None:
    chosen = choosing(Built(), setting_of(), frozen=True).choose(asked(), "goal")
    # Without memories all search arms are one.
    assert (chosen.search, chosen.routing) == (Choice("none", 1.0), Choice("cot", 1.0))


def test_the_same_question_gets_the_same_choice_whatever_was_asked_besides_once_warmup_is_over() -> None:
    built, setting = Built(), setting_of(warmup=2)
    for arm in (*SEARCH_ARMS, *ROUTING_ARMS):
        built.reward(arm, alpha=3, beta=3, pulls=4)
    alone = choosing(built, setting).choose(asked("q9"), "goal")
    among = choosing(built, setting)
    assert [among.choose(asked(f"q{i}"), "goal") for i in range(10)][9] == alone


def different() -> Built:
    """Return a state on which every arm differs from the others, but for those that wait for a tool or a recipe."""
    built = Built()
    built.skill("b")
    built.skill("goal", needs=("b",))
    built.memory("of-goal", "principle")
    built.memory("of-b", "principle", skill="b")
    built.memory("wrong", "failure_memory")
    for twin in range(3):
        built.memory(f"twin {twin}", vector=(0.9, 0.4))
    built.memory("other", vector=(0.9, -0.5))
    return built


def test_arms_of_one_phase_are_drawn_as_often_as_their_logged_probabilities_add_up_to() -> None:
    """A key whose tool and recipe arrived a moment ago, with a warm-up of two pulls that the phase itself ends."""
    built, setting = different(), setting_of(warmup=2)
    built.tool()
    built.recipe(quotas=(1, 0))
    for arm in (*SEARCH_ARMS, *ROUTING_ARMS):
        if arm not in ("tool", "recipe"):
            built.reward(arm, alpha=6, beta=4, pulls=8)
    chooser = choosing(built, setting)
    drawn: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    for i in range(600):
        chosen = chooser.choose(asked(f"q{i:03d}", recipe=True), "goal")
        for choice in (chosen.search, chosen.routing):
            drawn[choice.arm] += 1
            expected[choice.arm] += 1 / choice.probability  # 600 in the mean for every arm that is always offered
    assert set(drawn) == {*SEARCH_ARMS, *ROUTING_ARMS} - {NEAREST}
    assert all(expected[arm] == approx(600, rel=0.35) for arm in expected), expected


def test_the_pulls_of_a_phase_end_the_warmup_within_it() -> None:
    built = different()
    for arm in ("direct", "cot", "chain"):
        built.reward(arm, alpha=5, beta=2, pulls=5)
    chooser = choosing(built, setting_of(warmup=5))
    logged = [chooser.choose(asked(f"q{i:02d}"), "goal").routing.probability for i in range(60)]
    assert logged[:5] == [approx(1 / 4)] * 5  # the fourth arm needs five pulls
    assert approx(1 / 4) not in logged[-5:]


@pytest.mark.paper("appendix, retrieval recipes")
@pytest.mark.parametrize("quotas", [(2, 1), (0, 3), (9, 9)])
def test_the_recipe_searches_with_its_own_vector_quotas_and_floor(quotas: tuple[int, int]) -> None:
    built = Built()
    for outcome in ("success_memory", "failure_memory"):
        for i in range(4):
            built.memory(f"up {outcome} {i}", outcome, vector=(0.1 * i, 1))
            built.memory(f"right {outcome} {i}", outcome, vector=(1, 0))
    built.recipe(quotas=quotas, least=0.9)
    chosen = forced(built, setting_of(), "recipe", question=asked(recipe=True))
    success = min(quotas[0], 3)
    assert chosen.recipe_id == "recipe1"
    assert [hit.memory_id for hit in chosen.bundle.success] == [f"up success_memory {i}" for i in range(success)]
    assert len(chosen.bundle.failure) == min(quotas[1], 3 - success)


def test_a_recipes_floor_leaves_out_what_is_too_far() -> None:
    built = Built()
    built.memory("near", vector=(0.1, 1))
    built.memory("far", vector=(1, 0.1))
    built.recipe(quotas=(3, 0), least=0.5)
    chosen = forced(built, setting_of(), "recipe", question=asked(recipe=True))
    assert [hit.memory_id for hit in chosen.bundle.success] == ["near"]


@pytest.mark.parametrize(
    ("role", "question", "context", "quotas"),
    [
        ("material", "long? " * 100, "", (2, 1)),
        ("material", "short?", "long. " * 100, (1, 2)),
        ("question", "long? " * 100, "", (1, 2)),
        ("question", "short?", "", (2, 1)),
        ("instruction", "short?", "long. " * 100, (2, 1)),
    ],
)
def test_the_length_that_decides_the_quotas_is_the_contexts_or_that_of_a_question_that_is_the_whole_prompt(
    role: ContextRole, question: str, context: str, quotas: tuple[int, int]
) -> None:
    built, setting = Built(), setting_of(bandits=False)._replace(traits=Traits(context_role=role))
    for outcome in ("success_memory", "failure_memory"):
        for i in range(4):
            built.memory(f"{outcome} {i}", outcome)
    length = msgspec.structs.replace(asked().question, question=question, context=context)
    bundle = choosing(built, setting).choose(asked()._replace(question=length), "goal").bundle
    assert (len(bundle.success), len(bundle.failure)) == quotas


def test_the_cascade_takes_the_memories_of_the_base_rule_and_adds_its_parts() -> None:
    built = Built()
    built.skill("b")
    built.skill("goal", needs=("b",))
    built.memory("of-b", "principle", skill="b")
    built.memory("near")
    chosen = forced(built, setting_of(), "cascade", "cot")
    assert [hit.memory_id for hit in chosen.bundle.success] == ["near"]
    assert (chosen.principles, chosen.cascade.planning) == (("of-b",), ("b", "goal"))


def test_the_route_with_principles_adds_the_skills_own_to_those_of_the_cascade() -> None:
    built = Built()
    built.skill("b")
    built.skill("goal", needs=("b",))
    built.memory("near")
    built.memory("of-goal", "principle")
    built.memory("of-b", "principle", skill="b")
    assert forced(built, setting_of(), "cascade", "cot_principles").principles == ("of-b", "of-goal")
    assert forced(built, setting_of(), "balanced", "cot_principles").principles == ("of-goal",)


@pytest.mark.paper("section 3.2, chain")
def test_a_chain_is_the_closure_with_the_nearest_prerequisites_kept() -> None:
    built = Built()
    names = [f"s{i:02d}" for i in range(20)]
    for before, name in zip([None, *names], names, strict=False):
        built.skill(name, needs=(before,) if before else ())
    built.skill("goal", needs=(names[-1],))
    chain = forced(built, setting_of(), "chain").chain
    assert chain == (*names[-(CHAIN_STEPS - 1) :], "goal")
    assert forced(built, setting_of(), "cot").chain == ()


def test_the_route_with_a_tool_names_it() -> None:
    built = Built()
    built.tool()
    assert forced(built, setting_of(), "tool").tool_id == "tool1"
    assert forced(built, setting_of(), "direct").tool_id == ""


def test_a_donor_gives_its_memories_but_none_made_of_it_and_none_that_the_question_has_itself() -> None:
    built = Built()
    built.memory("near", vector=(1, 0))
    built.memory("between", vector=(0.8, 0.6))
    built.memory("given", vector=(0.6, 0.8))
    built.memory("own", vector=(0, 1))
    donor = asked("q-own")._replace(vector=UP)
    plain = forced(built, setting_of(), "balanced")
    swapped = forced(built, setting_of(), "balanced", **{"q1": donor})
    assert [hit.memory_id for hit in plain.bundle.success] == ["near", "between"]
    assert [hit.memory_id for hit in swapped.bundle.success] == ["given"]
    served = choosing(built, setting_of(), frozen=True, **{"q1": donor}).choose_served(asked(), "goal")
    assert [hit.memory_id for hit in served.bundle.success] == ["given"]
