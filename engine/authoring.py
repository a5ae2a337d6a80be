"""EVOLVE's errands: one assignment asked of the guidance tier; its tools are tried before they are written down."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from mage_es.engine.agents.briefs import ToolsBrief, ToolsReply
from mage_es.engine.agents.skill_discovery import TEMPLATES, Assignment
from mage_es.engine.batching import Attendee
from mage_es.engine.commands import Authored, CheckedTool, CheckedTools
from mage_es.engine.guiding import Errand
from mage_es.engine.rules.tools import TOOLS_PER_TARGET, malformed
from mage_es.engine.sandbox.checking import check_tool
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.session import Session
from mage_es.events.vocabulary import ToolExample


async def author_all(session: Session, iteration: int, assigned: Sequence[Assignment]) -> list[Authored]:
    """Return what came of all assignments, in their order. None depends on another, so all are asked at once.

    Raises:
        Interrupted: The user asked to stop; calls in flight were waited for.
        PrerequisiteError: The guidance model or the sandbox cannot be had.
    """
    gate, done = session.gates.get("guidance"), 0
    attendees = [(TEMPLATES[type(each.brief)][0], each.task_type) if each.brief else None for each in assigned]
    if gate:
        gate.expect(attendee for attendee in attendees if attendee)

    async def one(assignment: Assignment, attendee: Attendee | None) -> Authored:
        nonlocal done
        try:
            return await author(session, iteration, assignment)
        finally:
            if gate and attendee:
                gate.leave(attendee)
            done += 1
            what = f"{assignment.task_type}: {assignment.action}"
            session.note(iteration, "evolve", done, len(assigned), what)

    came = await asyncio.gather(*map(one, assigned, attendees), return_exceptions=True)
    for each in came:
        if isinstance(each, BaseException):
            raise each
    return [each for each in came if isinstance(each, Authored)]


async def author(session: Session, iteration: int, assignment: Assignment) -> Authored:
    """Return what came of an assignment; a reply that is on record is not asked for again.

    Raises:
        Interrupted: The user asked to stop.
        PrerequisiteError: The guidance model or the sandbox cannot be had.
    """
    task_type, action, brief, idle = assignment
    if brief is None:
        return Authored(task_type, action, None, idle=idle)
    template, form = TEMPLATES[type(brief)]
    errand = Errand(iteration, "evolve", "SkillDiscovery", template, task_type, brief)
    reply: Any
    reply, call = await session.guide(errand, form)
    if isinstance(reply, ToolsReply) and isinstance(brief, ToolsBrief):
        reply = check_tools(reply, brief)
    return Authored(task_type, action, reply, call)


def check_tools(reply: ToolsReply, brief: ToolsBrief) -> CheckedTools:
    """Run the tools of a reply on their own examples, in the sandbox."""
    questions = {case.question_id for case in brief.cases} | {case.question_id for case in brief.solved}
    checked = []
    with closing(Sandbox()) as sandbox:
        for tool in reply.tools[:TOOLS_PER_TARGET]:
            examples = [ToolExample(arguments=each.arguments, result=each.result) for each in tool.examples]
            problem = malformed(tool, questions) or check_tool(sandbox, tool.source, examples)
            checked.append(CheckedTool(tool, problem))
    return CheckedTools(checked)
