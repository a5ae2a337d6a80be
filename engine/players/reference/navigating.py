"""Exploration briefs: what to look for in each skill of the frontier, the skills with most wrong answers first."""

from __future__ import annotations

from mage_es.engine.briefs import ExplorationBrief, NavigatorBrief, NavigatorReply, SkillStanding


def author_briefs(brief: NavigatorBrief) -> NavigatorReply:
    """In order of the share of wrong answers, untried skills first."""
    ordered = sorted(brief.frontier, key=lambda tally: (-_share_wrong(tally), tally.skill))
    return NavigatorReply(
        briefs=tuple(ExplorationBrief(skill=tally.skill, brief=_brief(tally, brief.mastered)) for tally in ordered)
    )


def _share_wrong(tally: SkillStanding) -> float:
    answered = tally.right + tally.wrong
    return tally.wrong / answered if answered else 1.0


def _brief(tally: SkillStanding, mastered: tuple[str, ...]) -> str:
    sentences = [tally.description.rstrip(".")] if tally.description else []
    if tally.task_types:
        sentences.append(f"Look for questions of the type {' or '.join(tally.task_types)}")
    answered = tally.right + tally.wrong
    sentences.append(f"{tally.wrong} of {answered} answers were wrong" if answered else "Nothing was tried yet")
    known = [skill for skill in tally.prerequisites if skill in mastered]
    if known:
        sentences.append(f"Build on {', '.join(known)}")
    return ". ".join(sentences) + "."
