"""What else EVOLVE writes: tools, retrieval recipes, refined prompts, split skills."""

from typing import ClassVar

from mage_es.events.facts.event import Event, Part, Phase, SubjectText
from mage_es.events.vocabulary.parts import AboutMemory, LearnedSubjectText, LearnedText, Origin


class BriefCut(Event, frozen=True, kw_only=True, tag="brief.cut"):
    """The guidance tier was shown less than everything: only as much of each part as its budget allowed."""

    stream: ClassVar[str] = "brief/{0.purpose}/{0.about}"
    iteration: int
    purpose: str
    about: str
    tokens: int
    """Tokens of the prompt, by an upper estimate."""
    tokens_whole: int
    """Tokens of the prompt if nothing were cut, by the same estimate."""
    cases: int
    """Limit on questions that were answered wrongly."""
    solved: int
    """Limit on questions that were answered rightly."""
    context: int
    """Limit on the characters of a question's context."""
    text: int
    """Limit on the characters of any other text."""


class Parameter(Part, frozen=True, kw_only=True):
    """A parameter of a tool."""

    name: LearnedText
    meaning: LearnedSubjectText
    """What it means."""
    type: str = "number"
    """`number` or `text`."""


class ToolExample(Part, frozen=True, kw_only=True):
    """A call that a tool must get right before it is used."""

    arguments: LearnedSubjectText
    result: LearnedSubjectText
    question_id: str = ""
    """Id of the question that it comes from; it is not shown to that question."""


class ToolAuthored(Event, frozen=True, kw_only=True, tag="tool.authored"):
    """A dynamic tool, as source. It is active only if it got all of its examples right; else `problem` says why."""

    stream: ClassVar[str] = "tool/{0.tool_id}"
    iteration: int
    tool_id: str
    skill: str
    task_type: str
    name: LearnedText
    description: LearnedSubjectText
    parameters: tuple[Parameter, ...]
    """Its parameters."""
    # Starlark, because it cannot reach files, clocks or the network.
    source: LearnedSubjectText
    """Its Starlark source."""
    examples: tuple[ToolExample, ...]
    """Calls that the tool must get right."""
    active: bool
    """Whether the tool may be used."""
    problem: SubjectText
    origin: Origin


class RetrievalRecipeAuthored(AboutMemory, frozen=True, kw_only=True, tag="retrieval_recipe.authored"):
    """How to retrieve for questions of a task type: an experience node with outcome `retrieval_recipe`."""

    task_type: str
    skill: str
    query_template: LearnedSubjectText
    """Text that is embedded, with {question} in place of the question."""
    success_quota: int
    """Most success memories to take."""
    failure_quota: int
    """Most failure memories to take."""
    least_similarity: float
    """Cosine below which no memory is taken."""
    reasoning: LearnedSubjectText
    origin: Origin
    iteration: int
    phase: Phase
    ordinal: int


class SkillRefined(Event, frozen=True, kw_only=True, tag="skill.refined"):
    """Prompt refinement: new values of two mutable slots of a skill, and the old ones."""

    # With the old values, so that a reader sees the change without folding what came before.
    stream: ClassVar[str] = "skill/{0.skill}"
    iteration: int
    skill: str
    prompt_template: LearnedSubjectText
    strategy: LearnedSubjectText
    prompt_template_before: SubjectText
    strategy_before: SubjectText
    origin: Origin


class SkillSplit(Event, frozen=True, kw_only=True, tag="skill.split"):
    """A skill was split; its children (events of their own) inherit its mastery and compose into it."""

    # The parent stays: edges and memories name it.
    stream: ClassVar[str] = "skill/{0.skill}"
    iteration: int
    skill: str
    children: tuple[str, ...]
    """The skills that it was split into."""
    reason: SubjectText
    """Why it was split."""
    origin: Origin
