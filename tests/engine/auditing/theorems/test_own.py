"""No question sees what was made of it, and a log in which one did is found out."""

from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.own import check_own
from mage_es.engine.rules.ingredients import tool_section
from mage_es.engine.rules.prompt import quoted
from mage_es.engine.run.directory import Run
from mage_es.engine.seams.check import Check
from mage_es.events import vocabulary as v
from mage_es.events.log import Log, LogReader
from tests.engine.conftest import SMALL
from tests.engine.forgery import forged, instead
from tests.engine.rules.test_retrieval import NEAR, remembered

EXAMPLES = tuple(v.ToolExample(arguments='{"a": 1}', result="2", question_id=name) for name in ("q", "r"))
TOOL = v.ToolAuthored(
    iteration=0, tool_id="t", skill="s", task_type="t", name="add", description="", parameters=(), source="",
    examples=EXAMPLES, active=True, problem="", origin=v.Origin(),
)  # fmt: skip
RECIPE = v.ActionRecipeHarvested(
    recipe_id="steps", skill="s", task_type="t", achievement="made", actions=("look",), origin=v.Origin(),
    iteration=0, phase="update", ordinal=0, question_id="q",
)  # fmt: skip
WRITTEN: list[v.Event] = [
    remembered("solved", NEAR, ordinal=0, question_id="q", question="How many apples are there in all?"),
    remembered("rule", NEAR, ordinal=1, question_id="q", question="", outcome="principle"),
    remembered(
        "quote", NEAR, ordinal=2, question_id="", question="", outcome="principle",
        reasoning="Asked: how many apples are there in  all? Add.",
    ),
    remembered("general", NEAR, ordinal=3, question_id="", question="", outcome="principle"),
    TOOL,
    RECIPE,
]  # fmt: skip


def plan(question: str, **shown: object) -> v.QuestionPlanned:
    values = {"memories": (), "principles": (), "spans": ()} | shown
    return v.QuestionPlanned(
        iteration=1, purpose="revisit", question_id=question, task_type="t", skill="s", search_arm="balanced",
        search_probability=0.5, routing_arm="cot", routing_probability=0.5, template="answer_cot", prompt_sha256="",
        **values,  # type: ignore[arg-type]
    )  # fmt: skip


def with_tool(question: str, *examples: v.ToolExample) -> v.QuestionPlanned:
    text = quoted(tool_section(msgspec.structs.replace(TOOL, examples=examples)).quotes[0].text)
    return plan(question, tool_id="t", spans=(v.Span(offset=0, length=len(text), source="tool/t"),))


def checked(folder: Path, planned: v.Event) -> Check:
    with Log.create(folder / "log", run="r", clock=lambda: 0) as log:
        log.append([v.Draft(event=each, iteration=0, phase="evolve", ordinal=k) for k, each in enumerate(WRITTEN)])
        log.append([v.Draft(event=planned, iteration=1, phase="evaluate")])
    return check_own(LogReader(folder / "log"), SMALL)


SHOWN = {
    "memory": {"memories": (v.Retrieved(memory_id="solved", similarity=1.0),)},
    "principle of one case": {"principles": ("general", "rule")},
    "principle that quotes": {"principles": ("quote",)},
    "action recipe": {"action_recipes": ("steps",)},
}


@pytest.mark.parametrize("shown", SHOWN.values(), ids=SHOWN)
def test_what_was_made_of_a_question_is_found_in_its_plan_and_in_no_others(
    tmp_path: Path, shown: dict[str, object]
) -> None:
    found = checked(tmp_path / "own", plan("q", **shown))
    assert (found.ok, found.seq, found.detail.startswith("q was shown")) == (False, len(WRITTEN) + 1, True)
    assert checked(tmp_path / "other", plan("other", **shown)).ok


def test_an_anchor_that_is_shown_a_case_of_another_is_found(tmp_path: Path) -> None:
    of_anchor = msgspec.structs.replace(
        remembered("anchor's", NEAR, ordinal=0, question_id="another", question="How many?"), phase="snapshot"
    )
    shown = plan("anchor", memories=(v.Retrieved(memory_id="anchor's", similarity=1.0),))
    with Log.create(tmp_path / "log", run="r", clock=lambda: 0) as log:
        log.append([v.Draft(event=of_anchor, iteration=0, phase="snapshot")])
        log.append([v.Draft(event=msgspec.structs.replace(shown, purpose="fresh"), iteration=1, phase="evaluate")])
        assert check_own(LogReader(tmp_path / "log"), SMALL).ok
        log.append([v.Draft(event=msgspec.structs.replace(shown, purpose="anchor"), iteration=1, phase="snapshot")])
    found = check_own(LogReader(tmp_path / "log"), SMALL)
    assert (found.ok, found.seq) == (False, 3) and "about an anchor" in found.detail


def test_a_tool_is_shown_with_the_examples_of_other_questions_only(tmp_path: Path) -> None:
    assert checked(tmp_path / "others", with_tool("q", EXAMPLES[1])).ok
    assert checked(tmp_path / "stranger", with_tool("x", *EXAMPLES)).ok
    assert not checked(tmp_path / "all", with_tool("q", *EXAMPLES)).ok


def test_a_true_run_shows_no_question_its_own_and_a_planted_one_is_found(small_run: Run, tmp_path: Path) -> None:
    reader = LogReader(small_run.log_path)
    check = check_own(reader, SMALL)
    assert check.ok and check.detail.startswith("no memory of a question in its own prompt")
    about = {event.question_id: event.memory_id for event in reader.of(v.MemoryAppended) if event.iteration == 0}
    revisited = next(plan for plan in reader.of(v.QuestionPlanned) if plan.iteration == 1 and plan.question_id in about)

    def planted(event: v.QuestionPlanned) -> v.QuestionPlanned:
        own = v.Retrieved(memory_id=about[event.question_id], similarity=1.0)
        return msgspec.structs.replace(event, memories=(*event.memories, own))

    change = instead(v.QuestionPlanned, planted, lambda event: event == revisited)
    forged(small_run.log_path, tmp_path / "log", change)
    assert not check_own(LogReader(tmp_path / "log"), SMALL).ok
