"""The chunks of a run hold all of it, whatever state it is in; a folder and one file hold every chunk."""

import base64
import hashlib
import re
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config, parse
from mage_es.engine.histories.effect import effect
from mage_es.engine.histories.fork import fork
from mage_es.engine.histories.merge import merge
from mage_es.engine.histories.upgrade import upgrade
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.exams import exam_records
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import first_event, state_of
from mage_es.engine.upkeep.memory import curate
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing import chunks, reading
from mage_es.engine.viewing.askings import DECIDED, SAME
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.export import export, static
from mage_es.engine.viewing.reading import Windows
from mage_es.engine.viewing.show import show
from mage_es.engine.viewing.transcript import CallReport
from mage_es.engine.worth.memories import report_of
from mage_es.events.errors import Interrupted, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ModelCalled, QuestionPlanned
from tests.engine.conftest import begin
from tests.engine.histories.test_merge import evolved, rows
from tests.engine.viewing.conftest import opened, rows_of


def index_of(viewed: Viewed) -> Any:
    return opened(viewed.chunk(f"{viewed.name}/index"))[1]


def table(viewed: Viewed, name: str) -> list[dict[str, Any]]:
    """Return every row of a table, from the chunks that the index lists."""
    found: list[dict[str, Any]] = []
    size, chunks = index_of(viewed)["chunks"].get(name, (0, 0))
    for number in range(chunks):
        told, data = opened(viewed.chunk(f"{viewed.name}/{name}-{number}"))
        assert (told, data["first"], len(found)) == (f"{viewed.name}/{name}-{number}", number * size, number * size)
        found += [{**row, "texts": data.get("texts")} for row in rows_of(data)]
    return found


def prompt_of(answer: dict[str, Any], call: dict[str, Any]) -> str:
    return "".join(piece if isinstance(piece, str) else answer["texts"][piece["t"]] for piece in call["prompt"])


def sha256(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def test_every_prompt_is_rendered_again_with_the_hash_that_the_log_recorded(course_run: Run) -> None:
    viewed = Viewed(course_run)
    planned = [event for event in LogReader(course_run.log_path).of(QuestionPlanned)]
    called = {event.request_sha256 for event in LogReader(course_run.log_path).of(ModelCalled)}
    answers = [answer for answer in table(viewed, "answers") if answer["prompt_sha256"]]
    assert [answer["prompt_sha256"] for answer in answers] == [event.prompt_sha256 for event in planned]
    assert all(answer["verified"] and not answer["problem"] for answer in answers)
    for answer in answers:
        calls = [call for call in answer["calls"] if call["kind"] == "call"]
        for call in calls:
            prompt = prompt_of(answer, call)
            assert sha256(call["system"], prompt, call["rest"]) == call["request_sha256"] and call["seq"]
            assert call["request_sha256"] in called
        if calls and calls[0]["sha256"]:
            whole = f"{calls[0]['system']}\n\n{prompt_of(answer, calls[0])}" if calls[0]["system"] else ""
            assert sha256(whole or prompt_of(answer, calls[0])) == calls[0]["sha256"] == answer["prompt_sha256"]
    assert {call["kind"] for answer in answers for call in answer["calls"]} >= {"call", "tool"}


def test_a_prompt_with_cases_as_turns_has_the_hash_that_the_log_recorded(tmp_path: Path) -> None:
    made = begin(tmp_path, Config(benchmark="wordmath", seed=7, iterations=2, pool=16, held_out=8, anchors=8))
    answers = table(Viewed(made), "answers")
    shown = [(answer, call) for answer in answers for call in answer["calls"] if "turns " in call.get("rest", "")]
    assert shown
    for answer, call in shown:
        assert sha256(call["system"], prompt_of(answer, call), call["rest"]) == call["request_sha256"]


def test_a_question_shows_what_the_command_shows(examined: Run) -> None:
    viewed = Viewed(examined)
    questions, askings, answers, memories = (
        table(viewed, name) for name in ("questions", "askings", "answers", "memories")
    )
    asked = [[n for n, asking in enumerate(askings) if asking["question"] == row] for row in range(len(questions))]
    name, rows = next(
        (question["id"], rows)
        for question, rows in zip(questions, asked, strict=True)
        if len(answers[rows[-1]]["bundle"]) > 1
    )
    told, answer = show(examined, name), answers[rows[-1]]
    assert [entry[0] for entry in answer["bundle"] if entry[1] is not None] == [m.memory_id for m in told.bundle]
    titles = {memory["id"]: memory["title"] for memory in memories}
    assert all(entry[3] == titles[entry[0]] for entry in answer["bundle"])
    last = [call for call in answer["calls"] if call["kind"] == "call"][-1]
    assert (prompt_of(answer, last), last["reply"]) == (told.prompt, told.reply)
    assert (answer["answer"], answer["expected"]) == (told.answer, told.expected)
    (move,) = told.moves
    assert isinstance(move, CallReport)
    quoted = [(span.source, move.prompt[span.offset :][: span.length]) for span in move.sources]
    spans = [piece for piece in last["prompt"] if isinstance(piece, dict)]
    assert [(piece["source"], answer["texts"][piece["t"]]) for piece in spans] == quoted
    assert askings[rows[-1]]["verdict"] == ("correct" if told.correct else "wrong")


def test_a_question_is_found_by_its_id_without_the_table_of_all(examined: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "_SIZES", {**chunks._SIZES, "asked": 3})
    viewed = Viewed(examined)
    questions, askings = table(viewed, "questions"), table(viewed, "askings")
    _, many = index_of(viewed)["chunks"]["asked"]
    assert many == -(-len(questions) // 3) > 1
    for row, question in enumerate(questions):
        place = int.from_bytes(question["id"].encode(), "big") % 1_000_003 % many
        _, data = opened(viewed.chunk(f"{viewed.name}/asked-{place}"))
        found, its = ([{**one, "texts": None} for one in rows_of(data[name])] for name in ("questions", "askings"))
        assert {**question, "row": row} in found
        own = [{**asking, "row": n} for n, asking in enumerate(askings) if asking["question"] == row]
        assert [asking for asking in its if asking["question"] == row] == own


def test_an_anchor_that_was_not_asked_says_why_and_has_the_verdict_of_one_that_was(examined: Run) -> None:
    viewed = Viewed(examined)
    askings, answers, guard = (table(viewed, name) for name in ("askings", "answers", "guard"))
    found = set()
    for asking, answer in zip(askings, answers, strict=True):
        if why := asking["carried"]:
            then = askings[asking["verdict_of"]]
            assert (why == DECIDED) == bool(answer["prompt_sha256"]) and not any(c["seq"] for c in answer["calls"])
            assert (then["question"], then["verdict"]) == (asking["question"], asking["verdict"])
            assert not then["carried"] and then["from"] < asking["from"]
            found.add(why)
    assert found == {SAME, DECIDED}
    for one in guard[1:]:
        compared = len(one["better"]) + len(one["worse"]) + one["same"]
        assert one["drop"] == (len(one["worse"]) - len(one["better"])) / compared
        assert one["total"] == compared + one["unpaired"]


def test_a_memory_names_the_prompts_that_showed_it_and_the_events_that_it_was_made_of(examined: Run) -> None:
    viewed = Viewed(examined)
    memories, texts, answers, askings = (table(viewed, name) for name in ("memories", "texts", "answers", "askings"))
    sent = [row for row, asking in enumerate(askings) if not asking["carried"]]
    shown = {row: {entry[0] for entry in answers[row]["bundle"]} for row in sent}
    assert any(text["shown"] for text in texts)
    reader = LogReader(examined.log_path)
    state = state_of(examined, reader)
    for memory, text in list(zip(memories, texts, strict=True))[:20]:
        assert memory["prompts"] == len(text["shown"])
        own = [row for row in text["shown"] if not askings[row]["exam"]]
        told = report_of(examined.id, "", reader, state, memory["id"])
        right = sum(askings[row]["verdict"] == "correct" for row in own)
        assert (told.prompts, told.right) == (len(own), right)
    for memory, text in zip(memories, texts, strict=True):
        assert text["shown"] == [row for row, held in shown.items() if memory["id"] in held]
        assert text["facts"] and text["missing"] == 0 and max(text["facts"]) < memory["from"]


def test_what_is_written_while_a_run_is_read_leaves_its_page_behind(examined: Run, tmp_path: Path) -> None:
    run = Run(examined.id, Path(shutil.copytree(examined.path, tmp_path / examined.id)))
    before, memory = run.events, next(iter(state_of(run, LogReader(run.log_path)).memory.rows())).memory_id

    def write(share: float) -> None:
        if run.events == before:
            curate(run, memory, action="quarantine", reason="doubtful", by="me")

    viewed = Viewed(run, tell=write)
    assert run.events > before and viewed.is_behind
    assert not Viewed(run).is_behind


def test_what_an_exam_records_while_a_run_is_read_leaves_its_page_behind(examined: Run, tmp_path: Path) -> None:
    run = Run(examined.id, Path(shutil.copytree(examined.path, tmp_path / examined.id)))

    def take(asked: int) -> None:
        left = iter(range(asked))
        with pytest.raises(Interrupted):
            examine(run, questions=9, runtime=Runtime(workers=1, stop=lambda: next(left, None) is None))

    take(2)
    *_, exam = run.exams()
    before, head = exam.events, LogReader(run.log_path).head
    viewed = Viewed(run, tell=lambda share: take(4) if exam.events == before else None)
    assert exam.events > before and LogReader(run.log_path).head == head and viewed.is_behind
    assert not Viewed(run).is_behind


def test_a_memory_shows_what_its_questions_answered_when_they_were_asked_again_without_it(
    examined: Run, tmp_path: Path
) -> None:
    run = Run(examined.id, Path(shutil.copytree(examined.path, tmp_path / examined.id)))
    viewed = Viewed(run)
    assert all(text["again"] is None for text in table(viewed, "texts"))
    [row] = effect(run, top=1, reask=True).rows
    assert viewed.is_behind
    memories, texts = (table(Viewed(run), name) for name in ("memories", "texts"))
    again = {memory["id"]: text["again"] for memory, text in zip(memories, texts, strict=True)}
    assert row.paired and again[row.name] == msgspec.structs.asdict(row.paired)
    *_, begun, mark = index_of(Viewed(run))["marks"]
    assert (begun["kind"], begun["text"]) == ("asked again", "effect begins")
    found = f"{row.name[:12]} {row.paired.won} won, {row.paired.lost} lost of {row.paired.pairs}"
    assert mark["kind"] == "asked again" and mark["text"].startswith("effect, ") and mark["text"].endswith(found)
    whole = run.reasked.log_path / "HEAD"
    whole.write_bytes(b"no head" * 20)
    assert index_of(Viewed(run))["problem"] and table(Viewed(run), "texts")


def test_the_gain_is_that_of_the_newest_exam_over_the_one_of_the_start(examined: Run) -> None:
    viewed = Viewed(examined)
    start, latest = table(viewed, "exams")
    rows = table(viewed, "overview")
    last, before = rows[-1], next(row for row in rows if row["from"] == latest["from"])
    assert last["gain"] == pytest.approx(100 * (latest["correct"] - start["correct"]) / latest["total"])
    assert (last["exam"], last["exam_before"]) == (latest["exam"], start["exam"])
    assert last["low"] <= last["gain"] <= last["high"] and last["guidance_at_inference"] == 0
    costs = table(viewed, "exam_cost")
    assert {row["tier"] for row in costs} == {"execution"}
    assert [sum(row["calls"] for row in costs if row["exam"] == exam["exam"]) for exam in (start, latest)] == [
        sum(1 for _ in exam.log(examined).of(ModelCalled)) for exam in exam_records(LogReader(examined.log_path))
    ]
    assert before["gain"] is None  # when only the exam of the start was closed
    assert {row["marker"] for row in table(viewed, "overview")} >= {"start", "iter-0", "iter-1/evaluate"}


def test_the_index_says_which_checks_the_run_passes(examined: Run) -> None:
    viewed, told = Viewed(examined), verify(examined)
    (row,) = table(viewed, "verify")
    assert row["ok"] is told.ok is True and row["leaks"] == 0
    assert [check["name"] for check in row["checks"]] == [check.name for check in told.checks]


def test_a_long_log_is_verified_beside_its_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = [{"question": f"How much is {a} plus {b}?", "answer": str(a + b)} for a in range(3, 12) for b in range(6)]
    config = Config(benchmark="sums", execution="builtin/analogist", iterations=1, pool=8, anchors=6, held_out=12)
    run = find_run(tmp_path, evolve(config, tasks=tasks, scorer="number", runs_dir=tmp_path).run_id)
    (apart,) = table(Viewed(run), "verify")
    monkeypatch.setattr(reading, "EXACT", run.events - 1)
    viewed = Viewed(run, whole=True)
    assert apart["ok"] and table(viewed, "verify") == [apart] and not index_of(viewed)["exact"]


def test_quarantine_and_release_end_and_begin_what_holds_of_a_memory(copied: Run) -> None:
    name = table(Viewed(copied), "memories")[0]["id"]
    curate(copied, name, action="quarantine", reason="<b>why</b>", by="me")
    curate(copied, name, action="release", reason="a mistake", by="me")
    viewed = Viewed(copied)
    states = [row for row in table(viewed, "memory_states") if row["memory"] == 0][-3:]
    assert [row["status"] for row in states] == ["active", "quarantined", "active"]
    assert [row["to"] for row in states] == [states[1]["from"], states[2]["from"], None]
    assert [(row["what"], row["reason"]) for row in table(viewed, "curations")][-2:] == [
        ("quarantined", "<b>why</b>"),
        ("released", "a mistake"),
    ]
    assert [mark["kind"] for mark in index_of(viewed)["marks"]][-2:] == ["quarantine", "release"]


def test_a_damaged_run_says_what_verify_says(copied: Run) -> None:
    segment = sorted((copied.log_path / "seg").glob("*[0-9].parquet"))[0]
    segment.write_bytes(segment.read_bytes()[:-40] + b"x" * 40)
    viewed = Viewed(copied)
    index = index_of(viewed)
    assert index["state"] == "damaged"
    assert segment.name in index["problem"]
    (row,) = table(viewed, "verify")
    assert row["ok"] is False and any(segment.name in finding for finding in row["findings"])


def test_a_run_made_of_others_says_by_what_command_it_begins_with_the_settings_that_differ(tmp_path: Path) -> None:
    two = evolved(tmp_path, "two", rows(20, 40), iterations=1, coin=0.2)
    one = evolved(tmp_path, "one", rows(0, 20), iterations=1)
    began = parse(first_event(LogReader(two.log_path)).config)
    fork(two, at="start", config=msgspec.structs.replace(began, guard="off", coin=0.0), run_id="branch")
    upgrade(two, execution="builtin/copier", sample=2, questions=2, run_id="newer")
    merge(two, one, at=("latest", "start"), run_id="both")
    merge(one, two, at=("start", "latest"), run_id="turned")
    where = f"--runs-dir {tmp_path}"
    indices = {name: index_of(Viewed(Run(name, tmp_path / name))) for name in ("branch", "newer", "both", "turned")}
    assert {name: index["command"] for name, index in indices.items()} == {
        "branch": f"mage-es evolve --from two --at start {where} --coin 0.0 --guard off",
        "newer": f"mage-es upgrade two --at iter-0 {where} --sample 2 --execution builtin/copier",
        "both": f"mage-es merge two@iter-0 one@start --run-id both {where}",
        "turned": f"mage-es merge one@start two@iter-0 --run-id turned {where}",
    }
    assert indices["branch"]["parent"] == "start of two"


def damaged_in(run: Run, seq: int) -> str:
    """Change a byte of the segment that has this event; return its name."""
    segment = next(
        path
        for path in sorted((run.log_path / "seg").glob("*[0-9].parquet"))
        if int(path.stem.split("-")[0]) <= seq <= int(path.stem.split("-")[1])
    )
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 1
    segment.write_bytes(bytes(content))
    return segment.name


def test_a_damaged_log_shows_what_is_whole_of_it(copied: Run, examined: Run) -> None:
    start = table(Viewed(examined), "exams")[0]
    name = damaged_in(copied, examined.events - 1)
    files = {path: path.read_bytes() for path in copied.path.rglob("*") if path.is_file()}
    viewed = Viewed(copied)
    index = index_of(viewed)
    assert index["state"] == "damaged" and name in index["problem"]
    assert f"Events 1 to {index['last']} are whole" in index["problem"]
    assert start["closed"] <= index["last"] < examined.events - 1 and index["head"] == ""
    was = {row["seq"]: row for row in table(Viewed(examined), "askings") if not row["exam"]}
    assert {row["seq"]: row["verdict"] for row in table(viewed, "askings") if not row["exam"]} == {
        seq: row["verdict"] for seq, row in was.items()
    }
    answers = table(viewed, "answers")
    assert any(answer["verified"] for answer in answers) and not any(answer["verified"] is False for answer in answers)
    assert all(viewed.chunk(name) for name in viewed.names())
    assert files == {path: path.read_bytes() for path in copied.path.rglob("*") if path.is_file()}, (
        "a reader only reads"
    )


def test_memories_have_their_lesson_as_title_and_questions_their_whole_text(examined: Run) -> None:
    viewed = Viewed(examined)
    memories, texts, questions = (table(viewed, name) for name in ("memories", "texts", "questions"))
    fields = [dict(text["fields"]) for text in texts]
    lessons = [
        (row["title"], each["reasoning"]) for row, each in zip(memories, fields, strict=True) if "reasoning" in each
    ]
    assert len(lessons) > 5
    for title, lesson in lessons:
        assert title.removesuffix("...") in " · ".join(" ".join(part.split()) for part in lesson.splitlines())
    known = {text.id: text.question for text in LogReader(examined.log_path).questions()[0]}
    wordings = table(viewed, "wordings")
    assert [row["question"] for row in wordings] == [known[question["id"]] for question in questions]


def test_a_lost_exam_says_so_and_the_rest_is_shown(copied: Run) -> None:
    lost = copied.exams()[0]
    lost.path.rename(copied.path / "elsewhere")
    viewed = Viewed(copied)
    gone, there = table(viewed, "exams")
    assert "missing" in gone["problem"] and not there["problem"]
    assert {row["exam"] for row in table(viewed, "askings")} == {"", there["exam"]}


def test_a_run_without_an_event_is_empty(tmp_path: Path) -> None:
    run = Run("none", tmp_path / "none")
    (run.path / "log").mkdir(parents=True)
    viewed = Viewed(run)
    assert (index_of(viewed)["state"], index_of(viewed)["last"]) == ("empty", 0)
    assert all(viewed.chunk(name) for name in viewed.names())


def test_a_folder_holds_every_chunk_and_the_page(examined: Run, tmp_path: Path) -> None:
    to = tmp_path / "out"
    report = export([Viewed(examined, whole=True)], to)
    files = {path.relative_to(to).as_posix(): path.stat().st_size for path in to.rglob("*") if path.is_file()}
    assert (report.files, report.bytes) == (len(files), sum(files.values()))
    name, index = opened((to / f"data/{examined.id}/index.js").read_bytes())
    assert name == f"{examined.id}/index"
    told = [(table, number) for table, (_, chunks) in index["chunks"].items() for number in range(chunks)]
    listed = {f"data/{examined.id}/{table}-{number}.js" for table, number in told}
    assert listed <= set(files) and index["copy"]
    assert set(files) - listed == {
        "index.html",
        "app.js",
        "app.css",
        "data/runs.js",
        "data/words.js",
        f"data/{examined.id}/card.js",
        f"data/{examined.id}/index.js",
    }
    assert opened((to / "data/runs.js").read_bytes())[1]["runs"][0]["run"] == examined.id
    with pytest.raises(UsageError, match="not an empty folder"):
        export([Viewed(examined)], to)


def test_one_file_holds_every_chunk_as_data_and_runs_nothing_but_the_page(examined: Run, tmp_path: Path) -> None:
    to = tmp_path / "run.html"
    viewed = Viewed(examined, whole=True)
    export([viewed], to)
    page = to.read_text()
    blocks = dict(re.findall(r'<script type="text/plain" data-chunk="([^"]*)">([A-Za-z0-9+/=]*)</script>', page))
    assert set(blocks) == {*viewed.names(), "runs", "words"}
    assert (
        opened(viewed.chunk(f"{viewed.name}/askings-0"))[1]
        == opened(b'mage("x","%s")\n' % blocks[f"{viewed.name}/askings-0"].encode())[1]
    )
    scripts = re.findall(r"<script>(.*?)</script>", page, re.S)
    assert len(scripts) == 1
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in page and "src=" not in page.replace(scripts[0], "")
    assert static("app.css").decode() in page


def test_a_pass_over_a_log_gives_the_events_of_each_range(examined: Run) -> None:
    reader = LogReader(examined.log_path)
    last = reader.head.seq
    ranges = [(1, 7), (5, 30), (31, last), (2, 3), (last, last)]
    apart, together = Windows(reader, whole=False), Windows(reader, whole=True)
    for first, until in ranges:
        assert [r.seq for r in together.records(first, until)] == list(range(first, until + 1))
        assert list(together.records(first, until)) == list(apart.records(first, until))


@pytest.mark.parametrize("number", ["9" * 5000, "-1", "1e3", "\u0661", ""])
def test_what_is_no_number_of_a_chunk_is_said_to_be_of_none(examined: Run, number: str) -> None:
    with pytest.raises(KeyError):
        Viewed(examined).chunk(f"{examined.id}/events-{number}")
