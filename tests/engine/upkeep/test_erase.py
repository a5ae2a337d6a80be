"""The verb `erase`: no byte tells of the subject any more, nothing else is lost, and the receipt says what was done."""

import json
import os
import shutil
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from mage_es.engine.auditing.verify import verify
from mage_es.engine.exports.event_files import export
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.world import state_of
from mage_es.engine.upkeep.backup import backup, restore
from mage_es.engine.upkeep.erase import ErasureReceipt, erase, plan_erasure
from mage_es.engine.upkeep.memory import memories
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.export import export as export_page
from mage_es.engine.worth.memories import things_of
from mage_es.events.disk.keys import destroy_key, keys_of
from mage_es.events.errors import PrerequisiteError, RunLocked, UsageError
from mage_es.events.facts.private import Private
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import AnswerJudged, Draft, KeyDestroyed, MemoryAppended, ModelCalled, Record
from tests.engine.pears import CANARIES, SHARED, SUBJECTS, Echo, in_clear, models_with, stopped, texts_in
from tests.engine.viewing.test_chunks import table

pytestmark = pytest.mark.slow

WHO = "customer-1"
LATER = "iter-2"
"""The last iteration, before anything was quarantined."""


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that was stopped in its first iteration. Shared: only copy it."""
    return stopped(tmp_path_factory.mktemp("begun"), Echo())


@pytest.fixture(scope="module")
def learned(begun: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """That run at its end, with an exam. Shared: only copy it."""
    run = Run("pears", Path(shutil.copytree(begun.path, tmp_path_factory.mktemp("learned") / "pears")))
    resume(run, models=models_with(Echo()))
    examine(run, execution=Echo())
    return run


@pytest.fixture
def run(learned: Run, tmp_path: Path) -> Run:
    return Run("pears", Path(shutil.copytree(learned.path, tmp_path / "runs" / "pears")))


def who_of(record: Record) -> str:
    """Return whose question a verdict or a reply of the Learner is about."""
    event = record.event
    return SUBJECTS.get(event.question_id if isinstance(event, AnswerJudged) else getattr(event, "about", ""), "")


def rebuilt(run: Run) -> dict[str, str]:
    report = replay(run, until=LATER)
    assert all(check.equal for check in report.checks)
    return {check.projection: check.rebuilt for check in report.checks}


def test_no_byte_of_the_run_or_of_what_was_made_of_it_tells_of_who_was_erased(run: Run, tmp_path: Path) -> None:
    before = rebuilt(run)
    replay(run, tables=True)
    reader = LogReader(run.log_path, opened=False)
    export(reader, tmp_path / "exported", format="csv", until=reader.head.seq)
    export_page([Viewed(run, opened=False, whole=True)], tmp_path / "page.html", words={})
    backup(run)
    [question] = [each for each in LogReader(run.log_path).questions()[0] if each.id == "row-1"]
    for cache in ("snapshots", "replays"):
        (run.path / cache / "left.bin").write_text(f"left of a crash: {question.question.upper()}")
    (tmp_path / "shared.txt").write_text(f"What all tasks ask, of whomever: {SHARED}")
    receipt = erase(run, subject=WHO, also=[tmp_path / "exported", tmp_path / "page.html", tmp_path / "shared.txt"])
    assert not in_clear(tmp_path)
    assert not [path for path, text in texts_in(run.path) if WHO in text]
    assert verify(run).ok
    assert rebuilt(run) == before
    examine(run, execution=Echo())
    stores = {each.store: each for each in receipt.event.stores}
    assert (stores["snapshots"].found, stores["replays"].found, stores["log"].found) == (1, 1, 0)
    assert stores["backup"].place.endswith("runs-backups/pears")
    assert [each.place for each in receipt.event.stores if each.store == "named"] == [
        str(tmp_path / "exported"),
        str(tmp_path / "page.html"),
        str(tmp_path / "shared.txt"),
    ]
    assert [each.found for each in receipt.event.stores if each.store == "named"][-1] == 0
    assert msgspec.json.decode(Path(receipt.path).read_bytes(), type=ErasureReceipt) == receipt
    [event] = LogReader(run.log_path).of(KeyDestroyed)
    assert event == receipt.event


def test_a_page_shows_tokens_in_place_of_its_prompts_and_all_others_as_they_were_sent(run: Run) -> None:
    erase(run, subject=WHO)
    viewed = Viewed(run)
    askings, answers, names = (table(viewed, each) for each in ("askings", "answers", "questions"))
    gone = [a for asking, a in zip(askings, answers, strict=True) if SUBJECTS[names[asking["question"]]["id"]] == WHO]
    called = [answer for answer in gone if answer["calls"]]
    assert called and all(answer["problem"].startswith("Erased") and answer["verified"] is None for answer in called)
    prompts = [piece for answer in called for call in answer["calls"] for piece in call["prompt"]]
    assert prompts and all(prompt.startswith("[erased ") for prompt in prompts)
    others = [answer for answer in answers if answer not in gone and answer["calls"]]
    assert not [call for answer in others for call in answer["calls"] if call.get("verified") is False]
    assert {answer["verified"] for answer in others} == {True, None}
    assert all(not answer["problem"] or answer["problem"].startswith("Erased") for answer in others)


def test_a_file_with_its_name_or_texts_in_clear_is_told_and_left(run: Run, tmp_path: Path) -> None:
    [question] = [each for each in LogReader(run.log_path).questions()[0] if each.id == "row-1"]
    (run.path / "mine").mkdir()
    (run.path / "mine" / "notes.txt").write_text(f"Asked today: {question.question}")
    (tmp_path / "calls.txt").write_text(f"{WHO} called.")
    receipt = erase(run, subject=WHO, also=[tmp_path / "calls.txt"])
    told = {each.store: each for each in receipt.event.stores if each.store in ("mine", "named")}
    assert [each.found for each in told.values()] == [1, 1]
    assert "(notes.txt)" in told["mine"].left and "(calls.txt)" in told["named"].left
    assert (run.path / "mine" / "notes.txt").exists() and (tmp_path / "calls.txt").exists()


def test_what_its_questions_taught_is_in_quarantine_and_nothing_else_is_changed(run: Run) -> None:
    facts = {
        record.fact_id.hex()
        for record in LogReader(run.log_path).records({AnswerJudged})
        if SUBJECTS[getattr(record.event, "question_id", "")] == WHO
    }
    before = {item.memory_id: item.status for item in memories(run, at="latest").items}
    state = state_of(run, LogReader(run.log_path))
    own = {name for name, thing in things_of(state) if facts & set(thing.origin.facts)}
    receipt = erase(run, subject=WHO, reason="asked on Monday", by="dana")
    after = {item.memory_id: item.status for item in memories(run, at="latest").items}
    changed = {name for name in before if after[name] != before[name]}
    assert before.keys() == after.keys()
    assert own <= {name for name, status in after.items() if status == "quarantined"}
    assert {after[name] for name in changed} == {"quarantined"}
    assert any(status == "active" for status in after.values())
    assert receipt.event.quarantined >= len(changed) > 0
    assert (receipt.event.reason, receipt.event.by) == ("asked on Monday", "dana")


def test_what_was_made_of_its_answers_or_is_under_its_key_goes_too_and_what_is_of_others_stays(run: Run) -> None:
    reader = LogReader(run.log_path)
    answers = {who_of(record): record.fact_id.hex() for record in reader.records({AnswerJudged})}
    replies = {who_of(record): record.fact_id.hex() for record in reader.records({ModelCalled})}
    [made, *_], theirs = reader.of(MemoryAppended), answers["customer-2"]
    made = replace(made, outcome="principle", kind="", question_id="", question="", answer="")
    with Log.open(run.log_path, clock=clock) as log:
        log.keys = keys_of(run.log_path)
        # An answer without words has no text that is under a key.
        judged = next(event for event in reader.of(AnswerJudged) if SUBJECTS[event.question_id] == WHO)
        [seq] = log.append([Draft(event=replace(judged, answer=""), iteration=2, phase="log", ordinal=9)]).seqs
        [silent] = [each.fact_id.hex() for each in LogReader(run.log_path).records({AnswerJudged}) if each.seq == seq]
        whole = {
            "of its answer": ((answers[WHO], theirs), "Count."),
            "of its silence": ((silent,), "Count all."),
            "of its reply": ((theirs, replies[WHO]), "Count each."),
            "under its key": ((theirs,), Private("Count two.", frozenset({WHO}))),
            "of others": ((theirs, answers["customer-3"], replies["customer-2"]), "Count twice."),
        }
        for place, (name, (facts, text)) in enumerate(whole.items()):
            event = replace(made, memory_id=name, reasoning=text, origin=replace(made.origin, facts=facts))
            log.append([Draft(event=event, iteration=2, phase="log", ordinal=10 + place)])
    erase(run, subject=WHO)
    status = {item.memory_id: item.status for item in memories(run, at="latest").items}
    assert [status[name] for name in whole] == ["quarantined"] * 4 + ["active"]


def test_the_receipt_has_the_providers_ids_of_its_replies_and_no_others(run: Run) -> None:
    logs = [LogReader(each.log_path) for each in (run, *run.exams())]
    calls = [call for log in logs for call in log.of(ModelCalled)]
    its = {call.provider_id for call in calls if SUBJECTS.get(call.about) == WHO}
    receipt = erase(run, subject=WHO)
    assert its - {""} <= set(receipt.provider_ids)
    assert receipt.event.replies < len(calls)
    left = {each.store: each.left for each in receipt.event.stores}
    assert f"{len(receipt.provider_ids)} replies" in left["provider"]


def test_a_second_erasure_says_that_it_was_done_and_one_with_the_key_there_again_is_done_again(run: Run) -> None:
    copy = (run.path / "keys").read_bytes()
    first = erase(run, subject=WHO)
    head = LogReader(run.log_path).head
    again = erase(run, subject=first.event.subject_id)
    assert (again.is_repeated, again.event, again.seq) == (True, first.event, first.seq)
    assert erase(run, subject=WHO).is_repeated
    assert LogReader(run.log_path).head == head
    (run.path / "keys").write_bytes(copy)
    [back] = [check for check in verify(run).checks if not check.ok]
    assert back.name == "keys" and first.event.subject_id in back.detail
    assert not erase(run, subject=WHO).is_repeated
    assert verify(run).ok


def test_an_erasure_that_was_cut_off_after_the_key_was_gone_is_finished_and_says_what_it_could_not_search(
    run: Run,
) -> None:
    [question] = [each for each in LogReader(run.log_path).questions()[0] if each.id == "row-1"]
    (run.path / "snapshots").mkdir(exist_ok=True)
    (run.path / "snapshots" / "left.bin").write_text(f"left of a crash: {question.question}")
    destroy_key(run.log_path, WHO)
    plan = plan_erasure(run, subject=WHO)
    receipt = erase(run, subject=WHO)
    assert plan.questions == 6 and plan.to_quarantine
    assert receipt.event.quarantined >= len(plan.to_quarantine) and not receipt.is_repeated
    stores = {each.store: each for each in receipt.event.stores}
    assert not (run.path / "snapshots" / "left.bin").exists() and stores["snapshots"].found > 0
    assert stores["log"].done.endswith("not searched") and "its key was gone before the search" in stores["log"].left


def test_the_file_that_the_key_was_in_is_overwritten_and_the_others_keys_stay(run: Run, tmp_path: Path) -> None:
    os.link(run.path / "keys", tmp_path / "blocks")
    assert destroy_key(run.log_path, WHO)
    assert not any((tmp_path / "blocks").read_bytes())
    keys = LogReader(run.log_path).keys
    assert keys and set(keys.ids) == CANARIES.keys() - {WHO}
    assert (run.path / "keys").stat().st_mode & 0o777 == 0o600


def test_an_unknown_subject_is_told_the_ids_of_those_there_are_and_no_name(run: Run) -> None:
    keys = LogReader(run.log_path).keys
    assert keys
    with pytest.raises(UsageError) as refused:
        erase(run, subject="someone")
    assert all(ident in str(refused.value) for ident in keys.ids.values())
    assert not any(name in str(refused.value) for name in keys.ids)
    with pytest.raises(UsageError, match="There is nothing at nowhere to search"):
        erase(run, subject=WHO, also=["nowhere"])


def test_while_another_writes_the_run_nothing_is_erased(run: Run) -> None:
    with Log.open(run.log_path, clock=clock), pytest.raises(RunLocked):
        erase(run, subject=WHO)
    assert not erase(run, subject=WHO).is_repeated


def test_a_copy_without_keys_has_none_to_destroy_and_one_with_no_keys_can_be_told_so(run: Run, tmp_path: Path) -> None:
    ident = plan_erasure(run, subject=WHO).subject_id
    backup(run)
    restore(str(tmp_path / "runs-backups" / "pears"), runs_dir=tmp_path / "copies", name="pears")
    copy = Run("pears", tmp_path / "copies" / "pears")
    assert erase(copy, subject=ident).event.questions == 6
    (run.path / "keys").unlink()
    with pytest.raises(PrerequisiteError, match="no file of keys"):
        erase(run, subject=WHO)


def test_other_runs_with_a_key_of_the_same_subject_are_named_and_left(run: Run) -> None:
    twin = Run("twin", Path(shutil.copytree(run.path, run.path.with_name("twin"))))
    plan = plan_erasure(run, subject=WHO)
    receipt = erase(run, subject=WHO)
    [told] = [each for each in receipt.event.stores if each.store == "run beside"]
    assert plan.beside == {"twin": plan.subject_id}
    assert told.left.endswith(f"mage-es erase twin --subject {plan.subject_id}")
    assert WHO in json.dumps(list((LogReader(twin.log_path).keys or pytest.fail()).ids))


def test_an_iteration_under_way_with_its_questions_is_told_before_and_cannot_be_finished_after(
    begun: Run, tmp_path: Path
) -> None:
    run = Run("pears", Path(shutil.copytree(begun.path, tmp_path / "pears")))
    under_way = plan_erasure(run, subject=WHO).under_way
    assert under_way and {SUBJECTS[name] for name in under_way} == {WHO}
    erase(run, subject=WHO)
    assert verify(run).ok
    with pytest.raises(PrerequisiteError, match=f"cannot be finished, since {len(under_way)} of its questions"):
        resume(run, models=models_with(Echo()))
