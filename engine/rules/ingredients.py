"""What goes into the prompts of a planned question: every section, the source of each text, and what can be dropped.

Rules
    - Everything is looked up by the ids in the plan, so the same plan gives the same sections. A skill's slots are read
      from the state, which must be the state on which the plan was made.
    - If a prompt does not fit the model's context, its memories are dropped first, the lowest-ranked before the others.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

import msgspec

from mage_es.engine.courses import Ask
from mage_es.engine.rules.prompt import BARE, Demonstration, Quote, Section, worked
from mage_es.events.facts.private import is_erased
from mage_es.events.vocabulary import ActionRecipeHarvested, BundleTrimmed, QuestionPlanned, ToolAuthored
from mage_es.projections.fold import State
from mage_es.projections.memory import MemoryRow

_ANSWER = ("reasoning", "answer", "wrong_answer", "steps")
CASES = ("Solved earlier", "Corrected earlier")
"""The titles of the sections of cases."""
ASKS, ANSWERS = "Q: ", "A: "
"""How plain lines begin."""


class CaseParts(NamedTuple):
    """A question that was asked before, with its right answer and how it is reached ("" if unknown)."""

    memory_id: str
    question: str
    reasoning: str
    answer: str


class _Near(Protocol):
    @property
    def memory_id(self) -> str: ...

    @property
    def similarity(self) -> float: ...


Near = TypeVar("Near", bound=_Near)


def sections_of(
    state: State,
    planned: QuestionPlanned,
    *,
    answer_format: str = "",
    answers_only: bool = False,
    has_cases: bool = True,
) -> list[Section]:
    """Return the sections that the plan names, from what most questions share to what is specific to this one.

    Examples end as `answer_format` says; episodes have none. `answers_only` is whether the reply must not reason: then
    a skill's instruction, which says how to, is omitted. Without `has_cases`, the cases are shown as turns instead.
    """
    skill = Section("Skill", skill_quotes(state, planned, answers_only=answers_only), is_note=True)
    found = _retrieved(state, planned, answer_format)
    return [each for each in (skill, *found) if each.quotes and (has_cases or each.title not in CASES)]


def demonstrations_of(
    state: State, planned: QuestionPlanned, *, answer_format: str, answers_only: bool
) -> list[Demonstration]:
    """Return the cases of a plan as turns, the nearest last; with `answers_only` only their answers."""
    rows = [_row_to_show(state, hit.memory_id, hit.answer_of) for hit in nearest_last(planned.memories)]
    return as_turns(rows, answer_format=answer_format, answers_only=answers_only)


def as_lines(cases: Iterable[Demonstration]) -> list[Demonstration]:
    """Return cases as plain lines of one message."""
    return [Demonstration(source, f"{ASKS}{question}", f"{ANSWERS}{reply}") for source, question, reply in cases]


def nearest_last(hits: Sequence[Near]) -> list[Near]:
    return sorted(reversed(hits), key=lambda hit: hit.similarity)


def as_turns(rows: Iterable[MemoryRow], *, answer_format: str, answers_only: bool) -> list[Demonstration]:
    """Return the cases among memories as turns, in order."""
    return [
        Demonstration(f"memory/{case.memory_id}", case.question, worked(case.reasoning, case.answer, answer_format))
        for case in cases_of(rows, answers_only=answers_only)
    ]


def cases_of(rows: Iterable[MemoryRow], *, answers_only: bool) -> list[CaseParts]:
    """Return the cases among memories, in order; `answers_only`, without their reasoning."""
    return [
        CaseParts(row.memory_id, row.question, "" if answers_only else _reasoning(row), row.answer)
        for row in rows
        if row.outcome != "principle" and row.kind != "type_strategy"
    ]


def sections_of_step(state: State, planned: QuestionPlanned, skill: str, *, answer_format: str = "") -> list[Section]:
    """Return the sections for one step of a chain: what was retrieved, and the step's skill in place of the goal's."""
    description, approach = state.graph.description(f"skill/{skill}"), state.slots.strategy(skill)
    # Not its instruction: that says how to work towards an answer, and a step gives none.
    lines = [f"Step: {skill}", *_labelled("Description", description), *_labelled("Approach", approach)]
    this_step = Section("This step", [Quote(f"skill/{skill}", "\n".join(lines))])
    return [*_retrieved(state, planned, answer_format), this_step]


def earlier_steps(outputs: Sequence[tuple[str, str, str]]) -> Section:
    quotes = [Quote(f"call/{about}", f"Step: {skill}\nOutput: {output}") for about, skill, output in outputs]
    return Section("Steps so far", quotes)


def tool_section(tool: ToolAuthored) -> Section:
    parameters = [f"- {parameter.name} ({parameter.type}): {parameter.meaning}" for parameter in tool.parameters]
    examples = [f"- {example.arguments} gives {example.result}" for example in tool.examples]
    lines = [f"Name: {tool.name}", f"Description: {tool.description}", "Parameters:", *parameters]
    return Section("Tool", [Quote(f"tool/{tool.tool_id}", "\n".join([*lines, "Examples:", *examples]))])


def tool_outcome(tool: ToolAuthored, *, arguments: str, result: str, problem: str) -> Section:
    lines = [f"Name: {tool.name}", f"Description: {tool.description}", *_labelled("Arguments", arguments)]
    lines.append(f"Problem: {problem}" if problem else f"Result: {result}")
    return Section("Tool result", [Quote(f"tool/{tool.tool_id}", "\n".join(lines))])


def skill_quotes(state: State, planned: QuestionPlanned, *, answers_only: bool = False) -> list[Quote]:
    """Return the instruction of the question's skill, and the approach of whichever skill guides."""
    if planned.is_bare:
        return []
    # Cascade part D: a frontier skill may guide the answer to a question of a mastered one.
    guide = planned.guiding_skill or planned.skill
    if not guide:  # a baseline exercises no skill
        return []
    # The instruction stays the skill's own, as it says how this kind of answer is given; only the approach is borrowed.
    own = [] if answers_only else _labelled("Instruction", state.slots.prompt_template(planned.skill))
    approach = _labelled("Approach", state.slots.strategy(guide))
    named = ((guide, [*own, *approach]),) if guide == planned.skill else ((planned.skill, own), (guide, approach))
    return [Quote(f"skill/{skill}", "\n".join(lines)) for skill, lines in named if lines]


def remembered(
    state: State, memories: Collection[str], answer_format: str, *, answers: Mapping[str, str] = {}
) -> dict[str, list[Quote]]:
    """Return by title what memories quote in a prompt, in the order of the titles. `answers` maps a memory's id to that
    of another whose answer it shows (the permuted control of an exam)."""
    # By id, superseded ones included: the plan was made on this state, and an exam must render what it recorded.
    rows = [_row_to_show(state, memory_id, answers.get(memory_id, "")) for memory_id in memories]
    failures = [row for row in rows if row.outcome == "failure_memory"]
    return {
        "Principles": [_quote(row, row.reasoning) for row in rows if row.outcome == "principle"],
        "Strategy": [_quote(row, _strategy(row)) for row in failures if row.kind == "type_strategy"],
        "Solved earlier": [_quote(row, _case(row, answer_format)) for row in rows if row.outcome == "success_memory"],
        "Corrected earlier": [
            _quote(row, _case(row, answer_format)) for row in failures if row.kind != "type_strategy"
        ],
    }


def _retrieved(state: State, planned: QuestionPlanned, answer_format: str) -> list[Section]:
    recipes = [state.recipes.action_recipe(recipe_id) for recipe_id in planned.action_recipes]
    answers = {hit.memory_id: hit.answer_of for hit in planned.memories if hit.answer_of}
    memories = (*planned.principles, *(hit.memory_id for hit in planned.memories))
    found = remembered(state, memories, answer_format, answers=answers)
    titled = {
        "Principles": found.pop("Principles"),
        # The steps of a chain are its plan.
        "Plan": _plan(state, () if planned.chain else planned.planning),
        "Strategy": found.pop("Strategy"),
        "Actions that worked": [Quote(f"recipe/{recipe.recipe_id}", _actions(recipe)) for recipe in recipes],
        **found,
    }
    return noted(titled)


def noted(titled: Mapping[str, Sequence[Quote]]) -> list[Section]:
    # An empty heading would tell the model that something was looked for and not found.
    return [Section(title, quotes, is_note=True) for title, quotes in titled.items() if quotes]


def _plan(state: State, skills: Sequence[str]) -> list[Quote]:
    places = {skill: str(place) for place, skill in enumerate(skills, start=1)}
    quotes = []
    for skill, place in places.items():
        # Only steps of this plan: a skill may come after others that the goal does not need.
        before = [places[name] for name in state.graph.directly_before(skill) if name in places]
        description = state.graph.description(f"skill/{skill}")
        after = f" (after {', '.join(before)})" if before else ""
        quotes.append(Quote(f"skill/{skill}", f"{place}. {skill}{after}{': ' if description else ''}{description}"))
    return quotes


def _actions(recipe: ActionRecipeHarvested) -> str:
    return "\n".join([f"Achieved: {recipe.achievement}", *(f"Action: {action}" for action in recipe.actions)])


def _labelled(label: str, text: str) -> list[str]:
    return [f"{label}: {text}"] if text and not is_erased(text) else []


def _row_to_show(state: State, memory_id: str, answer_of: str) -> MemoryRow:
    """Return a memory as it is shown: with everything that another memory, if one is given, says in answer to its
    question."""
    row = state.memory.row(memory_id)
    if not answer_of:
        return row
    other = state.memory.row(answer_of)
    return msgspec.structs.replace(row, **{name: getattr(other, name) for name in _ANSWER})


def _quote(row: MemoryRow, text: str) -> Quote:
    return Quote(f"memory/{row.memory_id}", text)


def _reasoning(row: MemoryRow) -> str:
    # The steps of a chain are the reasoning; its last reply may only combine them.
    steps = "\n".join(f"{place}. {step.skill}:\n{step.output}" for place, step in enumerate(row.steps, start=1))
    return steps or row.reasoning


def _case(row: MemoryRow, answer_format: str) -> str:
    """Return a question with its answer and how it was reached, or with the bare answer if that is unknown. A
    correction does not show the wrong answer, since small models copy whatever an example shows."""
    reasoning = _reasoning(row)
    right = worked(reasoning, row.answer, answer_format)
    is_reply = reasoning or answer_format == BARE
    return f"Question: {row.question}\n{'Reply: ' if is_reply else ''}{right}"


def _strategy(row: MemoryRow) -> str:
    return f"When: {row.recognise}\nHow: {row.reasoning}"


def droppable(planned: QuestionPlanned) -> tuple[str, ...]:
    """Return the ids of what can be left out of a plan's prompts, in the order of dropping.

    [Eq. 4, context limits] A prompt that does not fit loses its least similar memory, then the next, then the last
    principle; question, context and skill are never cut. Each drop is an event and holds for later calls of the
    question. The arms that were pulled are still rewarded: texts that do not fit are part of the cost of choosing them.
    """
    # Sorting is stable, so among equals the one later in the bundle is dropped first.
    memories = sorted(reversed(planned.memories), key=lambda hit: hit.similarity)
    return (*(hit.memory_id for hit in memories), *reversed(planned.principles))


def without(planned: QuestionPlanned, dropped: Collection[str]) -> QuestionPlanned:
    """Return the plan as if it had been made without some memories and principles. [Eq. 4, context limits]"""
    if not dropped:
        return planned
    return msgspec.structs.replace(
        planned,
        memories=tuple(hit for hit in planned.memories if hit.memory_id not in dropped),
        principles=tuple(name for name in planned.principles if name not in dropped),
    )


def trimming_of(move: Ask, recorded: Sequence[BundleTrimmed]) -> BundleTrimmed | None:
    # The hash of the request ties it to exactly this prompt: what another prompt left out says nothing about this one.
    sought = (move.about, move.request.sha256, move.droppable[:1])
    return next((each for each in recorded if (each.about, each.request_sha256, (each.memory_id,)) == sought), None)
