"""What goes into a prompt is looked up by the ids of the plan, and names its source."""

from mage_es.engine.rules.ingredients import earlier_steps, sections_of, sections_of_step, tool_outcome, tool_section
from mage_es.engine.rules.prompt import Quote, Section
from mage_es.events.vocabulary import Retrieved, Step
from mage_es.projections.memory import MemoryRow
from tests.engine.rules.states import Built
from tests.engine.rules.test_retrieval import remembered, unit
from tests.engine.rules.test_routes import TOOL, chained, everything, planned


def quotes(sections: list[Section]) -> dict[str, list[Quote]]:
    return {section.title: list(section.quotes) for section in sections if section.quotes}


def test_a_plan_that_names_nothing_has_no_quotes() -> None:
    assert quotes(sections_of(Built().state, planned())) == {}


def test_what_a_plan_names_stands_under_its_heading_with_its_source() -> None:
    built, fields = everything()
    found = quotes(sections_of(built.state, planned(**fields)))
    assert {title: [quote.source for quote in each] for title, each in found.items()} == {
        "Solved earlier": ["memory/solved"],
        "Corrected earlier": ["memory/corrected"],
        "Actions that worked": ["recipe/actions"],
        "Principles": ["memory/rule"],
        "Plan": ["skill/add", "skill/multiply", "skill/goal"],
        "Skill": ["skill/goal"],
    }


def shown(**fields: str) -> str:
    """Return what a prompt says of a memory with these fields."""
    built = Built()
    built.state.apply(remembered("m", unit(1, 0), ordinal=0, **{"question": "Who?", "answer": "teal", **fields}))
    hit = Retrieved(memory_id="m", similarity=1.0)
    [quote] = sections_of(built.state, planned(memories=(hit,)), answer_format='Finish with "Answer: <teal>".')[
        0
    ].quotes
    return quote.text


def test_a_case_without_reasoning_is_a_question_and_its_answer() -> None:
    assert shown(reasoning="") == "Question: Who?\nAnswer: teal"
    assert shown(reasoning="The badge.") == "Question: Who?\nReply: The badge.\nAnswer: teal"


def test_a_correction_shows_the_right_way_and_no_wrong_answer_that_could_be_copied() -> None:
    failure = {"outcome": "failure_memory", "kind": "specific", "wrong_answer": "slate"}
    assert shown(**failure, reasoning="The badge.") == "Question: Who?\nReply: The badge.\nAnswer: teal"
    assert shown(**failure, reasoning="") == "Question: Who?\nAnswer: teal"


def test_a_quarantined_memory_that_a_plan_named_is_still_found() -> None:
    from mage_es.events.vocabulary import MemoryQuarantined

    built, fields = everything()
    built.state.apply(MemoryQuarantined(memory_id="solved", reason="", by="test"))
    assert isinstance(built.state.memory.row("solved"), MemoryRow)
    assert "Solved earlier" in quotes(sections_of(built.state, planned(**fields)))


def test_a_step_shows_its_own_skill_in_place_of_the_goals() -> None:
    built, plan = chained()
    found = quotes(sections_of_step(built.state, plan, "add"))
    assert found == {"This step": [Quote("skill/add", "Step: add\nDescription: To add.\nApproach: Just add.")]}


def test_earlier_steps_name_the_calls_that_they_are_from() -> None:
    section = earlier_steps([("q/1", "add", "1 + 1 = 2"), ("q/2", "multiply", "")])
    assert [quote.source for quote in section.quotes] == ["call/q/1", "call/q/2"]


def test_a_tool_is_shown_with_its_parameters_and_examples_and_its_outcome_with_result_or_problem() -> None:
    (shown,) = tool_section(TOOL).quotes
    assert shown == Quote(
        "tool/t1",
        "Name: total\nDescription: Multiplies.\nParameters:\n- count (number): how many\n"
        "- each (number): of what size\n"
        'Examples:\n- {"count": 2, "each": 3} gives 6',
    )
    (ran,) = tool_outcome(TOOL, arguments="{}", result="6", problem="").quotes
    assert ran.text.endswith("Arguments: {}\nResult: 6")
    (failed,) = tool_outcome(TOOL, arguments="", result="", problem="it was not called").quotes
    assert failed.text.endswith("Multiplies.\nProblem: it was not called")


def test_a_solved_question_that_was_a_chain_shows_its_steps() -> None:
    built = Built()
    built.memory("chain", steps=(Step(skill="add", output="1 + 1 = 2"), Step(skill="multiply", output="2 * 3 = 6")))
    plan = planned(memories=(Retrieved(memory_id="chain", similarity=1.0),))
    (shown,) = quotes(sections_of(built.state, plan))["Solved earlier"]
    assert "1. add:\n1 + 1 = 2\n2. multiply:\n2 * 3 = 6" in shown.text
