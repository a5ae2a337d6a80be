"""Heads of a run are signed at its turns, what they prove goes into a receipt, and a bare interpreter checks that."""

import json
import re
import shutil
import site
import subprocess
import sys
from pathlib import Path

import pytest

from mage_es.engine.auditing import check_receipt
from mage_es.engine.auditing.heads import Receipt, cosign, receipt, sign
from mage_es.engine.auditing.verify import VerifyReport, verify
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.upkeep.backup import backup, restore
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.events import vocabulary as v
from mage_es.events.care.heads import kept_heads
from mage_es.events.disk import Layout
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.signing.notes import Signer, make_key, read_signer
from tests.engine.conftest import SMALL

pytestmark = pytest.mark.slow
REGISTERED = v.RunRegistered(metric="accuracy", questions=6, exams=1, seeds=(SMALL.seed,))


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    folder = tmp_path_factory.mktemp("keys")
    make_key(folder / "key", name="example.org/audit")
    return read_signer(folder / "key")


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory, key: Signer) -> Run:
    """A registered run with an exam, both signed. Shared: only copy it."""
    runs, runtime = tmp_path_factory.mktemp("signed") / "runs", Runtime(workers=2, signer=key)
    evolve(SMALL, runs_dir=runs, runtime=runtime, run_id="small", registration=REGISTERED)
    examine(runs / "small", questions=6, runtime=runtime)
    return Run("small", runs / "small")


@pytest.fixture
def run(signed: Run, tmp_path: Path) -> Run:
    return Run(signed.id, shutil.copytree(signed.path, tmp_path / "runs" / signed.id))


def state(report: VerifyReport, beginning: str) -> str:
    return next(ground.state for ground in report.grounds if ground.claim.startswith(beginning))


def test_heads_are_signed_before_the_first_call_at_the_end_and_around_each_exam(run: Run, key: Signer) -> None:
    reader, sizes = LogReader(run.log_path), [head.checkpoint.size for head in kept_heads(run.log_path)]
    first_call = next(seq for seq, _ in reader.numbered(v.ModelCalled))
    turns = [next(seq for seq, _ in reader.numbered(each)) for each in (v.RunFinished, v.ExamOpened, v.ExamClosed)]
    assert len(sizes) == 4 and reader.last(v.SignerNamed) == sizes[0] < first_call
    assert sizes[1:] == turns
    report = verify(run, keys=[str(key.verifier)])
    assert report.ok, [check for check in report.checks if not check.ok]
    assert state(report, "nothing was removed") == f"yes, up to event {turns[-1]}, by example.org/audit"


def test_what_a_claim_rests_on_follows_what_is_given(run: Run, key: Signer, tmp_path: Path) -> None:
    newest = kept_heads(run.log_path)[-1]
    alone = verify(run)
    assert "if --key example.org/audit+" in state(alone, "nothing was removed")
    assert {ground.rests_on for ground in alone.grounds} == {"recomputed", "a head you kept", "belief"}
    assert state(alone, "no other runs") == f"seeds {SMALL.seed} were registered"
    kept = tmp_path / "kept.note"
    kept.write_bytes(newest.file.read_bytes())
    shutil.rmtree(Layout(run.log_path).heads)
    unsigned = verify(run)
    assert not unsigned.ok and next(c for c in unsigned.checks if not c.ok).name == "signed heads"
    assert state(unsigned, "nothing was removed").startswith("NO")
    again = verify(run, head=str(kept))
    assert again.ok
    assert state(again, "nothing was removed") == f"yes, up to event {newest.checkpoint.size}"


def test_a_run_without_a_key_says_that_nothing_shows_a_cut(evolved_once: Run) -> None:
    report = verify(evolved_once)
    assert report.ok and "signed heads" not in {check.name for check in report.checks}
    assert state(report, "nothing was removed").startswith("not shown")


def test_an_exam_that_was_forged_after_it_was_signed_is_found(run: Run) -> None:
    """The forger has the package's writer: the log is written again with another result, every hash agrees."""
    from mage_es.engine.run.directory import clock
    from mage_es.events.log import Log
    from mage_es.events.vocabulary import Draft

    records = list(LogReader(run.log_path).records())
    heads = [(head.file.name, head.file.read_bytes()) for head in kept_heads(run.log_path)]
    path = run.path / "forged" / "log"
    with Log.create(path, run=run.id, clock=clock) as log:
        for record in records:
            event = record.event
            if type(event).__name__ == "SegmentSealed":
                continue
            if isinstance(event, v.ExamClosed):
                event = v.ExamClosed(**{**{n: getattr(event, n) for n in event.__struct_fields__}, "correct": 6})
            log.append([Draft(event=event, iteration=record.iteration, phase=record.phase, ordinal=record.ordinal)])
    Layout(path).heads.mkdir()
    for name, data in heads:
        (Layout(path).heads / name).write_bytes(data)
    for name in ("questions", "golds"):
        shutil.copytree(run.log_path / name, path / name)
    shutil.rmtree(run.log_path)
    path.rename(run.log_path)
    report = verify(run)
    assert next(check for check in report.checks if check.name == "log").ok
    assert not next(check for check in report.checks if check.name == "signed heads").ok


def test_signed_heads_go_through_backup_and_restore_and_a_witness_adds_a_line(
    run: Run, key: Signer, tmp_path: Path
) -> None:
    witness = make_key(tmp_path / "witness", name="example.org/witness", is_witness=True)
    before = LogReader(run.log_path).head
    cosign(run, read_signer(tmp_path / "witness"))
    assert LogReader(run.log_path).head == before
    backup(run, str(tmp_path / "backup"))
    restore(str(tmp_path / "backup"), runs_dir=tmp_path / "again", name="small")
    report = verify(tmp_path / "again" / "small", keys=[str(key.verifier), str(witness)])
    assert report.ok, [check for check in report.checks if not check.ok]
    assert "by example.org/witness" in state(report, "times are true")


def bare(tmp_path: Path, *arguments: str, alone: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the checker as a file of its own, in an interpreter that finds cryptography, or nothing, beside itself."""
    modules = tmp_path / ("none" if alone else "modules")
    modules.mkdir(exist_ok=True)
    for folder in [] if alone else map(Path, [*site.getsitepackages(), *sys.path]):
        for path in [*folder.glob("cryptography"), *folder.glob("_cffi_backend*"), *folder.glob("cffi")]:
            if not (modules / path.name).exists():
                (modules / path.name).symlink_to(path)
    script = shutil.copy(check_receipt.__file__, tmp_path / "check_receipt.py")
    # -S: no site-packages, so nothing of ours can be imported; the folder is all that there is.
    command = [sys.executable, "-S", str(script), *arguments]
    environment = {"PYTHONPATH": str(modules), "PYTHONIOENCODING": "utf-8"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)


def written(found: Receipt, file: Path) -> Path:
    import msgspec

    file.write_bytes(msgspec.json.encode(found))
    return file


def test_a_receipt_of_an_exams_answer_is_checked_by_a_bare_interpreter_and_a_changed_one_is_not(
    run: Run, key: Signer, tmp_path: Path
) -> None:
    [exam] = run.exams()
    verdict = next(exam for exam in LogReader(exam.log_path).of(v.AnswerJudged))
    found = receipt(run, verdict.question_id)
    assert [json.loads(each.leaf)["type"] for each in found.events] == ["exam.opened", "exam.closed"]
    own = [json.loads(each.leaf) for each in found.exam_events]
    assert {"question.planned", "model.called", "answer.judged"} <= {each["type"] for each in own}
    file = written(found, tmp_path / "receipt.json")
    proved = bare(tmp_path, str(file), str(key.verifier))
    assert proved.returncode == 0, proved.stderr
    assert (
        f'"question_id": "{verdict.question_id}"' in proved.stdout and "is signed by example.org/audit" in proved.stdout
    )
    text = file.read_text()
    turned = text.replace('\\"score_micro\\":0', '\\"score_micro\\":1000000')
    turned = turned if turned != text else text.replace('\\"correct\\":true,', "")
    other = make_key(tmp_path / "other", name="example.org/audit")
    for forged, why in (
        (turned, "is not in the exam"),
        (text.replace('"index":', '"index":1'), "NOT proved"),
        (text.replace(f"/{found.checkpoint.split(chr(10))[0].split('/')[-1]}", "/0"), "is false"),
    ):
        assert forged != text, why
        (tmp_path / "forged.json").write_text(forged)
        refused = bare(tmp_path, str(tmp_path / "forged.json"), str(key.verifier))
        assert refused.returncode == 1 and why in refused.stderr, (why, refused)
        # The tree needs the standard library alone; a false signature needs the package.
        alone = bare(tmp_path, str(tmp_path / "forged.json"), alone=True)
        assert (alone.returncode == 1) == (why != "is false"), (why, alone)
    refused = bare(tmp_path, str(file), str(other))
    assert refused.returncode == 1 and "no signature of" in refused.stderr
    alone = bare(tmp_path, str(file), alone=True)
    assert alone.returncode == 0 and alone.stdout.splitlines()[:-1] == proved.stdout.splitlines()[:-1]
    assert "who signed it is NOT CHECKED" in alone.stdout
    asked = bare(tmp_path, str(file), str(key.verifier), alone=True)
    assert asked.returncode == 1 and "NOT proved: who signed it" in asked.stderr


@pytest.mark.parametrize(
    "content", [None, b"", b"no JSON", b"\xff", b"[]", b"{}", b"1", b'{"checkpoint": 1}', b'{"checkpoint": "a\nb\nc"}']
)
def test_what_is_no_receipt_is_named_in_one_line(content: bytes | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "nope.json").write_bytes(content)
    for arguments in (["nope.json"], ["."], []):
        done = bare(tmp_path, *arguments)
        said = f"{' '.join(arguments) or 'No file'}: this is not a receipt"
        assert done.returncode == 2 and done.stderr.startswith(said) and done.stderr.count("\n") == 1, done


def test_what_checks_a_receipt_has_at_most_60_lines() -> None:
    lines = Path(check_receipt.__file__).read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) <= 60


def test_a_receipt_of_an_exam_and_of_a_question_that_was_learned_from(run: Run, tmp_path: Path) -> None:
    found = receipt(run, "1")
    assert [json.loads(each.leaf)["event"]["exam"] for each in found.events] == ["0001-latest"] * 2
    learned = next(event for event in LogReader(run.log_path).of(v.AnswerJudged) if event.purpose == "fresh")
    of_run = receipt(run, learned.question_id)
    assert not of_run.exam_events and len(of_run.events) >= 3
    assert bare(tmp_path, str(written(of_run, tmp_path / "receipt.json"))).returncode == 0


def test_what_has_no_receipt_is_refused_with_the_reason(run: Run, evolved_once: Run, key: Signer) -> None:
    with pytest.raises(UsageError, match="is neither a question that small asked nor an exam"):
        receipt(run, "nothing")
    with pytest.raises(UsageError, match=r"small has no complete exam 2\. Complete exams: 1\."):
        receipt(run, "nothing", exam=2)
    asked = {event.question_id for event in LogReader(run.exam("0001-latest").log_path).of(v.QuestionPlanned)}
    learned = next(event for event in LogReader(run.log_path).of(v.AnswerJudged) if event.question_id not in asked)
    with pytest.raises(UsageError, match="exam 1 asked") as told:
        receipt(run, learned.question_id, exam=1)
    named = set(re.findall(r"wordmath-\S+-\d+", str(told.value).partition("an exam.")[2]))
    assert named and named <= asked, "another exam, or the run, asked others"
    learned = next(iter(LogReader(evolved_once.log_path).of(v.AnswerJudged)))
    with pytest.raises(UsageError, match="No signed head covers event"):
        receipt(evolved_once, learned.question_id)


def test_a_run_begun_without_a_key_is_signed_afterwards(evolved_once: Run, key: Signer, tmp_path: Path) -> None:
    run = Run("small", shutil.copytree(evolved_once.path, tmp_path / "runs" / "small"))
    sign(run, key)
    report = verify(run, keys=[str(key.verifier)])
    assert report.ok and state(report, "nothing was removed").startswith("yes, up to event")


def registered(run: Run) -> str:
    return next(check.detail for check in verify(run).checks if check.name == "registered")


def test_what_was_registered_is_recorded_before_the_first_call_and_each_deviation_is_told(run: Run) -> None:
    reader = LogReader(run.log_path)
    [(at, told)] = reader.numbered(v.RunRegistered)
    assert told == REGISTERED and at < next(seq for seq, _ in reader.numbered(v.ModelCalled))
    assert "DEVIATES" not in registered(run)
    examine(run, questions=7)
    assert "2 exams of the last state were taken, not 1" in registered(run)
    assert "exam 0002-latest asked 7 questions" in registered(run)
