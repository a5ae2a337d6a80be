"""What the guidance tier is asked, and what it may reply: typed briefs and typed replies.

A guidance prompt has two parts: a template as the system message, and one fenced JSON block that holds a brief. A
language model reads both; `builtin/reference` reads only the block. The reply is JSON of the reply type. Every brief
has a tag with its name, so a guidance model can be a table from brief to author. Empty fields are left out of the JSON.
The run chooses how much a brief says about a question (`teacher_sees`, `guidance_context`).
"""

from typing import Annotated, Literal

import msgspec


class Brief(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="brief"):
    """A question to the guidance tier, as data; each kind is a subclass with a tag."""


class Case(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An evolution question, with the right answer and the data set's own solution, as far as the run shows them."""

    question_id: str
    question: str
    context: str = ""
    answer: str = ""
    solution: str = ""


class FailureCase(Case, frozen=True, kw_only=True):
    """A question that the learner answered wrongly: its answer, its reply, and the calls that came before the reply."""

    wrong_answer: str = ""
    wrong_reasoning: str = ""
    steps: tuple[str, ...] = ()


class SolvedCase(Case, frozen=True, kw_only=True):
    """A question that the learner answered rightly, with its reply if that matters."""

    reply: str = ""


class TaskTypeSample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task type with a few of its evolution questions."""

    task_type: str
    samples: tuple[Case, ...] = ()


class OntologyBrief(Brief, frozen=True, kw_only=True, tag="ontology"):
    """Phase 0: induce skills, their prerequisites and the task types that they resolve from a sample of evolution
    questions."""

    benchmark: str
    task_types: tuple[TaskTypeSample, ...]
    skill_cap: int


class AuthoredSkill(msgspec.Struct, frozen=True, kw_only=True):
    """A skill: the task types whose main skill it is, the skills to master before it, and the larger ones that it is
    part of."""

    name: str
    description: str
    prerequisites: tuple[str, ...] = ()
    resolves: tuple[str, ...] = ()
    composes_into: tuple[str, ...] = ()


class AuthoredTaskType(msgspec.Struct, frozen=True, kw_only=True):
    """A description of a task type in the brief: one sentence."""

    task_type: str
    description: str = ""


class OntologyReply(msgspec.Struct, frozen=True, kw_only=True):
    """The ontology. A task type that no skill resolves falls to `general`."""

    skills: tuple[AuthoredSkill, ...]
    task_types: tuple[AuthoredTaskType, ...] = ()


class Doubting(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that may list questions of the brief whose given answer contradicts the question."""

    doubtful: tuple[str, ...] = ()


class FailureBrief(Brief, frozen=True, kw_only=True, tag="failure_memories"):
    """EVOLVE: write at most `limit` corrections of these failures, and a strategy if one is wanted; `others` were
    missed too, and `existing` is what the learner already has."""

    task_type: str
    skill: str
    cases: tuple[FailureCase, ...]
    solved: tuple[SolvedCase, ...] = ()
    others: tuple[Case, ...] = ()
    existing: tuple[str, ...] = ()
    wants_strategy: bool = False
    limit: int


class AuthoredFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A failure memory. `kind` is `specific` or `type_strategy`; only the latter has `recognise`."""

    question_id: str
    kind: str
    recognise: str = ""
    reasoning: str
    answer: str = ""


class FailureReply(Doubting, frozen=True, kw_only=True):
    """Zero or more failure memories."""

    memories: tuple[AuthoredFailure, ...]


class PrinciplesBrief(Brief, frozen=True, kw_only=True, tag="principles"):
    """EVOLVE: abstract rules from this iteration's failures and their solutions, except those that already exist."""

    task_type: str
    skill: str
    cases: tuple[FailureCase, ...]
    solved: tuple[SolvedCase, ...] = ()
    existing: tuple[str, ...] = ()
    limit: int


class AuthoredPrinciple(msgspec.Struct, frozen=True, kw_only=True):
    """A principle: when it applies, by meaning ("" for always), what to do then, and the ids of the brief's questions
    that show it."""

    when: str = ""
    do: str
    cases: tuple[str, ...]


class PrinciplesReply(Doubting, frozen=True, kw_only=True):
    """Zero or more principles."""

    principles: tuple[AuthoredPrinciple, ...]


class SkillStanding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A skill and the learner's record on it: answers so far, what it resolves and needs, which skills need it, some
    questions that are open failures, and its last brief."""

    skill: str
    description: str = ""
    mastery: float
    right: int
    wrong: int
    prerequisites: tuple[str, ...] = ()
    needed_by: tuple[str, ...] = ()
    task_types: tuple[str, ...] = ()
    failures: tuple[FailureCase, ...] = ()
    last_brief: str = ""


class NavigatorBrief(Brief, frozen=True, kw_only=True, tag="navigator"):
    """PLAN, stage 2: put the frontier of stage 1 into the order in which to explore it, with a brief for each."""

    iteration: int
    frontier: tuple[SkillStanding, ...]
    mastered: tuple[str, ...] = ()


class ExplorationBrief(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for while exploring one skill of the frontier, in a sentence or two."""

    skill: str
    brief: str


class NavigatorReply(msgspec.Struct, frozen=True, kw_only=True):
    """The frontier in the order in which it is worth exploring."""

    briefs: tuple[ExplorationBrief, ...]


class KnownTool(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that a skill already has; `problem` says why it is not used, "" if it is."""

    name: str
    source: str
    problem: str = ""


class ToolsBrief(Brief, frozen=True, kw_only=True, tag="tools"):
    """EVOLVE: write at most `limit` small functions that work out answers to questions of a task type."""

    task_type: str
    skill: str
    cases: tuple[FailureCase, ...] = ()
    solved: tuple[SolvedCase, ...] = ()
    existing: tuple[KnownTool, ...] = ()
    limit: int


class AuthoredParameter(msgspec.Struct, frozen=True, kw_only=True):
    """A parameter of a tool, its type, and what a reader of a question has to find for it."""

    name: str
    type: Literal["number", "text"] = "number"
    meaning: str


class AuthoredExample(msgspec.Struct, frozen=True, kw_only=True):
    """A question of the brief, the arguments that the tool is called with (a JSON object), and what it must return, as
    text."""

    question_id: str
    arguments: str
    result: str


class AuthoredTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool: Starlark source that defines `run` with these parameters, and the calls that it must get right."""

    name: str
    description: str
    parameters: tuple[AuthoredParameter, ...]
    source: str
    examples: tuple[AuthoredExample, ...]


class ToolsReply(Doubting, frozen=True, kw_only=True):
    """Zero or more tools."""

    tools: tuple[AuthoredTool, ...]


class ShownMemory(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was in a prompt: its kind, its question, and how near that is (a cosine)."""

    kind: Literal["solved", "corrected", "strategy"]
    question: str
    similarity: float


class BundleOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An answer of this iteration: the memories in its prompt, the nearest of each kind first, and whether it was
    right."""

    question_id: str
    question: str
    correct: bool
    memories: tuple[ShownMemory, ...] = ()

    def count(self, *kinds: str) -> int:
        return sum(memory.kind in kinds for memory in self.memories)


class AuthoredRecipe(msgspec.Struct, frozen=True, kw_only=True):
    """A retrieval recipe: `query_template` holds `{question}`; the quotas of both indexes, the least cosine, and
    why."""

    query_template: str
    success_quota: int
    failure_quota: int
    least_similarity: float
    reasoning: str


class RetrievalBrief(Brief, frozen=True, kw_only=True, tag="retrieval_recipe"):
    """EVOLVE: how to retrieve for questions of a task type, from what the last bundles led to; with the sizes of both
    pools and the recipe in use."""

    task_type: str
    skill: str
    outcomes: tuple[BundleOutcome, ...]
    solved_pool: int
    corrected_pool: int
    in_use: AuthoredRecipe | None = None
    bundle: int


class RetrievalReply(msgspec.Struct, frozen=True, kw_only=True):
    """One recipe, or none."""

    recipe: AuthoredRecipe | None


class RefinementBrief(Brief, frozen=True, kw_only=True, tag="prompt_refinement"):
    """EVOLVE: better instructions for a skill, from this iteration's failures in one of its task types."""

    skill: str
    description: str = ""
    task_type: str
    prompt_template: str = ""
    strategy: str = ""
    existing: tuple[str, ...] = ()
    cases: tuple[FailureCase, ...]
    solved: tuple[SolvedCase, ...] = ()
    length: int


class RefinementReply(Doubting, frozen=True, kw_only=True):
    """New values of both slots, each at most `length` characters; "" leaves one as it is."""

    prompt_template: str = ""
    strategy: str = ""


class TypeStanding(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task type of a skill: this iteration's answers, and questions that show its patterns, wrong ones first."""

    task_type: str
    right: int
    wrong: int
    samples: tuple[Case, ...] = ()


class SplittingBrief(Brief, frozen=True, kw_only=True, tag="skill_splitting"):
    """EVOLVE: split a skill that is too broad into at most `limit` narrower ones."""

    skill: str
    description: str = ""
    task_types: tuple[TypeStanding, ...]
    parts: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    limit: int


class AuthoredChild(msgspec.Struct, frozen=True, kw_only=True):
    """A narrower skill: task types that it takes over from its parent, and other children that it needs first."""

    name: str
    description: str
    strategy: str = ""
    resolves: tuple[str, ...] = ()
    prerequisites: tuple[str, ...] = ()


class SplittingReply(msgspec.Struct, frozen=True, kw_only=True):
    """The children (none if the skill is better left whole), and why."""

    children: tuple[AuthoredChild, ...]
    reason: str = ""


class KnownType(msgspec.Struct, frozen=True, kw_only=True):
    """A task type that was named before, for other questions of the same benchmark."""

    name: str
    description: str


class TaskTypesBrief(Brief, frozen=True, kw_only=True, tag="task_types"):
    """Before the ontology, if a benchmark has no task types: sort questions into `known` types and new ones, at most
    `limit` in all."""

    benchmark: str
    questions: tuple[Case, ...]
    known: tuple[KnownType, ...] = ()
    limit: int


class InducedType(msgspec.Struct, frozen=True, kw_only=True):
    """A task type: its name, what its questions ask and how they are recognised (not needed for a known type), and the
    ids of the brief's questions that belong to it."""

    name: str
    examples: tuple[str, ...]
    description: str = ""


class TaskTypesReply(msgspec.Struct, frozen=True, kw_only=True):
    """The task types; each question of the brief is an example of at most one."""

    task_types: tuple[InducedType, ...]


AnyBrief = (
    TaskTypesBrief
    | OntologyBrief
    | NavigatorBrief
    | FailureBrief
    | PrinciplesBrief
    | ToolsBrief
    | RetrievalBrief
    | RefinementBrief
    | SplittingBrief
)


class JudgeBrief(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a judge is shown."""

    question: str
    expected: str
    answer: str


class JudgeReply(msgspec.Struct, frozen=True, kw_only=True):
    """A judge's verdict: how right the answer is, and why."""

    score: Annotated[float, msgspec.Meta(ge=0, le=1)]
    reason: str
