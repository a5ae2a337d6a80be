"""What was sent to models is in the log, whatever the words of this program are by now."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.askings.requests import Requests
from mage_es.engine.auditing.theorems.requests import check_requests
from mage_es.engine.auditing.verify import verify
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.rules import prompt
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.run.world import first_event, templates_of
from mage_es.engine.seams.model import Request
from mage_es.engine.seams.pieces import in_pieces, together
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.resume import resume
from mage_es.engine.viewing.show import show
from mage_es.events.errors import Interrupted
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import Event, IterationClosed, ModelCalled, QuestionPlanned, Record, Sent, Span
from tests.engine.conftest import SMALL
from tests.engine.forgery import forged
from tests.kit.models import Overheard

WORD = "Reworded."


def reword(patch: pytest.MonkeyPatch) -> None:
    """Add a word to every template of this program."""
    words = {name: f"{text} {WORD}" for name, text in prompt.packaged().items()}
    for module in ("mage_es.engine.rules.prompt", "mage_es.engine.run.world"):
        patch.setattr(f"{module}.packaged", lambda: words)


def rehead(patch: pytest.MonkeyPatch) -> None:
    """Change words of a prompt that are in no template, as another release of the package does."""
    patch.setattr(prompt, "headed", lambda title: f"### {title}\n\n")
    for module in ("run.fingerprints", "auditing.theorems.verdicts"):
        patch.setattr(f"mage_es.engine.{module}.package_sha256", lambda: "f" * 64)


def listening() -> tuple[Overheard, Overheard]:
    guide = Overheard(open_model("builtin/reference", "guidance"))
    return Overheard(open_model("builtin/analogist", "execution")), guide


def stopped(folder: Path, *, phase: str) -> Run:
    """Return a run that was stopped amid the questions of a phase of its first iteration."""
    seen = list[ProgressNote]()
    runtime = Runtime(workers=2, observer=seen.append, stop=lambda: any(map(amid, seen)))

    def amid(note: ProgressNote) -> bool:
        return note.iteration == 0 and note.phase == phase and note.done >= 3

    with pytest.raises(Interrupted):
        evolve(SMALL, runs_dir=folder, data_dir=None, runtime=runtime, run_id="r")
    return Run("r", folder / "r")


def digests(run: Run) -> dict[str, str]:
    *_, closed = LogReader(run.log_path).of(IterationClosed)
    return {digest.projection: digest.value for digest in closed.digests}


def calls(run: Run) -> list[Record]:
    return list(LogReader(run.log_path).records({ModelCalled}))


@pytest.mark.paper("beyond the paper, requests")
def test_every_request_is_put_together_again_from_the_log_and_each_text_is_there_once(tmp_path: Path) -> None:
    execution, guidance = listening()
    models = Models(execution, guidance)
    evolve(SMALL, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=4), run_id="r", models=models)
    reader = LogReader(tmp_path / "r" / "log")
    requests, called = Requests(reader), list(reader.of(ModelCalled))
    found = {call.request_sha256: requests.request(call.sent) for call in called}
    assert found == {request.sha256: request for request in (*execution.asked, *guidance.asked)}
    texts = [text for call in called for text in call.sent.texts]
    assert len(texts) == len(set(texts)) < sum(len(call.sent.parts) for call in called) / 3
    assert templates_of(first_event(reader)) == prompt.packaged()


@pytest.mark.slow
def test_show_says_what_was_sent_whatever_templates_and_headings_are_by_now(
    small_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    examine(small_run, at="iter-0", questions=3, data_dir=None, runtime=Runtime(workers=2))
    [(exam, _), *_] = examine(small_run, at="iter-0", questions=3, data_dir=None).answers
    plans = LogReader(small_run.log_path).of(QuestionPlanned)
    *_, plan = (plan for plan in plans if plan.memories and plan.purpose == "fresh")
    before = [show(small_run, name, data_dir=None) for name in (plan.question_id, exam)]
    reword(monkeypatch)
    rehead(monkeypatch)
    after = [show(small_run, name, data_dir=None) for name in (plan.question_id, exam)]
    assert after == before and all(report.prompt_verified for report in after)
    assert "\n## Question" in f"\n{after[0].prompt}" and WORD not in after[0].moves[0].system  # type: ignore[union-attr]
    assert verify(small_run).ok


@pytest.mark.slow
@pytest.mark.parametrize("phase", ["evaluate", "snapshot"])
def test_an_unfinished_run_goes_on_in_its_own_words_when_the_templates_have_changed(
    tmp_path: Path, small_run: Run, monkeypatch: pytest.MonkeyPatch, phase: str
) -> None:
    run = stopped(tmp_path, phase=phase)
    reword(monkeypatch)
    (execution, guidance), said = listening(), list[ProgressNote]()
    runtime = Runtime(workers=8, observer=said.append)
    resume(run, config=None, data_dir=None, runtime=runtime, models=Models(execution, guidance))
    assert digests(run) == digests(small_run)
    assert execution.asked and not [each for each in (*execution.asked, *guidance.asked) if WORD in each.text]
    assert not [note.message for note in said if "WARNING" in note.message]
    assert verify(run).ok


@pytest.mark.slow
def test_a_run_whose_other_words_have_changed_says_so_goes_on_and_makes_no_recorded_call_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = stopped(tmp_path, phase="evaluate")
    before = {(call.iteration, call.phase, call.event.subject): call.event for call in calls(run)}
    rehead(monkeypatch)
    said = list[ProgressNote]()
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=4, observer=said.append))
    warnings = [note.message for note in said if "renders differently" in note.message]
    assert len(warnings) == 1 and "Recorded calls are not repeated" in warnings[0]
    now = Counter((call.iteration, call.phase, call.event.subject) for call in calls(run))
    assert set(now.values()) == {1} and len(now) > len(before)
    kept = {(call.iteration, call.phase, call.event.subject): call.event for call in calls(run)}
    assert before.items() <= kept.items()
    assert verify(run).ok


def test_a_text_that_was_not_sent_a_number_that_none_has_and_a_request_that_is_not_there_are_found(
    small_run: Run, tmp_path: Path
) -> None:
    *_, last = calls(small_run)

    def with_sent(name: str, sent: Sent) -> Run:
        def change(record: Record) -> Event:
            return msgspec.structs.replace(record.event, sent=sent) if record.seq == last.seq else record.event

        run = Run(name, tmp_path / name)
        forged(small_run.log_path, run.log_path, change)
        return run

    sent = last.event.sent
    for name, other, words in (
        ("other", msgspec.structs.replace(sent, parts=(*sent.parts[:-1], sent.parts[0])), "does not have the hash"),
        ("unknown", msgspec.structs.replace(sent, parts=(*sent.parts, 999_999)), "sent the text 999999"),
        ("twice", msgspec.structs.replace(sent, first=1, texts=("again",)), "gives the number 1 to another text"),
        ("none", Sent(), "is not on record"),
    ):
        run = with_sent(name, other)
        check = check_requests(run, LogReader(run.log_path))
        assert not check.ok and words in check.detail and last.event.about in check.detail, name
    assert check_requests(small_run, LogReader(small_run.log_path)).ok


def test_pieces_of_any_request_are_that_request_again() -> None:
    spans = [Span(offset=10, length=11, source="memory/a"), Span(offset=23, length=3, source="memory/b")]
    text = "## Notes\n\n> one\n> two\n\n> 3\n\n## Question\n\nWhy?"
    for request in (
        Request(prompt=text, system="Answer."),
        Request(prompt=""),
        Request(prompt="a\n\nb\n\nc", turns=(3, 6), sample=4, temperature=1),
        Request(prompt="a b", turns=(2,)),  # not divided as ours are
        Request(prompt="\n\n\n\n", turns=(2, 4)),
        Request(prompt='```json\n{"a":1}\n```\n\nAgain.', reply_schema='{"type":"object"}', max_tokens=8),
    ):
        pieces = in_pieces(request, spans)
        found = together(pieces.sent.texts, pieces.begins)
        assert found == request and found.sha256 == request.sha256
    assert [piece.text for piece in in_pieces(Request(prompt=text), spans).pieces][-2:] == ["## Question\n\n", "Why?"]
