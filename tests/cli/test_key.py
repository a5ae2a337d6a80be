"""Keys and receipts on the command line: made once, used by name of their file, checked by their verifier key."""

import json
from pathlib import Path

import pytest

from mage_es.engine.run.exams import exam_records
from mage_es.events.care.heads import kept_heads
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, RunRegistered
from tests.cli.conftest import Command

EVOLVE = (
    "evolve",
    "wordmath",
    "--iterations",
    "1",
    "--pool",
    "12",
    "--held-out",
    "8",
    "--anchors",
    "6",
    "--run-id",
    "one",
)


def test_a_key_is_made_once_for_its_owner_and_its_verifier_key_printed(mage: Command) -> None:
    made = mage("key", "new", "audit.key", "--name", "example.org/audit")
    assert made.code == 0 and made.out.startswith("example.org/audit+")
    assert Path("audit.key").stat().st_mode & 0o777 == 0o600
    again = mage("key", "new", "audit.key")
    assert again.code == 2 and "never overwritten" in again.err
    assert json.loads(mage("key", "new", "w.key", "--witness", "--json").out)["verifier"].startswith("mage-es+")


@pytest.mark.slow
def test_a_run_is_registered_signed_examined_verified_and_proved(
    mage: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = mage("key", "new", "audit.key", "--name", "example.org/audit").out.strip()
    stranger = mage("key", "new", "other.key", "--name", "example.org/other").out.strip()
    monkeypatch.setenv("MAGE_ES_SIGN", "audit.key")
    assert mage(*EVOLVE, "--register", "--register-seeds", "42,43").code == 0
    assert mage("exam", "one").code == 0
    log = Path("runs/one/log")
    [told] = LogReader(log).of(RunRegistered)
    assert (told.questions, told.exams, told.seeds) == (8, 1, (42, 43))
    assert len(kept_heads(log)) == 4
    verified = mage("verify", "one", "--key", verifier)
    assert (
        verified.code == 0 and "by example.org/audit" in verified.out and "seeds 42, 43 were registered" in verified.out
    )
    refused = mage("verify", "one", "--key", stranger)
    assert refused.code == 5 and "no head is signed by example.org/other" in refused.out
    assert mage("verify", "one", "--key", "audit.key").code == 2
    [exam] = exam_records(LogReader(log))
    question = next(iter(LogReader(Path(f"runs/one/exams/{exam.opened.exam}/log")).of(AnswerJudged))).question_id
    assert mage("receipt", question, "one", "--exam", "1", "--to", "receipt.json").code == 0
    assert json.loads(Path("receipt.json").read_text())["about"] == question
    assert json.loads(mage("receipt", "1", "one").out)["events"]


def test_a_registration_that_cannot_be_kept_is_refused_before_there_is_a_run(mage: Command) -> None:
    for options, why in (
        (("--register", "--register-seeds", "1,2"), "The seed 42 is not among"),
        (("--register", "--register-questions", "9"), "an exam cannot have 9"),
        (("--register", "--register-metric", "luck"), "cannot be registered"),
        (("--register-exams", "2"), "add --register"),
        (("--register-questions", "2"), "add --register"),
    ):
        refused = mage(*EVOLVE, *options)
        assert refused.code == 2 and why in refused.err, (options, refused)
    assert not Path("runs/one").exists()


def test_a_key_that_is_missing_or_none_is_named_before_anything_happens(mage: Command) -> None:
    refused = mage(*EVOLVE, "--sign", "nowhere.key")
    assert refused.code == 4 and "nowhere.key" in refused.err
    assert not Path("runs/one").exists()
