"""EVOLVE's calls to the guidance tier, one per assignment; new tools are tried on their own examples first."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from mage_es.engine.agents.skill_discovery import TEMPLATES, Assignment
from mage_es.engine.briefs import PrinciplesBrief, ToolsBrief, ToolsReply
from mage_es.engine.commands import Authored, CheckedTool, CheckedTools
from mage_es.engine.rules.tools import TOOLS_PER_TARGET, example_of, malformed
from mage_es.engine.sandbox.checking import check_tool
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.session.call import TypedCall
from mage_es.engine.session.guiding import Guided
from mage_es.engine.session.queueing import Caller
from mage_es.engine.session.session import Session


async def author_all(session: Session, iteration: int, assigned: Sequence[Assignment]) -> list[Authored]:
    """Return the results of all assignments, in order. None depends on another, so all are asked at once.

    Raises:
        Interrupted: The user asked to stop; calls in flight were finished first.
        PrerequisiteError: The guidance model or the sandbox is unavailable.
    """
    queue, done, failures = session.clients.queues.get("guidance"), 0, list[BaseException]()
    # An assignment without a brief makes no call, so no batch may wait for it.
    callers = [(TEMPLATES[type(each.brief)][0], each.task_type) if each.brief else None for each in assigned]
    if queue:
        # All at once, before the first call: one announced alone would be submitted as a batch of one.
        queue.add_callers(caller for caller in callers if caller)

    async def one(assignment: Assignment, caller: Caller | None) -> Authored:
        nonlocal done
        try:
            return await author(session, iteration, assignment)
        except BaseException as error:  # also a cancellation; the first in time is raised below
            failures.append(error)
            raise
        finally:
            # Also after an error, or the others would wait for a call that never comes.
            if queue and caller:
                queue.remove_caller(caller)
            done += 1
            what = f"{assignment.task_type}: {assignment.action}"
            session.report_progress(iteration, "evolve", done, len(assigned), what)

    # Errors are collected, not raised at once, so that calls in flight can finish and are recorded.
    results = await asyncio.gather(*map(one, assigned, callers), return_exceptions=True)
    # The first in time: errors after a failed commit only say that the log takes nothing more.
    if failures:
        raise failures[0]
    return [each for each in results if isinstance(each, Authored)]


async def author(at: Guided, iteration: int, assignment: Assignment) -> Authored:
    """Return the result of an assignment; a recorded reply is not asked for again. Raises what `author_all` raises."""
    task_type, action, brief, idle, cut = assignment
    if brief is None:
        return Authored(task_type, action, None, idle=idle)
    template, form = TEMPLATES[type(brief)]
    typed_call = TypedCall(iteration, "evolve", "SkillDiscovery", template, task_type, brief, cut)
    reply: Any
    reply, call = await at.guide(typed_call, form)
    if isinstance(reply, ToolsReply) and isinstance(brief, ToolsBrief):
        reply = check_tools(reply, brief)
    cases = brief.cases if isinstance(brief, PrinciplesBrief) else ()
    return Authored(task_type, action, reply, call, cases=tuple(case.question_id for case in cases))


def check_tools(reply: ToolsReply, brief: ToolsBrief) -> CheckedTools:
    """Return the tools of a reply, with the problems that running their own examples in the sandbox showed."""
    questions = {case.question_id for case in brief.cases} | {case.question_id for case in brief.solved}
    checked = []
    with closing(Sandbox()) as sandbox:
        for tool in reply.tools[:TOOLS_PER_TARGET]:
            examples = list(map(example_of, tool.examples))
            # The form first: a tool that breaks it need not be run.
            problem = malformed(tool, questions) or check_tool(sandbox, tool.source, examples)
            checked.append(CheckedTool(tool, problem))
    return CheckedTools(checked, reply.doubtful)
