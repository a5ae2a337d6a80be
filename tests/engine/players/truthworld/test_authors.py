"""Every brief gets a useful reply about truthworld, from the solutions in it and nothing else."""

from __future__ import annotations

from typing import get_args

import msgspec
import pytest

from mage_es.engine.briefs import (
    AnyBrief,
    AuthoredPrinciple,
    FailureBrief,
    FailureReply,
    PrinciplesBrief,
    RefinementBrief,
    SplittingBrief,
    TypeStanding,
)
from mage_es.engine.players.truthworld import authors
from mage_es.engine.players.worlds.truthworld.claims import claims_in, is_true
from mage_es.engine.rules.prompt import render_guidance
from mage_es.engine.seams.model import Request
from mage_es.events.errors import UsageError

from .cases import WORLD, failures, of_type, solved

LAND = of_type("land")


def test_every_kind_of_brief_has_an_author() -> None:
    assert set(authors.AUTHORS) == set(get_args(AnyBrief))


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
