"""EVOLVE's further writings: tools, retrieval recipes, refined prompts, split skills."""

from __future__ import annotations

from typing import ClassVar

from mage_es.events.vocabulary.form import Event, Part, Phase


class Parameter(Part, frozen=True, kw_only=True):
    """A parameter of a tool and what it stands for."""

    name: str
    meaning: str


class ToolExample(Part, frozen=True, kw_only=True):
    """A call that a tool must get right before it is used: JSON object of arguments, result as text."""

    arguments: str
    result: str


class ToolAuthored(Event, frozen=True, kw_only=True, tag="tool.authored"):
    """A dynamic tool, as source. It is `active` only if it got all of its examples right; else `problem` says why not.

    `tool_id` is the hash of skill, name and source.
    """

    iteration: int
    tool_id: str
    skill: str
    task_type: str
    name: str
    description: str
    parameters: tuple[Parameter, ...]
    source: str
    examples: tuple[ToolExample, ...]
    active: bool
    problem: str
    derived_from: str

    stream: ClassVar[str] = "tool/{0.tool_id}"


class RetrievalRecipeAuthored(Event, frozen=True, kw_only=True, tag="retrieval_recipe.authored"):
    """How to retrieve for questions of a task type: an experience node with outcome `retrieval_recipe`.

    `query_template` turns the question into the text that is embedded ({question} stands for it); quotas are memories
    of each index; `least_similarity` is the cosine below which none is taken.
    """

    memory_id: str
    task_type: str
    skill: str
    query_template: str
    success_quota: int
    failure_quota: int
    least_similarity: float
    reasoning: str
    derived_from: str
    iteration: int
    phase: Phase
    ordinal: int

    stream: ClassVar[str] = "memory/{0.memory_id}"


class SkillRefined(Event, frozen=True, kw_only=True, tag="skill.refined"):
    """Prompt refinement: new values of two mutable slots of a skill, with those before."""

    iteration: int
    skill: str
    prompt_template: str
    strategy: str
    prompt_template_before: str
    strategy_before: str
    derived_from: str

    stream: ClassVar[str] = "skill/{0.skill}"


class SkillSplit(Event, frozen=True, kw_only=True, tag="skill.split"):
    """A skill was split; its children (events of their own) inherit its mastery and compose into it."""

    iteration: int
    skill: str
    children: tuple[str, ...]
    reason: str
    derived_from: str

    stream: ClassVar[str] = "skill/{0.skill}"
