"""The files beside a log: what is stored is read back, and what was altered or lost is named."""

import hashlib
from pathlib import Path

import msgspec
import pytest

from mage_es.events.care import verify_questions
from mage_es.events.disk import LocalFileSystem
from mage_es.events.disk.layout import Layout
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.facts import QuestionTypes
from mage_es.events.log import Log
from mage_es.events.segments.questions import encode, files_of, golds_of, store, texts_of
from mage_es.events.vocabulary import Draft, QuestionGold, QuestionsStored, QuestionText, Remark
from tests.events.samples import clock

FS = LocalFileSystem()
SHOWN = QuestionText(
    id="q0", split="test", task_type="ages", question="How old?", context="c", stub="", titles=("a", "b"), family=""
)
TEXTS = [msgspec.structs.replace(SHOWN, id=f"q{number}", question=f"How old? {number} ä") for number in range(5000)]
GOLDS = [QuestionGold(id=text.id, gold="42", solution="", remarks=(Remark(name="n", text=text.id),)) for text in TEXTS]
TYPES = QuestionTypes(QuestionsStored, QuestionText, QuestionGold)
FILES = encode(TEXTS, GOLDS, TYPES)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    store(FS, Layout(tmp_path), FILES, is_first=True)
    return Layout(tmp_path)


def test_what_is_stored_is_read_back(layout: Layout) -> None:
    assert texts_of(FS, layout, FILES.stored, QuestionText) == TEXTS
    assert golds_of(FS, layout, FILES.stored, QuestionGold) == GOLDS


def test_questions_are_the_same_files_wherever_they_are_stored(layout: Layout) -> None:
    assert encode(TEXTS, GOLDS, TYPES) == FILES
    assert [path.stem for path in files_of(layout, FILES.stored)] == [
        hashlib.sha256(data).hexdigest() for data in FILES[1:]
    ]


def test_a_copy_can_be_without_golds_but_not_without_texts(layout: Layout) -> None:
    texts, golds = files_of(layout, FILES.stored)
    golds.unlink()
    assert golds_of(FS, layout, FILES.stored, QuestionGold) is None
    texts.unlink()
    with pytest.raises(LogDamaged, match="is missing, and with it the texts of 5000 questions"):
        texts_of(FS, layout, FILES.stored, QuestionText)


def test_what_was_altered_added_and_taken_away_is_named(layout: Layout) -> None:
    forged = [msgspec.structs.replace(text, question="Other?") if text.id == "q7" else text for text in TEXTS[:-1]]
    forged.append(msgspec.structs.replace(SHOWN, id="new"))
    path = files_of(layout, FILES.stored)[0]
    path.write_bytes(encode(forged, GOLDS, TYPES).texts)
    with pytest.raises(LogDamaged, match=r"1 missing \(q4999\), 1 altered \(q7\), 1 foreign \(new\)"):
        texts_of(FS, layout, FILES.stored, QuestionText)


def test_an_altered_gold_is_named(layout: Layout) -> None:
    forged = [msgspec.structs.replace(gold, gold="43") if gold.id == "q7" else gold for gold in GOLDS]
    salted = encode(TEXTS, GOLDS, TYPES).golds  # as one would who knows the salt
    path = files_of(layout, FILES.stored)[1]
    path.write_bytes(encode(TEXTS, forged, TYPES).golds)
    with pytest.raises(LogDamaged, match="5000 altered"):  # with another salt no row is what it was
        golds_of(FS, layout, FILES.stored, QuestionGold)
    path.write_bytes(salted + b"\0")
    with pytest.raises(LogDamaged, match=r"cannot be read|every row is whole, but not the file"):
        golds_of(FS, layout, FILES.stored, QuestionGold)


@pytest.mark.parametrize("at", [0, 4, 1000, -200, -1])
def test_no_changed_byte_is_read_as_a_question(layout: Layout, at: int) -> None:
    path = files_of(layout, FILES.stored)[0]
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)
    with pytest.raises(LogDamaged):
        texts_of(FS, layout, FILES.stored, QuestionText)


def test_a_short_answer_is_not_told_by_its_digest() -> None:
    other = [msgspec.structs.replace(gold, solution="s") if gold.id == "q0" else gold for gold in GOLDS]
    ours, theirs = FILES.stored.gold_digests, encode(TEXTS, other, TYPES).stored.gold_digests
    assert ours[8:16] != theirs[8:16]  # of q1, whose gold is the same


def test_a_text_that_is_no_unicode_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    with Log.create(tmp_path / "log", run="r", clock=clock()) as log:
        with pytest.raises(UsageError, match="not valid Unicode"):
            log.store([msgspec.structs.replace(SHOWN, question="\ud800")], GOLDS[:1])
        assert log.store(TEXTS[:1], GOLDS[:1]).ids == ("q0",)


def test_what_a_start_that_ended_before_its_first_event_stored_is_gone_after_the_next_one(tmp_path: Path) -> None:
    with Log.create(tmp_path / "log", run="r", clock=clock()) as log:
        log.store(TEXTS[:2], GOLDS[:2])
    with Log.open(tmp_path / "log", clock=clock()) as log:
        log.append([Draft(event=log.store(TEXTS[:1], GOLDS[:1]), iteration=-1, phase="open")])
    assert verify_questions(tmp_path / "log") == (1, 1, ())
