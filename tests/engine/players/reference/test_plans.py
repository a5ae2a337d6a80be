"""What the reference tier writes about plans of actions."""

from mage_es.engine.briefs import (
    AuthoredPrinciple,
    Case,
    FailureBrief,
    FailureCase,
    OntologyBrief,
    PrinciplesBrief,
    TaskTypeSample,
)
from mage_es.engine.players.reference.authors import author_failures, author_principles
from mage_es.engine.players.reference.ontology import author_ontology
from mage_es.engine.players.reference.plans import plan_principles, planned_types, read_plan

SAND, FORGE, SAW = "collect sand: You collect sand.", "build forge: You build the forge.", "make saw: You make the saw."
IRON = "collect iron: You collect iron with the saw."


def case(name: str, *lines: str, question: str = "In the north, make it.") -> FailureCase:
    return FailureCase(
        question_id=name,
        question=question,
        context="",
        wrong_answer="nothing",
        wrong_reasoning="",
        answer="it",
        solution="\n".join(lines),
    )


def sample(name: str, *plans: tuple[str, ...]) -> TaskTypeSample:
    solved = tuple(
        Case(question_id=f"{name}-{n}", question="Make it.", solution="\n".join(plan)) for n, plan in enumerate(plans)
    )
    return TaskTypeSample(task_type=name, samples=solved)


def brief(*cases: FailureCase, limit: int = 3, wants_strategy: bool = True) -> FailureBrief:
    return FailureBrief(task_type="north_saws", skill="s", cases=cases, wants_strategy=wants_strategy, limit=limit)


def test_a_plan_is_lines_of_actions_and_equations_are_none() -> None:
    assert read_plan(f"{SAND}\n\n{FORGE}\n") == [SAND, FORGE]
    assert read_plan("In all: 3 + 4 = 7\n#### 7") == []
    assert read_plan("collect sand: 3 + 4 = 7") == []
    assert read_plan("") == []


def test_types_build_on_those_whose_lines_they_have() -> None:
    types = [sample("c", (SAND, FORGE, SAW, IRON)), sample("a", (SAND,)), sample("b", (SAND, FORGE))]
    types.append(sample("other", ("collect clay: You collect clay.", "go to lake: You walk.")))
    skills = {
        skill.name: skill
        for skill in author_ontology(OntologyBrief(benchmark="x", task_types=tuple(types), skill_cap=30)).skills
    }
    assert [planned.name for planned in planned_types(types)] == ["a", "b", "other", "c"]
    assert skills["a"].prerequisites == () and skills["b"].prerequisites == ("a",)
    assert skills["c"].prerequisites == ("b",) and skills["other"].prerequisites == ()
    assert all(skills[name].resolves == (name,) for name in ("a", "b", "c", "other"))
    assert skills["general"].resolves == ()


def test_no_more_skills_are_named_than_the_cap() -> None:
    types = tuple(sample(f"t{n}", (f"collect x{n}: Got x{n}.",) * (n + 1)) for n in range(9))
    reply = author_ontology(OntologyBrief(benchmark="x", task_types=types, skill_cap=4))
    assert len(reply.skills) == 4
    assert sorted(name for skill in reply.skills for name in skill.resolves) == sorted(t.task_type for t in types)


def test_a_failure_is_corrected_by_the_plan_word_for_word() -> None:
    reply = author_failures(brief(case("q1", SAND, FORGE), wants_strategy=False))
    assert [(m.kind, m.reasoning) for m in reply.memories] == [("specific", f"{SAND}\n{FORGE}")]


def test_principles_are_the_commonest_lines_that_are_not_there_yet() -> None:
    cases = (case("q1", SAND, FORGE, SAW), case("q2", SAND, SAW), case("q3", SAND, FORGE, IRON))
    first = AuthoredPrinciple(do="`collect sand`: You collect sand.", cases=("q1", "q2", "q3"))
    assert plan_principles(cases, [])[0] == first
    existing = ("`collect sand`: You collect sand.",)
    wanted = PrinciplesBrief(task_type="t", skill="s", cases=cases, existing=existing, limit=2)
    assert author_principles(wanted).principles == (
        AuthoredPrinciple(do="`build forge`: You build the forge.", cases=("q1", "q3")),
        AuthoredPrinciple(do="`make saw`: You make the saw.", cases=("q1", "q2")),
    )
