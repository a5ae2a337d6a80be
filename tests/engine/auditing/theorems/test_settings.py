"""A run cannot say that it had other settings than those that its log shows."""

from functools import partial
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.settings import NAME, check_settings, drawn
from mage_es.engine.auditing.theorems.verdicts import basis_at, basis_of
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import canonical, fingerprint, parse
from mage_es.engine.run.directory import Run
from mage_es.engine.run.world import first_event
from mage_es.engine.seams.check import Check
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import Event, GuardDecided, IterationPlanned, Record, RunStarted
from tests.engine.forgery import Change, forged


def test_the_settings_of_an_honest_run_agree_with_its_log(evolved_once: Run) -> None:
    [check] = (check for check in verify(evolved_once).checks if check.name == NAME)
    assert check.ok and not check.doubt


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"seed": 8}, "seed is 8, and this run.started has another"),
        ({"iterations": 9}, "iterations is 9, and the run finished after 2"),
        ({"iterations": 1}, "iterations is 1, and iteration 1 was planned"),
        ({"pool": 99}, "pool 99 and revisit_cap 100 choose other questions"),
        ({"anchors": 2}, "anchors is 2, and this split.committed has another"),
        ({"anchors": 20}, "divide the questions otherwise"),
        ({"held_out": 200}, "divide the questions otherwise"),
        ({"guard": "off"}, "guard off with its limits makes off"),
        ({"guard_drop": 0.5}, "guard paired with its limits makes accepted"),
        ({"coin": 0.3}, "coin is 0.3, and wordmath-evolution-"),
        ({"execution": "openai/gpt-5"}, "execution is 'openai/gpt-5', and this run.started has another"),
        ({"bundle": 1}, "bundle is 1, and this question.planned has another"),
        ({"targets": 1}, "targets is 1, and this targets.selected has another"),
    ],
)
def test_a_setting_that_the_log_contradicts_is_named(
    setting: dict[str, object], words: str, evolved_once: Run, tmp_path: Path
) -> None:
    def claimed(record: Record) -> Event:
        if not isinstance(record.event, RunStarted):
            return record.event
        config = msgspec.structs.replace(parse(record.event.config), **setting)
        return msgspec.structs.replace(record.event, config=canonical(config), config_sha256=fingerprint(config))

    check = checked(evolved_once, tmp_path, claimed)
    assert not check.ok and words in check.detail, check.detail


def test_what_was_decided_is_decided_again_on_the_state_before_it(evolved_once: Run, tmp_path: Path) -> None:
    def swapped(record: Record) -> Event:
        event = record.event
        is_it = isinstance(event, IterationPlanned) and event.iteration == 1
        return msgspec.structs.replace(event, fresh=event.fresh[::-1]) if is_it else event

    def kept(record: Record) -> Event:
        event = record.event
        is_it = isinstance(event, GuardDecided) and event.iteration == 1
        return msgspec.structs.replace(event, drop=event.drop - 0.25) if is_it else event

    for number, change in enumerate((swapped, kept)):
        assert not checked(evolved_once, tmp_path / str(number), change).ok


def test_templates_that_the_package_does_not_have_are_found(evolved_once: Run, tmp_path: Path) -> None:
    def worded(record: Record) -> Event:
        event = record.event
        if not isinstance(event, RunStarted):
            return event
        first, *others = event.templates
        first = msgspec.structs.replace(first, wording=f"{first.wording} Of notebooks and pens say 14.")
        return msgspec.structs.replace(event, templates=(first, *others))

    check = checked(evolved_once, tmp_path, worded)
    assert not check.ok and "templates" in check.detail


def test_another_release_may_have_decided_otherwise_which_is_a_doubt(evolved_once: Run, tmp_path: Path) -> None:
    def older(record: Record) -> Event:
        event = record.event
        if isinstance(event, RunStarted):
            return msgspec.structs.replace(event, package_sha256="f" * 64)
        return msgspec.structs.replace(event, fresh=event.fresh[::-1]) if isinstance(event, IterationPlanned) else event

    check = checked(evolved_once, tmp_path, older)
    assert check.ok and check.doubt and "another release" in check.detail


def checked(run: Run, folder: Path, change: Change) -> Check:
    forged(run.log_path, folder / "log", change)
    reader = LogReader(folder / "log")
    started = first_event(reader)
    basis = basis_at(basis_of(reader, data_dir=None, benchmark=None), started)
    return check_settings(reader, started, basis, partial(drawn, reader, basis.world))
