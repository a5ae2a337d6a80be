"""What goes into the prompts of a planned question: every section, each text with where it is from.

Rules
    - Everything is looked up by the ids of the plan, so the same plan gives the same sections; of a skill the slots
      are read from the state, which must be the one that the plan was made on.
"""

from __future__ import annotations

from collections.abc import Sequence

from mage_es.engine.rules.prompt import Quote, Section
from mage_es.events.vocabulary import ActionRecipeHarvested, QuestionPlanned, ToolAuthored
from mage_es.projections.fold import State
from mage_es.projections.memory import MemoryRow


def sections_of(state: State, planned: QuestionPlanned) -> list[Section]:
    return [*_retrieved(state, planned), Section("Skill", skill_quotes(state, planned))]


def sections_of_step(state: State, planned: QuestionPlanned, skill: str) -> list[Section]:
    """Return the sections for one step of a chain: what was retrieved, and the step's skill in place of the goal's."""
    description = state.graph.description(f"skill/{skill}")
    lines = [f"Skill: {skill}", *_labelled("Description", description), *_slots(state, skill)]
    return [*_retrieved(state, planned), Section("This step", [Quote(f"skill/{skill}", "\n".join(lines))])]


def earlier_steps(outputs: Sequence[tuple[str, str, str]]) -> Section:
    quotes = [Quote(f"call/{about}", f"Step: {skill}\nOutput: {output}") for about, skill, output in outputs]
    return Section("Steps so far", quotes)


def tool_section(tool: ToolAuthored) -> Section:
    parameters = [f"- {parameter.name}: {parameter.meaning}" for parameter in tool.parameters]
    examples = [f"- {example.arguments} gives {example.result}" for example in tool.examples]
    lines = [f"Name: {tool.name}", f"Description: {tool.description}", "Parameters:", *parameters]
    return Section("Tool", [Quote(f"tool/{tool.tool_id}", "\n".join([*lines, "Examples:", *examples]))])


def tool_outcome(tool: ToolAuthored, *, arguments: str, result: str, problem: str) -> Section:
    lines = [f"Name: {tool.name}", f"Description: {tool.description}", *_labelled("Arguments", arguments)]
    lines.append(f"Problem: {problem}" if problem else f"Result: {result}")
    return Section("Tool result", [Quote(f"tool/{tool.tool_id}", "\n".join(lines))])


def skill_quotes(state: State, planned: QuestionPlanned) -> list[Quote]:
    """Return the instruction of the question's skill, and the approach of whichever skill guides."""
    # Cascade part D: a frontier skill may guide the answer to a question of a mastered one.
    guide = planned.guiding_skill or planned.skill
    if not guide:  # a baseline exercises no skill
        return []
    if guide == planned.skill:
        lines = _slots(state, guide)
        return [Quote(f"skill/{guide}", "\n".join(lines))] if lines else []
    # The instruction stays the skill's own: it says how this kind of answer is given. Only the approach is borrowed.
    own = _labelled("Instruction", state.slots.prompt_template(planned.skill))
    other = _labelled("Approach", state.slots.strategy(guide))
    named = ((planned.skill, own), (guide, other))
    return [Quote(f"skill/{skill}", "\n".join(lines)) for skill, lines in named if lines]


def _retrieved(state: State, planned: QuestionPlanned) -> list[Section]:
    # By id, superseded ones included: the plan was made on this state, and an exam must render what it recorded.
    rows = [state.memory.row(hit.memory_id) for hit in planned.memories]
    success = [_quote(row, _solved(row)) for row in rows if row.outcome == "success_memory"]
    failure = [row for row in rows if row.outcome == "failure_memory"]
    sections = [
        Section("Solved earlier", success),
        Section("Corrected earlier", [_quote(row, _corrected(row)) for row in failure if row.kind != "type_strategy"]),
        Section("Strategy", [_quote(row, _strategy(row)) for row in failure if row.kind == "type_strategy"]),
    ]
    if planned.action_recipes:
        recipes = [state.recipes.action_recipe(recipe_id) for recipe_id in planned.action_recipes]
        quotes = [Quote(f"recipe/{recipe.recipe_id}", _actions(recipe)) for recipe in recipes]
        sections.append(Section("Actions that worked", quotes))
    if planned.principles:
        principles = [state.memory.row(memory_id) for memory_id in planned.principles]
        sections.append(Section("Principles", [_quote(row, f"- {row.reasoning}") for row in principles]))
    if planned.planning:
        sections.append(Section("Plan", _plan(state, planned.planning)))
    # An empty heading would tell the model that something was looked for and not found.
    return [section for section in sections if section.quotes]


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


def _slots(state: State, skill: str) -> list[str]:
    instruction, approach = state.slots.prompt_template(skill), state.slots.strategy(skill)
    return [*_labelled("Instruction", instruction), *_labelled("Approach", approach)]


def _actions(recipe: ActionRecipeHarvested) -> str:
    return "\n".join([f"Achieved: {recipe.achievement}", *(f"Action: {action}" for action in recipe.actions)])


def _labelled(label: str, text: str) -> list[str]:
    return [f"{label}: {text}"] if text else []


def _quote(row: MemoryRow, text: str) -> Quote:
    return Quote(f"memory/{row.memory_id}", text)


def _solved(row: MemoryRow) -> str:
    return f"Question: {row.question}\nReasoning: {row.reasoning}\nAnswer: {row.answer}"


def _corrected(row: MemoryRow) -> str:
    return (
        f"Question: {row.question}\nWrong answer: {row.wrong_answer}\n"
        f"Correction: {row.reasoning}\nRight answer: {row.answer}"
    )


def _strategy(row: MemoryRow) -> str:
    return f"When: {row.recognise}\nHow: {row.reasoning}"
