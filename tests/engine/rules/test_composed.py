"""No composed prompt says two things that exclude one another, over all benchmarks, templates and kinds of memories."""

import re
from functools import cache
from itertools import chain, combinations

import msgspec
import pytest

from mage_es.engine.bench.gsm8k import GSM8K
from mage_es.engine.bench.hotpotqa.benchmark import HOTPOTQA
from mage_es.engine.bench.medqa import MEDQA
from mage_es.engine.bench.webqa.benchmark import WEBQA
from mage_es.engine.benchmarks.tasks.scorers import scorer_names, scorer_of
from mage_es.engine.rules.prompt import PromptQuestion, render_answer, worked
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.model import Request
from tests.engine.rules.composed import COMPUTED, EPISODES, KINDS, SUCCESS, Composed, episodes, questions

DEFINITIONS = {each.name: each for each in (GSM8K, HOTPOTQA, MEDQA, WEBQA)}
EXCLUDING = {
    "reasoning": (
        r"step by step|one after another|Reason |Instruction:",
        r"no reasoning|nothing (?:else|but)|only the",
    ),
    "answering": (r"do not answer the question", r"Answer the question|Finish with|End with"),
    "an answer": (r"Do not give the answer", r"Answer the question|Finish with|End with"),
    "arguments": (r"one JSON object", r"Finish with|step by step|Write only"),
    "order": (r"## (?:Question|Task)", r"\b(?:above|below)\b"),
    "action": (r"one action at a time", r"Answer the question|Finish\["),
}
"""Two expressions by name: a prompt with both contradicts itself."""
_FORM = re.compile(
    r'"(#### |Answer: \[?|\\section\*\{Final Answer\}\n|```\w+\n|Action: (?!Search|Lookup|Finish)|ACTION: )[^"]*"'
)
_PLACEHOLDER = re.compile(
    r"<[a-z][^<>\n]*>|\[(?:answer|title|words?|letter|number|your [^\]]*)\]|\{\{|\.\.\.\"", re.IGNORECASE
)


def contradictions(request: Request) -> list[str]:
    """Return the names of the pairs that are both in a prompt, of which quotations other than a skill are data."""
    shown = "\n".join(line for line in request.prompt.splitlines() if line.startswith(("## ", "> Instruction:")))
    said = f"{request.system}\n{shown}"
    forms = set(_FORM.findall(request.system))
    found = [name for name, (one, other) in EXCLUDING.items() if re.search(one, said) and re.search(other, said)]
    return [*found, *(["two forms"] if len(forms) > 1 else [])]


@cache
def everything() -> list[Composed]:
    kinds = [(), *((kind,) for kind in KINDS), *combinations(KINDS, 2), KINDS]
    return [
        each
        for known in kinds
        for is_refined in (False, True)
        for each in chain(questions(known, is_refined=is_refined), episodes(known, is_refined=is_refined))
    ]


def test_no_composed_prompt_contradicts_itself() -> None:
    assert len(everything()) > 300 and sum(len(each.requests) for each in everything()) > 2000
    found = {
        (each.benchmark, template, each.kinds, each.is_refined): wrong
        for each in everything()
        for template, request in each.requests.items()
        if (wrong := contradictions(request))
    }
    assert found == {}


PLANTED = [
    ("answer_direct", "Reason step by step.", "reasoning"),
    ("answer_step_v1", 'Finish with a line such as "#### 1467".', "answering"),
    ("reflect_v1", "Answer the question.", "an answer"),
    ("answer_tool_v1", "Work step by step.", "arguments"),
    ("answer_cot", "The notes are below.", "order"),
    ("act_cot", "Answer the question.", "action"),
    ("answer_cot", 'End with "Answer: Oslo".', "two forms"),
]


@pytest.mark.parametrize(("template", "sentence", "name"), PLANTED)
def test_a_planted_contradiction_is_found(template: str, sentence: str, name: str) -> None:
    request = next(
        each.requests[template] for each in everything() if template in each.requests and each.benchmark != "medqa"
    )
    planted = msgspec.structs.replace(request, system=f"{request.system} {sentence}")
    assert name in contradictions(planted) and not contradictions(request)
    assert {*EXCLUDING, "two forms"} == {planted[2] for planted in PLANTED}


def test_only_what_has_computed_answers_asks_for_equations() -> None:
    for each in everything():
        asks = [template for template, request in each.requests.items() if "equation" in request.system]
        assert bool(asks) == (each.benchmark in COMPUTED), (each.benchmark, asks)


def test_the_system_message_is_one_for_all_questions_of_a_template_whatever_is_known() -> None:
    systems: dict[tuple[str, str], set[str]] = {}
    for each in everything():
        for template, request in each.requests.items():
            systems.setdefault((each.benchmark, template), set()).add(request.system)
    assert {len(found) for found in systems.values()} == {1}


def test_every_prompt_ends_with_its_question_or_with_what_can_be_done() -> None:
    for each in everything():
        ending = "- collect sand" if each.benchmark in EPISODES else "How many jars are left?"
        assert all(request.prompt.endswith(ending) for request in each.requests.values())


def test_an_example_ends_in_the_form_that_is_asked_for_and_says_it_once() -> None:
    for each in questions((SUCCESS,)):
        before = _FORM.findall(each.requests["answer_cot"].system)[0]
        form = re.escape(f"> {before}".replace("\n", "\n> "))
        blocks = re.findall(r"(?:^> .*\n)+", each.requests["answer_cot"].prompt, re.MULTILINE)
        assert len(blocks) == 3
        for block in blocks:
            assert re.search(rf"^{form}\S+\n(> ```\n)?\Z", block, re.MULTILINE), (each.benchmark, block)
            assert block.count(before.split("\n")[0].strip(" [")) == 1, (each.benchmark, block)


def test_no_prompt_shows_a_placeholder_but_an_example_of_the_form() -> None:
    forms = {request.text for each in everything() for request in each.requests.values()}
    assert not [text for text in forms if _PLACEHOLDER.search(text)]
    assert all(_FORM.search(each.requests["answer_cot"].system) for each in questions())


@pytest.mark.parametrize("name", scorer_names())
def test_the_form_of_own_tasks_is_an_example_too(name: str) -> None:
    for scorer in (scorer_of(name, ()), scorer_of(name, ["teal", "<18", "<b>", ">65"])):
        shown = rendered(scorer.answer_format)
        assert not _PLACEHOLDER.search(shown.replace('"Answer: <b>"', "")) and _FORM.search(shown)


def test_every_label_is_shown_as_the_line_that_ends_with_it() -> None:
    form = scorer_of("exact", ["teal", "<18", "<b>"]).answer_format
    assert 'lines: "Answer: teal", "Answer: <18", "Answer: <b>".' in rendered(form)
    assert worked("It is.", "teal", form) == "It is.\nAnswer: teal"


def rendered(form: str) -> str:
    return render_answer("answer_direct", [], PromptQuestion("How many?", "", form)).system


@pytest.mark.parametrize("name", ["gsm8k", "medqa", "webqa", "hotpotqa"])
def test_an_example_that_is_copied_is_hardly_ever_right(name: str) -> None:
    copied = re.findall(r'"((?:Answer|####)[^"]*)"', rendered(DEFINITIONS[name].answer_format))[0]
    meta = {"options": '{"A": "x", "E": "y"}', "answers": '["Rome"]'}
    asked = Question(id="q", benchmark=name, split="test", task_type="", question="?", gold="A", meta=meta)
    assert not DEFINITIONS[name].verdict(asked, copied).correct
    if name == "medqa":  # what is copied chooses none, so what was said before counts
        assert DEFINITIONS[name].verdict(asked, f"The answer is A.\n{copied}").correct
