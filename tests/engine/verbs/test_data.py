"""What a check of own tasks says of the questions that it holds out."""

from pathlib import Path

import pytest

from mage_es.engine.config import Config
from mage_es.engine.verbs.data import DataReport, check, form_of, tasks_of

TOWNS = ("Ulm", "Bonn", "Oslo", "New York", "Rome", "Kyiv", "Lima", "Bern", "Graz", "Turin")


def checked(folder: Path, *questions: str) -> DataReport:
    (folder / "own.csv").write_text("\n".join(["question,answer", *(f"{each},yes" for each in questions)]) + "\n")
    config = Config(benchmark=f"tasks/{folder}/own.csv?scorer=exact", held_out=8, anchors=0)
    return check(config, tasks_of(config, None))


def test_held_out_tasks_that_differ_in_a_name_or_a_number_are_no_copies_and_are_counted(tmp_path: Path) -> None:
    report = checked(
        tmp_path, *(f"Does a parcel to {town} of {n} kg need a label?" for n, town in enumerate(TOWNS * 3))
    )
    assert not report.groups and report.held_out == 8
    [said] = report.said
    assert said.startswith("8 of 8 held-out tasks differ from one to learn from in numbers and capitalized words alone")


def test_tasks_in_words_of_their_own_are_not_said_to_be_of_one_form(tmp_path: Path) -> None:
    words = ["amber", "birch", "cobalt", "dune", "ember", "flint", "grove", "heath", "iris", "jade", "kelp", "larch"]
    report = checked(tmp_path, *(f"is the {one} near the {other} of Ulm?" for one in words for other in words[:3]))
    assert report.said == ()


@pytest.mark.parametrize(
    ("one", "other", "is_alike"),
    [
        ("Ada has 3 apples and eats one.", "Bo Li has 1,200.50 apples and eats one.", True),
        ("Ada has 3 apples and eats one.", "Ada has 3 pears and eats one.", False),
        ("Is Ulm in Peru?", "Was Bonn by Rome?", False),
    ],
)
def test_the_form_of_a_question_is_all_but_its_numbers_and_names(one: str, other: str, is_alike: bool) -> None:
    assert (form_of(one) == form_of(other) != "") == is_alike
