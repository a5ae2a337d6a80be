"""What scored an answer is on record, so that a scorer that was edited in between shows."""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.verdicts import SCORER, basis_of, check_scorer, check_verdicts
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import exam_records
from mage_es.engine.run.fingerprints import package_sha256
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.cli.tables import asked
from mage_es.engine.viewing.show import show
from mage_es.events import vocabulary as v
from mage_es.events.errors import PrerequisiteError
from mage_es.events.log import LogReader
from tests.engine.forgery import replace
from tests.engine.viewing.test_chunks import index_of, table

MODULE = "graded_by_hand"
SCORE = "def score(reply, task):\n    return reply.strip().endswith(task.gold)\n"


@pytest.fixture
def scorer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module of the user's that scores."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / f"{MODULE}.py"
    path.write_text(SCORE)
    return path


@pytest.fixture
def run(scorer: Path, start: Callable[..., Run], tmp_path: Path) -> Run:
    rows = [f"What is {k} + {k + 3}?,{2 * k + 3}" for k in range(5, 35)]
    (tmp_path / "mine.csv").write_text("\n".join(["prompt,label", *rows]) + "\n")
    name = f"tasks/{tmp_path}/mine.csv?scorer={MODULE}:score"
    config = Config(benchmark=name, execution="builtin/analogist", iterations=1, pool=6, anchors=4)
    return start(tmp_path / "runs", config)


def checked(run: Run) -> tuple[bool, bool, str]:
    reader = LogReader(run.log_path)
    check = check_scorer(reader, basis_of(reader, data_dir=None, benchmark=None))
    assert check.name == SCORER
    return check.ok, check.doubt, check.detail


@pytest.mark.slow
def test_no_exam_is_taken_with_a_scorer_that_was_edited_since(run: Run, scorer: Path) -> None:
    examine(run, questions=4, runtime=Runtime(workers=2))
    started = next(LogReader(run.log_path).of(v.RunStarted))
    assert started.package_sha256 == package_sha256() and started.scorer_sha256 and not started.probes_sha256
    assert checked(run)[:2] == (True, False)
    scorer.write_text(SCORE.replace("endswith(task.gold)", "strip() != ''"))
    with pytest.raises(PrerequisiteError, match="The scorer changed since 0001-latest was scored"):
        examine(run, at="start", questions=4)
    ok, doubt, detail = checked(run)
    assert ok and doubt and "the scorer that is here now is another" in detail
    before = examined_right(run)
    report = examine(run, at="start", questions=4, rejudge=True)
    [anew] = LogReader(run.log_path).of(v.ExamRejudged)
    assert anew.exam == "0001-latest" and anew.total == 4 and (anew.correct, report.correct) == (4, 4)
    assert report.before is None and examined_right(run) == [*before, 4]  # the old verdicts stay
    [old, _] = exam_records(LogReader(run.log_path))
    assert f"{before[0]} of 4 right, scored again 4 of 4" in old.summary
    shown = [dict(answer["facts"]).get("scored again") for answer in table(Viewed(run), "answers")]
    assert [told for told in shown if told] == ["correct"] * 4
    question = next(LogReader(run.exams()[0].log_path).of(v.AnswerJudged)).question_id
    assert [show(run, question, exam=number).rejudged for number in (1, 2)] == [True, None]
    assert ("scored again", "correct") in asked(show(run, question, exam=1)).rows
    assert "0001-latest, scored again: 4 of 4 right" in [mark["text"] for mark in index_of(Viewed(run))["marks"]]
    ok, doubt, detail = checked(run)
    assert ok and doubt and "exams were scored by another than the run learned by" in detail
    found = {check.name: check for check in verify(run).checks}
    assert all(check.ok for check in found.values()) and found["verdicts 0002-start"].measured == "4 of 4 scored again"
    assert examine(run, questions=4).correct == 4  # what is compared is what the scorer of now says


def examined_right(run: Run) -> list[int]:
    return [closed.correct for closed in LogReader(run.log_path).of(v.ExamClosed)]


@pytest.mark.slow
def test_two_exams_by_two_scorers_are_found(evolved_once: Run, tmp_path: Path) -> None:
    run = Run(evolved_once.id, tmp_path / "copy")
    shutil.copytree(evolved_once.log_path, run.log_path)
    for marker in ("start", "latest"):
        examine(run, at=marker, questions=2, runtime=Runtime(workers=2))
    started = next(LogReader(run.log_path).of(v.RunStarted))
    assert started.probes_sha256 and not started.scorer_sha256  # the package's own

    def edited(record: v.Record) -> v.Event:
        event = record.event
        is_it = isinstance(event, v.ExamOpened) and event.marker == "latest"
        return msgspec.structs.replace(event, probes_sha256="f" * 64) if is_it else event

    assert checked(run)[:2] == (True, False)
    replace(run.log_path, tmp_path, edited)
    ok, _, detail = checked(run)
    assert not ok and detail.startswith("exam 0002-latest was scored by another scorer")


@pytest.mark.parametrize(
    ("false", "is_right"),
    [({"probes_sha256": "f" * 64}, False), ({"scorer_sha256": "f" * 64}, False), ({"package_sha256": "f" * 64}, True)],
)
def test_a_package_has_one_scorer_and_only_another_package_may_have_another(
    false: dict[str, str], is_right: bool, evolved_once: Run, tmp_path: Path
) -> None:
    run = Run(evolved_once.id, tmp_path / "copy")
    shutil.copytree(evolved_once.log_path, run.log_path)

    def edited(record: v.Record) -> v.Event:
        event = record.event
        if isinstance(event, v.AnswerJudged) and not event.correct:
            return msgspec.structs.replace(event, correct=True, score_micro=v.MICRO, strict=True)
        return msgspec.structs.replace(event, **false) if isinstance(event, v.RunStarted) else event

    replace(run.log_path, tmp_path, edited)
    reader = LogReader(run.log_path)
    basis = basis_of(reader, data_dir=None, benchmark=None)
    scorer, [verdicts] = check_scorer(reader, basis), check_verdicts(run, reader, basis)
    assert scorer.ok == is_right and scorer.doubt == is_right
    assert not verdicts.ok and "scored again it is wrong" in verdicts.detail


def test_where_package_and_scorer_are_others_a_verdict_that_differs_is_a_doubt(
    evolved_once: Run, tmp_path: Path
) -> None:
    run = Run(evolved_once.id, tmp_path / "copy")
    shutil.copytree(evolved_once.log_path, run.log_path)

    def edited(record: v.Record) -> v.Event:
        others = {"package_sha256": "f" * 64, "probes_sha256": "f" * 64}
        return (
            msgspec.structs.replace(record.event, **others) if isinstance(record.event, v.RunStarted) else record.event
        )

    replace(run.log_path, tmp_path, edited)
    ok, doubt, detail = checked(run)
    assert ok and doubt and "the scorer that is here now is another" in detail
