"""A served run is begun beside its parent, gone on with, and refused where it would be something else."""

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import inheritance
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.open_run import open_run
from mage_es.engine.study.baseline import baseline
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.viewing.ask import ask
from mage_es.events.care.heads import kept_heads
from mage_es.events.errors import RunLocked, UsageError
from mage_es.events.log import LogReader
from mage_es.events.signing.notes import make_key, read_signer
from mage_es.events.vocabulary import Event, InferenceOpened, Record, RunInherited, RunStarted, SignerNamed
from tests.engine.conftest import SMALL
from tests.engine.forgery import replace
from tests.engine.serving.talking import said

Serve = Callable[..., LiveRun]
QUESTION = "A baker brings six boxes of rolls to the market, with 12 rolls in every box. How many are there?"


@pytest.mark.slow
def test_it_has_what_its_parent_had_learned_and_needs_it_no_more(serve: Serve, parent: Run) -> None:
    live = serve(at="iter-0")
    live.submit(live.prepare(said(QUESTION), "chat")).result()
    live.close()
    before = open_run(parent, at="iter-0").bundle(QUESTION)
    shutil.rmtree(parent.path)
    run = live.run
    after = open_run(run, at="iter-0").bundle(QUESTION)
    assert (after.memories, after.messages) == (before.memories, before.messages)
    assert verify(run).ok and all(check.equal for check in replay(run, until="iter-0").checks)
    assert ask(run, QUESTION).bundle == after.memories
    assert examine(run, questions=4).total == 4 and verify(run).ok
    again = serve(run=run)
    assert again.process == 2 and again.marker == 0


def test_a_share_that_is_none_is_refused_before_a_run_is_created(serve: Serve, parent: Run) -> None:
    with pytest.raises(UsageError, match=r"holdback is 1\.5"):
        serve(holdback=1.5)
    assert [each.name for each in parent.path.parent.iterdir()] == [parent.id]


def with_a_hint(record: Record) -> Event:
    """Change a run's log so that every prompt of it says something more."""
    if not isinstance(event := record.event, RunStarted):
        return event
    told = [msgspec.structs.replace(each, wording=f"{each.wording} Of rolls say 72.") for each in event.templates]
    return msgspec.structs.replace(event, templates=tuple(told))


def test_words_planted_in_the_templates_of_a_run_that_goes_on_are_found(
    serve: Serve, parent: Run, tmp_path: Path
) -> None:
    live = serve()
    live.close()
    config = msgspec.structs.replace(SMALL, iterations=1, pool=8)
    evolve(config, from_run=parent, runs_dir=tmp_path / "children", run_id="child")
    child = Run("child", tmp_path / "children" / "child")
    for run in (live.run, child):
        assert not any(check.doubt or not check.ok for check in verify(run, parent=parent).checks)
        replace(run.log_path, tmp_path, with_a_hint)
    found = {check.name: check for check in verify(live.run, parent=parent).checks}
    assert found["settings"].doubt and "--parent compares them" in found["settings"].detail
    assert not found["parent"].ok and "the templates of its prompts are not those of" in found["parent"].detail
    found = {check.name: check for check in verify(child).checks}
    assert not found["settings"].ok and "templates" in found["settings"].detail


def test_it_is_told_as_served_and_learns_by_publishing_only(serve: Serve, tmp_path: Path) -> None:
    live = serve()
    live.submit(live.prepare(said(QUESTION), "chat", memory="off")).result()
    live.close()
    summary = summarise(live.run)
    assert summary.state == "served" and any("inferences: 1 (off 1)" in line for line in summary.traffic)
    with pytest.raises(UsageError, match="is served and learns from what its clients say"):
        resume(live.run)
    config = msgspec.structs.replace(SMALL, iterations=1, pool=8)
    child = evolve(config, from_run=live.run, runs_dir=tmp_path / "children", run_id="child")
    reader = LogReader(tmp_path / "children" / "child" / "log")
    begun = inheritance(reader)
    assert child.state == "finished" and isinstance(begun, RunInherited) and not begun.is_served
    assert not list(reader.of(InferenceOpened)), "traffic is the served run's own account"


def test_two_processes_do_not_serve_one_run(serve: Serve) -> None:
    live = serve()
    for run in (None, live.run):
        with pytest.raises(RunLocked, match="--run-id OTHER"):
            serve(**({"run": run} if run else {}))
    assert serve(name="beside").run.id == "beside"


@pytest.mark.slow
def test_a_name_that_is_taken_by_something_else_is_refused(serve: Serve, parent: Run) -> None:
    serve(at="iter-0").close()
    with pytest.raises(UsageError, match=r"was started at iter-0 of small, not at iter-1: omit `--at`"):
        serve(at="iter-1")
    serve(at="iter-0").close()
    live = serve()
    live.close()
    assert live.marker == 0, "without a marker it goes on from where it is"
    with pytest.raises(UsageError, match="is served from its latest state"):
        serve(run=live.run, at="iter-0")
    with pytest.raises(UsageError, match="is not a run that serves another"):
        serve(name=parent.id)
    with pytest.raises(UsageError, match="within one: choose start or iter-N"):
        serve(name="part", at="iter-1/evaluate")
    with pytest.raises(UsageError, match="give a share of the sessions"):
        serve(name="more", holdback=1.5)


def test_what_cannot_be_served_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    baseline("zero_shot_cot", SMALL, runs_dir=tmp_path, run_id="base", questions=4)
    with pytest.raises(UsageError, match="is a baseline, which learns nothing"):
        LiveRun.open(Run("base", tmp_path / "base"))
    assert [path.name for path in tmp_path.iterdir()] == ["base"]


@pytest.mark.slow
def test_a_served_run_is_signed_when_it_opens_and_when_it_ends(serve: Serve, tmp_path: Path) -> None:
    key = str(make_key(tmp_path / "key", name="example.org/audit"))
    for process in (1, 2):
        live = serve(signer=read_signer(tmp_path / "key"))
        assert len(kept_heads(live.run.log_path)) == 2 * process - 1
        live.submit(live.prepare(said(QUESTION), "chat")).result()
        live.close()
    heads, reader = kept_heads(live.run.log_path), LogReader(live.run.log_path)
    assert len(heads) == 4 and heads[-1].checkpoint.size >= reader.last(InferenceOpened)
    assert len(list(reader.of(SignerNamed))) == 1
    report = verify(live.run, keys=[key])
    assert report.ok, [check for check in report.checks if not check.ok]
