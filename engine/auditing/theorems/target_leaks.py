"""No target leak: task types, ids and splits do not give away the answers to guarded questions.

From the run's folder alone: its splits, its questions and their gold answers (auditing/target_leaks.py).
"""

from collections.abc import Iterator

from mage_es.engine.auditing.target_leaks import CHANCE, LEAST_SHARE, told_by, warning
from mage_es.engine.benchmarks.tasks import OWN_TASKS
from mage_es.engine.rules.splits import recorded_splits
from mage_es.engine.run.questions import stored_questions
from mage_es.engine.seams.check import Check
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import RunStarted, SplitCommitted

NAME = "target leaks"
BOUND = f"p {CHANCE:g} at {LEAST_SHARE:.0%}"


def check_target_leaks(reader: LogReader, started: RunStarted) -> Iterator[Check]:
    """Yield a check for each leak, or one that says how close the run is to one."""
    questions, has_gold = stored_questions(reader, started.benchmark)
    committed = list(reader.of(SplitCommitted))
    if not has_gold or not committed:
        why = "this copy was made without gold answers" if questions else "no questions are stored"
        yield Check(name=NAME, ok=True, detail=f"unchecked: {why}", measured="nothing", bound=BOUND)
        return
    splits = recorded_splits(committed, questions)
    by_id = {question.id: question for question in questions}
    found = told_by(by_id, splits, task_types=started.task_type_source, is_type_asked=started.is_type_asked)
    is_own = started.benchmark.startswith(OWN_TASKS)
    for told in found:
        if told.is_leak:
            measured = f"{told.right} of {told.asked} right, {told.plain} without"
            yield Check(name=NAME, ok=False, detail=warning(told, is_own=is_own), measured=measured, bound=BOUND)
    if not any(told.is_leak for told in found):
        most = max((told.right - told.plain for told in found), default=0)
        named = ", ".join(f"{told.what} {told.right} of {told.asked} ({told.plain} without)" for told in found)
        detail = f"answers right from more than the text: {named}" if found else "unchecked: too few questions"
        yield Check(name=NAME, ok=True, detail=detail, measured=f"{most:+d} right at most", bound=BOUND)
