import msgspec

from mage_es.engine.briefs import KnownTool, SolvedCase, ToolsBrief
from mage_es.engine.players.reference.tools import author_tools
from mage_es.engine.session.evolving import check_tools

from .cases import CASES, case

BRIEF = ToolsBrief(task_type="t", skill="s", cases=CASES, solved=(), existing=(), limit=1)


def test_the_chain_that_solutions_share_becomes_a_function_that_gets_its_examples_right() -> None:
    reply = author_tools(BRIEF)
    tool = reply.tools[0]
    assert (
        tool.source == "def run(a, b, c):\n    step_1 = a * b\n    step_2 = step_1 - c\n    return round(step_2, 6)\n"
    )
    assert [example.question_id for example in tool.examples] == ["q0", "q1", "q2"]
    assert [example.result for example in tool.examples] == ["19", "53", "28"]
    assert check_tools(reply, BRIEF).tools[0].problem == ""


def test_each_parameter_says_how_a_reader_finds_it() -> None:
    tool = author_tools(BRIEF).tools[0]
    assert [parameter.name for parameter in tool.parameters] == ["a", "b", "c"]
    assert "a rate" in tool.parameters[1].meaning


def test_fractions_and_percentages_enter_in_the_form_that_the_solution_gives_them() -> None:
    def sale(number: int, price: int, rate: int) -> SolvedCase:
        off = price * rate // 100
        left = price - off
        return SolvedCase(
            question_id=f"s{number}",
            question=f"A coat costs ${price}. In the sale it is {rate} percent cheaper. What does it cost then?",
            context="",
            answer=str(left),
            solution=f"Off: {price} * {rate} / 100 = {off}\nLeft: {price} - {off} = {left}",
        )

    brief = msgspec.structs.replace(BRIEF, cases=(), solved=(sale(0, 200, 10), sale(1, 60, 25), sale(2, 80, 30)))
    reply = author_tools(brief)
    assert "/ 100" in reply.tools[0].source
    assert check_tools(reply, brief).tools[0].problem == ""


def test_what_is_there_already_is_not_written_again() -> None:
    source = author_tools(BRIEF).tools[0].source
    known = KnownTool(name="work_out", source=source, problem="")
    assert author_tools(msgspec.structs.replace(BRIEF, existing=(known,))).tools == ()


def test_where_no_two_solutions_agree_or_none_is_wanted_there_is_no_tool() -> None:
    prose = msgspec.structs.replace(case(0, a=4, b=6, c=5), solution="It is obvious.")
    assert author_tools(msgspec.structs.replace(BRIEF, cases=CASES[:1])).tools == ()
    assert author_tools(msgspec.structs.replace(BRIEF, cases=(prose, prose))).tools == ()
    assert author_tools(msgspec.structs.replace(BRIEF, limit=0)).tools == ()
