"""Every brief gets a useful reply about truthworld, from the solutions in it and nothing else."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from mage_es.engine.briefs import (
    AnyBrief,
    AuthoredPrinciple,
    BundleOutcome,
    FailureBrief,
    FailureReply,
    NavigatorBrief,
    OntologyBrief,
    PrinciplesBrief,
    RefinementBrief,
    RetrievalBrief,
    ShownMemory,
    SkillStanding,
    SplittingBrief,
    TypeStanding,
)
from mage_es.engine.players.truthworld import authors
from mage_es.engine.players.worlds.truthworld.claims import claims_in, is_true
from mage_es.engine.rules.prompt import render_guidance
from mage_es.engine.seams.model import Request
from mage_es.events.errors import UsageError

from .cases import WORLD, failures, of_type, samples, solved

LAND = of_type("land")


def test_every_kind_of_brief_has_an_author() -> None:
    assert set(authors.AUTHORS) == set(get_args(AnyBrief))


def test_the_ontology_has_a_skill_for_each_way_of_asking() -> None:
    reply = authors.author_ontology(OntologyBrief(benchmark="truthworld", task_types=samples(), skill_cap=30))
    by_name = {skill.name: skill for skill in reply.skills}
    kinds = {
        kind: {t.name for t in WORLD.task_types.values() if t.kind == kind} for kind in ("land", "alliance", "court")
    }
    assert set(by_name[authors.READ].resolves) == kinds["land"]
    assert set(by_name[authors.JOIN].resolves) == kinds["alliance"]
    assert set(by_name[authors.JUDGE].resolves) == kinds["court"]
    assert by_name[authors.JOIN].prerequisites == by_name[authors.JUDGE].prerequisites == (authors.READ,)


def test_the_frontier_is_ordered_by_how_much_goes_wrong() -> None:
    standings = tuple(
        SkillStanding(skill=name, mastery=0.0, right=1, wrong=wrong, prerequisites=(), task_types=("t",))
        for name, wrong in (("a", 1), ("b", 5))
    )
    reply = authors.author_navigation(NavigatorBrief(iteration=0, frontier=standings, mastered=()))
    assert [brief.skill for brief in reply.briefs] == ["b", "a"]


def failure_brief(cases: int, *, wants_strategy: bool = True, limit: int = 3) -> FailureBrief:
    return FailureBrief(
        task_type="t", skill="s", cases=failures(LAND[:cases]), wants_strategy=wants_strategy, limit=limit
    )


def test_failures_become_a_strategy_of_shared_rules_and_their_solutions() -> None:
    strategy, first, second = authors.author_failures(failure_brief(4, limit=2)).memories
    assert (strategy.kind, first.kind, second.kind) == ("type_strategy", "specific", "specific")
    stated = claims_in(strategy.reasoning)
    assert {claim.mark for claim in stated} == {c.mark for q in LAND[:4] for c in claims_in(q.solution)}
    assert first.reasoning == LAND[0].solution.rpartition("\n")[0]
    assert all(is_true(WORLD, claim) for claim in stated)


def test_one_failure_or_no_wish_makes_no_strategy() -> None:
    assert [m.kind for m in authors.author_failures(failure_brief(1)).memories] == ["specific"]
    assert {m.kind for m in authors.author_failures(failure_brief(4, wants_strategy=False)).memories} == {"specific"}


def test_a_poisoned_solution_becomes_a_poisoned_memory() -> None:
    cases = failures(of_type("land", solution="poisoned", count=1))
    brief = FailureBrief(task_type="t", skill="s", cases=cases, wants_strategy=False, limit=3)
    (memory,) = authors.author_failures(brief).memories
    assert not all(is_true(WORLD, claim) for claim in claims_in(memory.reasoning))


def test_principles_are_about_marks_that_no_principle_is_about_yet() -> None:
    def principles(*existing: str) -> tuple[AuthoredPrinciple, ...]:
        brief = PrinciplesBrief(task_type="t", skill="s", cases=failures(LAND), existing=existing, limit=2)
        return authors.author_principles(brief).principles

    first = principles()
    second = principles(*(each.do for each in first))
    assert len(first) == 2 and not set(first) & set(second)
    assert all(is_true(WORLD, claim) for each in (*first, *second) for claim in claims_in(each.do))
    assert all(len(each.cases) > 1 for each in first)


@pytest.mark.parametrize(("success", "quotas"), [(True, (2, 1)), (False, (1, 2))])
def test_a_recipe_leans_on_the_index_that_led_to_more_right_answers(success: bool, quotas: tuple[int, int]) -> None:
    outcomes = tuple(
        BundleOutcome(
            question_id=str(n),
            question="?",
            correct=leans == success,
            memories=tuple(
                ShownMemory(kind=kind, question="?", similarity=0.5)
                for kind in (("solved", "solved", "corrected") if leans else ("solved", "corrected", "strategy"))
            ),
        )
        for n, leans in enumerate([True, False] * 4)
    )
    brief = RetrievalBrief(task_type="t", skill="s", outcomes=outcomes, solved_pool=9, corrected_pool=9, bundle=3)
    recipe = authors.author_recipe(brief).recipe
    assert recipe is not None
    assert (recipe.success_quota, recipe.failure_quota) == quotas
    assert "{question}" in recipe.query_template


def test_a_refined_strategy_tells_the_agreed_rules_within_its_length() -> None:
    def refine(length: int) -> tuple[str, str]:
        brief = RefinementBrief(
            skill="s",
            description="",
            task_type="t",
            prompt_template="",
            strategy="",
            cases=failures(LAND[:2]),
            solved=solved(LAND[2:]),
            length=length,
        )
        reply = authors.author_refinement(brief)
        return reply.prompt_template, reply.strategy

    template, strategy = refine(1_000)
    assert template and all(is_true(WORLD, claim) for claim in claims_in(strategy))
    assert {c.mark for c in claims_in(strategy)} == {c.mark for q in LAND for c in claims_in(q.solution)}
    assert all(len(text) <= 60 for text in refine(60))


def splitting(*types: tuple[str, int, int], skills: tuple[str, ...] = ("s",), limit: int = 3) -> SplittingBrief:
    standings = tuple(
        TypeStanding(task_type=name, right=right, wrong=wrong, samples=solved(LAND)) for name, right, wrong in types
    )
    return SplittingBrief(skill="s", description="d", task_types=standings, parts=(), skills=skills, limit=limit)


def test_a_skill_is_split_by_task_type_the_worst_first() -> None:
    reply = authors.author_splitting(splitting(("t_a", 9, 1), ("t_b", 1, 9), ("t_c", 5, 5), limit=2))
    assert [(child.name, child.resolves) for child in reply.children] == [("s-b", ("t_b",)), ("s-c", ("t_c",))]
    assert all(claims_in(child.strategy) for child in reply.children)


def test_a_skill_with_one_task_type_or_with_children_for_the_rest_is_left_whole() -> None:
    assert authors.author_splitting(splitting(("t_a", 1, 9))).children == ()
    assert authors.author_splitting(splitting(("t_a", 1, 9), ("t_b", 1, 9), skills=("s", "s-a"))).children == ()


def test_a_brief_in_a_prompt_gets_its_reply_as_json() -> None:
    cases = failures(of_type("land", count=2))
    brief = FailureBrief(task_type="t", skill="s", cases=cases, wants_strategy=False, limit=1)
    prompt = render_guidance("failure_memories_v1", brief)
    done = authors.reply(Request(prompt=prompt.text))
    (memory,) = msgspec.json.decode(done, type=FailureReply).memories
    assert memory.question_id == cases[0].question_id


def test_a_prompt_without_a_brief_is_refused() -> None:
    with pytest.raises(UsageError, match="no fenced json block"):
        authors.reply(Request(prompt="What is 3 + 4?"))
