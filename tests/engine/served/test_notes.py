"""A note is what a prompt of the run begins with, and no more than its bounds allow."""

from typing import cast

import pytest

from mage_es.engine.courses import Ask
from mage_es.engine.seams.model import BETWEEN_TURNS
from mage_es.engine.served.notes import CaseLayout, in_order, note_of
from mage_es.engine.serving.bounds import bounds_of
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary import Retrieved, ServedLayout
from tests.engine.rules.states import Built
from tests.engine.rules.test_routes import drive, planned

HITS = (
    Retrieved(memory_id="plan", similarity=0.5),
    Retrieved(memory_id="solved", similarity=0.9),
    Retrieved(memory_id="missed", similarity=0.4),
)


def built() -> Built:
    """Return a state with a strategy, a case that was solved and one that was missed."""
    made = Built()
    made.memory("plan", "failure_memory", kind="type_strategy")
    made.memory("solved")
    made.memory("missed", "failure_memory")
    return made


@pytest.mark.parametrize("form", ["turns", "lines", "sections"])
def test_a_note_is_what_the_runs_own_prompt_has_before_its_question(form: str) -> None:
    made = built()
    [move], _ = drive(made, planned("direct", form=form, memories=HITS), ["Answer: 1"])
    assert isinstance(move, Ask)
    layout = CaseLayout(cast(ServedLayout, form), answers_only=True)
    names = [hit.memory_id for hit in in_order(made.state, HITS, layout)]
    note = note_of(made.state, names, layout)
    turns = "".join(f"{said}{BETWEEN_TURNS}" for turn in note.turns for said in turn)
    # A client says for itself how it wants its answers marked.
    assert f"{turns}{note.text}How many?" == move.request.prompt.replace("Answer: 1", "1")
    assert note.memories == tuple(span.source.removeprefix("memory/") for span in move.spans)


def test_the_first_case_has_the_notes_before_it_and_the_turn_itself_stays_as_it_is() -> None:
    made = built()
    note = note_of(made.state, ["plan", "missed", "solved"], CaseLayout(answers_only=True))
    assert note.text == "" and note.memories == ("plan", "missed", "solved")
    (first, _), (second, _) = note.turns
    assert first.startswith("Quoted notes") and first.endswith("## Question\n\nWhat of missed?")
    assert second == "What of solved?"


def test_without_cases_the_notes_are_at_the_start_of_the_turn() -> None:
    note = note_of(built().state, ["plan"], CaseLayout(answers_only=True))
    assert note.text.startswith("Quoted notes") and note.text.endswith("## Question\n\n") and note.turns == ()


@pytest.mark.parametrize("least", ["near", -0.1, 1.5, None])
def test_a_bound_that_is_none_is_refused(least: object) -> None:
    with pytest.raises(UsageError, match="give auto, or a cosine between 0"):
        bounds_of(least, [], 0)  # type: ignore[arg-type]
