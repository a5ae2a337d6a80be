"""Every injection of a served run is rendered again, and a log in which one was changed is found out."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.rules.prompt import packaged
from mage_es.engine.run.directory import Run
from mage_es.engine.served.notes import NoteBounds
from mage_es.engine.serving.checks import check_injections
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.viewing.show import show_inference
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from tests.engine.forgery import after, forged, instead
from tests.engine.serving.talking import closed, said
from tests.wings import copied


@pytest.fixture(scope="module")
def served(evolved_once: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that was served by two processes, with sessions on both sides of the coin."""
    path = tmp_path_factory.mktemp("served") / "runs" / evolved_once.id
    run = Run(evolved_once.id, shutil.copytree(evolved_once.path, path))
    for _ in range(2):
        live = LiveRun.open(run, holdback=0.4, bounds=NoteBounds(layout="turns"))
        for question in list(live.world.questions.values())[:12]:
            prepared = live.prepare(said(question.question), "chat")
            live.submit(prepared).result()
            live.close_inference(closed(prepared.opened.inference))
        live.close()
    return live.run


def seen(event: v.Event) -> bool:
    return isinstance(event, v.InferenceOpened) and event.treatment == "memory"


def changed(**values: object) -> Callable[[v.Event], v.Event]:
    return lambda event: msgspec.structs.replace(event, **values)


def other_memory(run: Run, opened: v.Event) -> str:
    assert isinstance(opened, v.InferenceOpened)
    rows = LogReader(run.log_path).of(v.MemoryAppended)
    return next(
        row.memory_id for row in rows if row.outcome == "success_memory" and row.memory_id not in opened.memories
    )


def test_a_served_run_passes_and_shows_its_notes_whatever_the_templates_of_this_program_say_now(
    served: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = next(event for event in LogReader(served.log_path).of(v.InferenceOpened) if seen(event))
    before = show_inference(served, opened.inference)
    words = {name: f"{text} Reworded." for name, text in packaged().items()}
    monkeypatch.setattr("mage_es.engine.rules.prompt.packaged", lambda: words)
    monkeypatch.setattr("mage_es.engine.run.world.packaged", lambda: words)
    assert all(check.ok for check in check_injections(LogReader(served.log_path)))
    assert show_inference(served, opened.inference) == before and before.note_verified


def test_a_served_run_passes_and_says_how_much_was_rendered(served: Run) -> None:
    [check] = check_injections(LogReader(served.log_path))
    treatments = {event.treatment for event in LogReader(served.log_path).of(v.InferenceOpened)}
    assert check.ok and treatments >= {"memory", "holdback"} and "24 inferences of 2 processes" in check.detail


def test_a_run_that_was_never_served_has_no_such_check(evolved_once: Run) -> None:
    assert not list(check_injections(LogReader(evolved_once.log_path)))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda run: instead(v.InferenceOpened, changed(note_sha256="0" * 64), seen), "but 0000"),
        (
            lambda run: instead(
                v.InferenceOpened,
                lambda event: changed(memories=(other_memory(run, event),), similarities=())(event),
                seen,
            ),
            "has the hash",
        ),
        (
            lambda run: instead(v.InferenceOpened, changed(memories=("f" * 32,), similarities=()), seen),
            "did not exist at the marker",
        ),
        (lambda run: instead(v.InferenceOpened, changed(similarities=(0.5,) * 9), seen), "memories and 9 similarities"),
        (lambda run: instead(v.InferenceOpened, changed(marker=5), seen), "not closed by then"),
        (lambda run: instead(v.InferenceOpened, changed(floor=1.5), seen), "is memory with"),
        (lambda run: instead(v.InferenceOpened, changed(treatment="far"), seen), "is far with"),
        (lambda run: instead(v.InferenceOpened, changed(treatment="holdback"), seen), "the coin of its session"),
        (lambda run: instead(v.ServingStarted, changed(salt="0" * 32)), "the coin of its session"),
        (lambda run: instead(v.ServingStarted, changed(salt="0" * 32), lambda e: e.process == 2), "another salt"),  # type: ignore[attr-defined]
        (lambda run: instead(v.InferenceOpened, changed(layout="sections"), seen), "has the hash"),
        (
            lambda run: instead(v.ServingStarted, changed(layout="sections")),
            "has cases as turns, but process 1 shows them as sections",
        ),
        (lambda run: instead(v.ServingStarted, changed(is_bare=True)), "has the hash"),
        (lambda run: instead(v.InferenceOpened, changed(inference="inf-1-900")), "was closed without being open"),
        (lambda run: instead(v.InferenceClosed, changed(inference="inf-1-2")), "was closed without being open"),
        (
            lambda run: after(
                v.RunInherited,
                *(
                    v.MemoryQuarantined(memory_id=name, reason="bad", by="me")
                    for name in next(e for e in LogReader(run.log_path).of(v.InferenceOpened) if seen(e)).memories
                ),
            ),
            "was quarantined at the marker",
        ),
    ],
)
def test_what_was_changed_is_told(served: Run, tmp_path: Path, change: Callable[[Run], object], told: str) -> None:
    forged(served.log_path, tmp_path / "log", change(served))  # type: ignore[arg-type]
    [check] = check_injections(LogReader(tmp_path / "log"))
    assert not check.ok and told in check.detail


@pytest.mark.slow
def test_where_the_wing_was_deleted_verify_says_that_a_served_run_is_not_checked(served: Run, tmp_path: Path) -> None:
    copied(("serving",), tmp_path)
    words = "import sys, mage_es; print(*((c.name, c.result) for c in mage_es.verify(sys.argv[1]).checks if c.doubt))"
    place = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", words, served.path], cwd=tmp_path, env=place, capture_output=True)
    assert b"('serving', 'doubt')" in done.stdout, done.stderr


def test_the_share_of_a_process_that_never_saw_a_session_does_not_decide_its_side(
    evolved_once: Run, tmp_path: Path
) -> None:
    run = Run(evolved_once.id, shutil.copytree(evolved_once.path, tmp_path / "runs" / evolved_once.id))
    LiveRun.open(run, holdback=1.0, bounds=NoteBounds(layout="turns")).close()
    live = LiveRun.open(run, holdback=0.4, bounds=NoteBounds(layout="turns"))
    for question in list(live.world.questions.values())[:12]:
        live.submit(live.prepare(said(question.question), "chat")).result()
    live.close()
    assert all(check.ok for check in check_injections(LogReader(live.run.log_path)))
    forged(live.run.log_path, tmp_path / "log", instead(v.InferenceOpened, changed(treatment="holdback"), seen))
    [check] = check_injections(LogReader(tmp_path / "log"))
    assert not check.ok and "the coin of its session does not make it holdback" in check.detail
