from mage_es.engine.briefs import NavigatorBrief, SkillStanding
from mage_es.engine.players.reference.authors import author_briefs


def standing(skill: str, right: int, wrong: int, **more: tuple[str, ...]) -> SkillStanding:
    return SkillStanding(
        skill=skill,
        description=f"To do {skill}.",
        mastery=0.0,
        right=right,
        wrong=wrong,
        prerequisites=more.get("needs", ()),
        task_types=more.get("types", ()),
    )


def test_untried_skills_come_first_then_those_with_most_wrong_answers() -> None:
    frontier = (standing("good", 9, 1), standing("bad", 1, 9), standing("new", 0, 0))
    reply = author_briefs(NavigatorBrief(iteration=1, frontier=frontier, mastered=()))
    assert [each.skill for each in reply.briefs] == ["new", "bad", "good"]


def test_a_brief_says_what_to_look_for_and_what_to_build_on() -> None:
    frontier = (standing("sums", 2, 3, needs=("counting", "reading"), types=("ages",)),)
    reply = author_briefs(NavigatorBrief(iteration=1, frontier=frontier, mastered=("counting",)))
    assert reply.briefs[0].brief == (
        "To do sums. Look for questions of the type ages. 3 of 5 answers were wrong. Build on counting."
    )
