"""Exploration briefs by rule: the skills that most answers went wrong with first, each with what to look for."""

from __future__ import annotations

from mage_es.engine.agents.briefs import ExplorationBrief, NavigatorBrief, NavigatorReply, SkillStanding


def author_briefs(brief: NavigatorBrief) -> NavigatorReply:
    """Return the frontier by share of wrong answers, and a brief for each skill of it; untried skills come first."""
    ordered = sorted(brief.frontier, key=lambda standing: (-_wrong(standing), standing.skill))
    return NavigatorReply(
        briefs=tuple(
            ExplorationBrief(skill=standing.skill, brief=_brief(standing, brief.mastered)) for standing in ordered
        )
    )


def _wrong(standing: SkillStanding) -> float:
    answered = standing.right + standing.wrong
    return standing.wrong / answered if answered else 1.0


def _brief(standing: SkillStanding, mastered: tuple[str, ...]) -> str:
    sentences = [standing.description.rstrip(".")] if standing.description else []
    if standing.task_types:
        sentences.append(f"Look for questions of the type {' or '.join(standing.task_types)}")
    answered = standing.right + standing.wrong
    sentences.append(f"{standing.wrong} of {answered} answers were wrong" if answered else "Nothing was tried yet")
    known = [skill for skill in standing.prerequisites if skill in mastered]
    if known:
        sentences.append(f"Build on {', '.join(known)}")
    return ". ".join(sentences) + "."
