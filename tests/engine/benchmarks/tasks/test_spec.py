"""The name of own tasks holds everything that makes them, and is read back as it was written."""

import pytest

from mage_es.engine.benchmarks.registry import title, with_own_models
from mage_es.engine.benchmarks.tasks import names_tasks
from mage_es.engine.benchmarks.tasks.spec import parse, specified
from mage_es.engine.config import Config
from mage_es.events.errors import UsageError


def test_a_spec_is_read_back_as_it_was_written() -> None:
    columns = "question=the prompt,answer=label"
    spec = specified("/data/my file?.jsonl", scorer="number", columns=columns, test="held & out.csv", subset="x")
    assert parse(spec.name) == spec
    told = specified("a.csv", instruction="Mind 100 % of it,\nplease & thanks.", labels="late delivery, lost")
    assert parse(told.name) == told
    assert (told.labels, told.scorer) == (("late delivery", "lost"), "choice")
    assert dict(spec.columns) == {"question": "the prompt", "answer": "label"}


def test_the_name_is_the_same_however_its_columns_were_ordered() -> None:
    one = specified("a.csv", columns="question=q,answer=a").name
    assert one == specified("a.csv", columns="answer:a, question:q").name
    assert one == "tasks/a.csv?columns=answer:a,question:q&scorer=exact"


def test_a_role_that_no_column_has_is_part_of_the_name() -> None:
    spec = specified("a.csv", columns="task_type=,answer=category")
    assert (spec.columns, parse(spec.name)) == ({"task_type": "", "answer": "category"}, spec)


@pytest.mark.parametrize(
    ("name", "short"),
    [("tasks//data/my.tasks.jsonl?scorer=exact", "my"), ("tasks/hf:owner/quiz?scorer=f1", "quiz"), ("gsm8k", "gsm8k")],
)
def test_a_title_is_short_enough_for_a_folder(name: str, short: str) -> None:
    assert title(name) == short


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("tasks/a.csv?scorer=exactly", "no scorer 'exactly'. Did you mean exact"),
        ("tasks/a.csv?scoring=exact", "no option 'scoring'"),
        ("tasks/a.csv?columns=queston:q", "cannot be the 'queston' of a task. Did you mean question"),
        ("tasks/a.csv?columns=My text", "'My text' does not say what that column is: write ROLE=My text"),
        ("tasks/a.csv?columns=question", "Name the column of the question"),
        ("tasks/a.csv?columns=answer:", "Name the column of the answer: answer=NAME.$"),
        ("tasks/a.csv?columns=context", "context=NAME, or context= for none"),
        ("tasks/a.csv?scorer", "not of the form FILE"),
        ("tasks/a.csv?labels=yes", "only one label, yes"),
        ("tasks/a.csv?labels=yes,no&scorer=f1", "scorer f1 is not needed: omit it"),
        ("tasks/", "not of the form FILE"),
    ],
)
def test_what_is_no_spec_is_refused_with_what_was_meant(name: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse(name)


@pytest.mark.parametrize("name", ["my.jsonl?scorer=number", "tasks/my.jsonl?scorer=number"])
def test_a_file_names_its_tasks_by_itself_and_a_run_records_the_whole_name(name: str) -> None:
    config = with_own_models(Config(benchmark=name))
    assert config.benchmark == "tasks/my.jsonl?scorer=number" and title(name) == title(config.benchmark) == "my"
    assert not any(map(names_tasks, ("gsm8k", "webshop-100", "my.py")))
    assert parse(name, scorer="exact").scorer == "exact"
