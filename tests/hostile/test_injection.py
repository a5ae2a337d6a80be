"""Whatever a memory says, it stays inside its quotation, in every prompt that is ever built.

A reader of its own takes each prompt apart. What it finds quoted must be exactly what is recorded as quoted, and the
rest of the prompt must be the same bytes that stand there when the memories say nothing remarkable.
"""

import re
from typing import NamedTuple, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.briefs import AnyBrief, Brief, JudgeBrief
from mage_es.engine.rules.ingredients import earlier_steps, sections_of, sections_of_step, tool_outcome, tool_section
from mage_es.engine.rules.prompt import (
    Prompt,
    PromptQuestion,
    Section,
    inert,
    inert_json,
    render_answer,
    render_guidance,
)
from mage_es.engine.rules.step_prompt import Consulted, step_prompt
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.environment import Moment
from mage_es.engine.session.call import repair_prompt
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State
from tests.engine.rules.states import setting_of
from tests.hostile.attacks import CONTROL_TOKENS, INJECTIONS, filled
from tests.kit.plain_events import plain

PLAIN = "nothing remarkable"
QUESTION = Question(
    id="q1", benchmark="workshop", split="evolution", task_type="t", question="How many?", gold="4", context="A table."
)
TEMPLATES = {
    "task_types": "task_types_v1",
    "ontology": "ontology_v1",
    "navigator": "navigator_v1",
    "failure_memories": "failure_memories_v1",
    "principles": "principles_v1",
    "tools": "tools_v1",
    "retrieval_recipe": "retrieval_recipes_v1",
    "prompt_refinement": "prompt_refinement_v1",
    "skill_splitting": "skill_splitting_v1",
}
_NOTHING = {"spans": (), "chain": (), "planning": (), "action_recipes": ()}


class Read(NamedTuple):
    """A prompt taken apart: where quotations stand as (offset, length), and all other lines."""

    quotes: list[tuple[int, int]]
    rest: list[str]


def read(prompt: str) -> Read:
    """Take a prompt apart; a quotation is an unbroken run of lines that begin with `> `."""
    quotes: list[tuple[int, int]] = []
    rest: list[str] = []
    offset, is_open = 0, False
    for line in prompt.splitlines(keepends=True):
        is_quoted, length = line.startswith("> "), len(line.rstrip("\n"))
        if is_quoted and is_open:
            begun = quotes.pop()[0]
            quotes.append((begun, offset + length - begun))
        elif is_quoted:
            quotes.append((offset, length))
            rest.append("(quotation)")
        else:
            rest.append(line.rstrip("\n"))
        is_open, offset = is_quoted, offset + len(line)
    return Read(quotes, rest)


def block_in(prompt: Prompt) -> str:
    """Return what is in the one fenced block that the user's message of a guidance prompt is."""
    before, block, after = prompt.text.splitlines()
    assert (before, after, prompt.text.count("```"), prompt.system.count("```")) == ("```json", "```", 2, 0)
    return block


def tokens_in(prompt: str) -> list[str]:
    return [token for token in CONTROL_TOKENS if token.lower() in prompt.lower()]


def known(text: str) -> State:
    """Return a state in which everything that a prompt can quote says `text`."""
    state = State()
    for skill in ("goal", "part"):
        state.apply(v.SkillCreated(skill=skill, mastery=0.0, prompt_template=text, strategy=text, description=text))
    state.apply(v.TaskTypeCreated(task_type="t", description=text))
    state.apply(v.EdgeAdded(kind="resolves", source="skill/goal", target="task_type/t"))
    state.apply(v.EdgeAdded(kind="prerequisite_of", source="skill/part", target="skill/goal"))
    common = {"task_type": "t", "skill": "goal", "iteration": 0, "origin": v.Origin()}
    kinds = {"success": ("success_memory", ""), "corrected": ("failure_memory", "specific")}
    kinds |= {"strategy": ("failure_memory", "type_strategy"), "principle": ("principle", "")}
    for number, (name, (outcome, kind)) in enumerate(kinds.items()):
        fixed = {"memory_id": name, "outcome": outcome, "kind": kind, "ordinal": number, "phase": "evolve", "steps": ()}
        state.apply(filled(v.MemoryAppended, text, **common, **fixed, question_id=f"q-{name}"))
    state.apply(filled(v.ActionRecipeHarvested, text, **common, recipe_id="recipe"))
    state.apply(filled(v.ToolAuthored, text, **common, tool_id="tool", examples=(), problem=""))
    state.apply(filled(v.PatternAbstracted, text, **common, memory_id="pattern"))
    state.apply(filled(v.IterationPlanned, text, iteration=0, frontier=(), fresh=(), revisits=()))
    for name in ("axe", text):
        state.apply(filled(v.EntitySeen, text, entity_id=name))
    state.apply(v.EdgeAdded(kind="relation", source="entity/axe", target=f"entity/{text}", label=text))
    return state


def planned(template: str) -> v.QuestionPlanned:
    """Return a plan that takes everything there is."""
    return plain(
        v.QuestionPlanned,
        question_id="q1",
        skill="goal",
        memories=tuple(v.Retrieved(memory_id=name, similarity=0.9) for name in ("success", "corrected", "strategy")),
        principles=("principle",),
        template=template,
        chain=("part",),
        tool_id="tool",
        planning=("part", "goal"),
        action_recipes=("recipe",),
    )


def answer_prompt(template: str, text: str) -> Prompt:
    """Return the prompt of a call for a question, with all that the calls before it can bring."""
    state, plan = known(text), planned(template)
    tool = state.tools.tool("tool")
    sections: list[Section] = sections_of(state, plan)
    if template == "answer_step_v1":
        sections = sections_of_step(state, plan, "part")
    sections += [earlier_steps([("q1/1", "part", text), ("q1/2", "part", text)]), tool_section(tool)]
    sections += [tool_outcome(tool, arguments=text, result=text, problem=problem) for problem in ("", text)]
    return render_answer(template, sections, PromptQuestion("How many?", "A table.", 'End with "#### <1467>".'))


def a_step_prompt(template: str, text: str) -> Prompt:
    moment = Moment(text, ["go to lake", "make saw"], [text, f"make saw: {text}"])
    about = Consulted("t", ["axe"])
    return step_prompt(setting_of(), known(text), planned(template), QUESTION, moment, about=about)


@pytest.mark.paper("Eq. 4, quotation")
@pytest.mark.parametrize(
    "template",
    [
        *("answer_cot", "answer_direct", "answer_step_v1", "answer_tool_v1"),
        *("answer_after_steps_v1", "answer_after_tool_v1"),
    ],
)
def test_in_an_answers_prompt_the_quotations_are_the_recorded_spans_and_the_rest_is_untouched(template: str) -> None:
    plain = answer_prompt(template, PLAIN)
    for name, attack in INJECTIONS.items():
        prompt = answer_prompt(template, attack)
        found = read(prompt.text)
        assert found.quotes == [(span.offset, span.length) for span in prompt.spans], name
        assert found.rest == read(plain.text).rest, name
        assert [span.source for span in prompt.spans] == [span.source for span in plain.spans], name
        assert len(prompt.spans) >= 10, name
        assert tokens_in(prompt.text) == [], name


@pytest.mark.parametrize("template", ["act_cot", "act_direct", "explore"])
def test_in_a_steps_prompt_observation_transcript_and_world_are_quoted_too(template: str) -> None:
    plain = a_step_prompt(template, PLAIN)
    for name, attack in INJECTIONS.items():
        prompt = a_step_prompt(template, attack)
        found = read(prompt.text)
        assert found.quotes[:-2] == [(span.offset, span.length) for span in prompt.spans], name
        assert found.rest == read(plain.text).rest, name
        assert tokens_in(prompt.text) == [], name


def test_an_action_that_is_offered_stays_on_its_line() -> None:
    bare = filled(v.QuestionPlanned, "", template="act_cot", skill="goal", memories=(), principles=(), **_NOTHING)
    state = State()
    state.apply(v.SkillCreated(skill="goal", mastery=0.0, prompt_template="", strategy=""))
    for name, attack in INJECTIONS.items():
        moment = Moment("You see a lake.", [attack, "make saw"])
        prompt = step_prompt(setting_of(), state, bare, QUESTION, moment, about=Consulted("t", []))
        lines = prompt.text.splitlines()
        begun = lines.index("## Valid actions")
        assert lines[begun + 2].startswith("- ") and lines[begun + 3] == "- make saw", name
        assert lines.count("## Question") == 0 and tokens_in(prompt.text) == [], name


@pytest.mark.paper("Eq. 4, quotation")
@pytest.mark.parametrize("kind", get_args(AnyBrief), ids=lambda kind: kind.__name__)
def test_a_guidance_brief_stays_in_its_one_block_and_says_what_it_said(kind: type[Brief]) -> None:
    template = TEMPLATES[str(kind.__struct_config__.tag)]

    def rendered(brief: Brief) -> Prompt:
        return render_guidance(template, brief)

    expected = rendered(filled(kind, PLAIN)).system
    for name, attack in INJECTIONS.items():
        prompt = rendered(brief := filled(kind, attack))
        assert msgspec.json.decode(block_in(prompt), type=kind) == brief, name
        assert prompt.system == expected, name
        assert tokens_in(f"{prompt.system}\n{prompt.text}") == [], name


def test_what_a_judge_is_shown_stays_in_its_block() -> None:
    for name, attack in INJECTIONS.items():
        brief = JudgeBrief(question=attack, expected=attack, answer=attack)
        prompt = render_guidance("judge_v1", brief)
        assert msgspec.json.decode(block_in(prompt), type=JudgeBrief) == brief, name
        assert attack not in prompt.system and tokens_in(prompt.text) == [], name


def test_a_rejected_reply_is_repeated_inside_its_block() -> None:
    for name, attack in INJECTIONS.items():
        again = repair_prompt(attack, attack)
        lines = again.splitlines()
        marks = [line for line in lines if line.startswith("```")]
        assert marks == ["```rejected", "```"] and lines[-1].startswith("Reply again"), name
        told = msgspec.json.decode(lines[lines.index("```rejected") + 1])
        assert attack.startswith(told["rejected_reply"]) and tokens_in(again) == [], name


def test_a_question_brings_no_control_token_and_nothing_else_of_it_changes() -> None:
    for name, attack in INJECTIONS.items():
        prompt = render_answer("answer_cot", [], PromptQuestion(attack, attack, "")).text
        assert tokens_in(prompt) == [], name
        assert re.sub(r"([<\[]) ", r"\1", attack) in re.sub(r"([<\[]) ", r"\1", prompt), name


def test_there_are_enough_attacks_and_every_token_is_in_one() -> None:
    assert len(INJECTIONS) >= 40
    everything = "\n".join(INJECTIONS.values()).lower()
    missing = [token for token in CONTROL_TOKENS if token.lower() not in everything]
    assert all(inert(token) != token for token in missing)


@pytest.mark.parametrize("text", ["a < b | c > d", "x |> f <| y", "<p>1 < 2</p>", "[1] [/a]", "array[INT]", "5 <= 6"])
def test_what_is_no_control_token_keeps_its_bytes(text: str) -> None:
    assert inert(text) == text


@given(st.text(st.sampled_from("<>|[]/sINTim_end｜ \n`"), max_size=40))
def test_breaking_up_once_is_enough_and_only_spaces_come_in(text: str) -> None:
    once = inert(text)
    assert inert(once) == once and tokens_in(once) == []
    assert once.replace(" ", "") == text.replace(" ", "")


@pytest.mark.slow
@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))
def test_a_json_document_means_the_same_afterwards(document: object) -> None:
    encoded = msgspec.json.encode(document).decode()
    assert msgspec.json.decode(inert_json(encoded)) == document
    assert len(inert_json(encoded).splitlines()) <= 1
