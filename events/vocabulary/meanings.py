"""What the fields of events mean, for exports and other programs: the docstrings under them, read from the source."""

from __future__ import annotations

import ast
import functools
import inspect
from itertools import pairwise

from mage_es.events.vocabulary.form import Event, Part

# Fields that many types have, with one meaning. A docstring under a field goes before this.
COMMON = {
    "about": "What the call was about, such as a question id.",
    "achievements": "What was achieved.",
    "action": "Action that was taken.",
    "agent": "Agent that asked.",
    "alpha_after": "Alpha of the arm's Beta posterior after the reward, in millionths.",
    "alpha_before": "Alpha of the arm's Beta posterior before the reward, in millionths.",
    "arguments": "Arguments of the tool, a JSON object.",
    "attempt": "Number of the attempt.",
    "beta_after": "Beta of the arm's Beta posterior after the reward, in millionths.",
    "beta_before": "Beta of the arm's Beta posterior before the reward, in millionths.",
    "confidence_micro": "(successes + 1) / (successes + failures + 2) of the trajectories that show it, in millionths.",
    "config": "Configuration, as canonical JSON.",
    "context_id": "Id of the task context.",
    "description": "Description in words.",
    "digests": "Digest of each projection.",
    "entity_id": "Id of the entity.",
    "episode_id": "Id of the episode.",
    "failures": "Wrong answers counted.",
    "inference": "Id of the inference.",
    "iteration": "Iteration that the event belongs to; -1 is the opening.",
    "iterations": "Number of iterations.",
    "kind": "Kind of the node or edge.",
    "latency_us": "Time that the call took, in microseconds; information only.",
    "memory_id": "Id of the memory.",
    "model": "Model that was asked.",
    "name": "Its name.",
    "ordinal": "Place of the memory within its phase: the last part of its birth.",
    "package_version": "Release of mage-es that recorded it.",
    "origin": "Where it comes from.",
    "phase": "Phase in which it happened.",
    "problem": "What was wrong; empty if nothing was.",
    "prompt_template": "Template of the skill's prompt.",
    "prompt_template_before": "The template before.",
    "purpose": "Why the question was asked.",
    "question_id": "Id of the question.",
    "reasoning": "Worked reasoning.",
    "recipe_id": "Id of the recipe; empty for none.",
    "request_sha256": "SHA-256 of the request.",
    "result": "The tool's result, as text.",
    "reward_micro": "Reward, in millionths.",
    "run_id": "Id of the run.",
    "score_micro": "Score, in millionths.",
    "skill": "Skill.",
    "source": "Node that the edge starts from.",
    "split": "Name of the split.",
    "strategy": "Strategy paragraph of the skill.",
    "strategy_before": "The strategy before.",
    "successes": "Right answers counted.",
    "target": "Node that the edge leads to.",
    "task_type": "Task type.",
    "text": "The text.",
    "tier": "execution, guidance, judge or embedder.",
    "tool_id": "Id of the tool: hash of skill, name and source; empty for none.",
    "tries": "Failed attempts at the call so far, this one included.",
}


@functools.cache
def meanings_of(cls: type[Event] | type[Part]) -> dict[str, str]:
    """Return what each field means. Raises `KeyError` for a field that is documented nowhere."""
    # From the source, because Python keeps no docstring of a field.
    [definition] = ast.parse(inspect.getsource(cls)).body
    assert isinstance(definition, ast.ClassDef)
    documented = {}
    for field, doc in pairwise(definition.body):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(doc, ast.Expr):
            documented[field.target.id] = str(ast.literal_eval(doc.value))
    return {name: documented.get(name) or COMMON[name] for name in cls.__struct_fields__}
