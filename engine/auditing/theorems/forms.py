"""The form of prompts was chosen because the anchors favour it, and prompts have that form.

From the log alone: there is one choice, the answers to the anchors in both forms are counted again, every later plan
has the chosen form, and plans of the form `worked` name only cases that show how their answer was reached.
"""

from collections.abc import Iterator

from mage_es.engine.rules.forms import WORKED, favoured_form
from mage_es.engine.rules.retrieval import shows_how
from mage_es.engine.seams.check import Check
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, FormDecided, MemoryAppended, QuestionPlanned

NAME = "form"
BOUND = "0 against the record"


def check_forms(reader: LogReader, *, since: int) -> Iterator[Check]:
    """Yield the check of a run that chose a form in its own trial, after event `since`; for any other run only
    problems."""
    answers: dict[tuple[str, int], dict[str, bool]] = {}
    chosen: FormDecided | None = None
    forms: dict[str, str] = {}
    worked: dict[str, tuple[int, str]] = {}  # the first plan that names a memory
    for seq, event in reader.numbered(AnswerJudged, FormDecided, QuestionPlanned, since=since + 1):
        problem = ""
        if isinstance(event, QuestionPlanned) and event.form == WORKED:
            for hit in event.memories:
                worked.setdefault(hit.memory_id, (seq, event.question_id))
        match event:
            case AnswerJudged(purpose="anchor" | "form"):
                answers.setdefault((event.purpose, event.iteration), {})[event.question_id] = event.correct
            case FormDecided():
                usual, tried = (answers.get((purpose, event.iteration), {}) for purpose in ("anchor", "form"))
                if event != favoured_form(event.iteration, usual, tried, rival=event.rival):
                    problem = f"iteration {event.iteration} chose another form than the anchors' answers speak for"
                if other := next((name for name, form in forms.items() if form != event.rival), ""):
                    problem = f"{other} was to try {event.rival}, and was asked with {forms[other]}"
                if chosen:
                    problem = f"iteration {event.iteration} chose a form again, after iteration {chosen.iteration} had"
                chosen = event
            case QuestionPlanned(purpose="form"):
                forms[event.question_id] = event.form
            case QuestionPlanned() if chosen and event.form != chosen.form:
                problem = f"{event.question_id} was asked with {event.form}, where {chosen.form} had been chosen"
        if problem:
            yield Check(name=NAME, ok=False, detail=problem, bound=BOUND, seq=seq)
            return
    fields = ("memory_id", "kind", "reasoning", "phase")
    for _, memory in reader.events({MemoryAppended: fields}) if worked else ():
        assert isinstance(memory, MemoryAppended)
        if memory.memory_id in worked and memory.kind != "type_strategy" and not shows_how(memory):
            seq, name = worked[memory.memory_id]
            detail = f"{name} was asked with {WORKED}, and {memory.memory_id} does not show how its answer was reached"
            yield Check(name=NAME, ok=False, detail=detail, bound=BOUND, seq=seq)
            return
    if chosen:
        detail = f"{chosen.form} follow from {chosen.pairs} anchors that were asked in two forms, and all prompts after"
        yield Check(name=NAME, ok=True, detail=f"{detail} have them", measured=BOUND, bound=BOUND)
