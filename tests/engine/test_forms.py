"""A run that chooses the form of its prompts: by a trial on anchors, on record, whatever happens in between."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import mage_es
from mage_es.engine.auditing.theorems.forms import check_forms
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.histories.what_if import what_if
from mage_es.engine.rules.forms import anchors_to_try, rival_of
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import first_event
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.open_run import open_run
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.worth.memories import bare_setting
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.projections.fold import fold
from tests.engine.forgery import forged, instead, replace
from tests.engine.serving.talking import said

pytestmark = pytest.mark.slow

WHO = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ines", "Jon")
TASKS, MORE = (
    [
        {"question": f"{who} asks: How much is {a} plus {b}?", "answer": a + b}
        for a in range(10, end)
        for b, who in enumerate(WHO)
    ]
    for end in (26, 50)
)
CONFIG = Config(benchmark="sums", iterations=2, pool=20, held_out=12, anchors=12, form="auto", coin=0.0)
LINES = msgspec.structs.replace(CONFIG, route="direct")


def right(reply: str, task: mage_es.Question) -> bool:
    return reply.rstrip(".").endswith(task.gold)


class Reader:
    """Adds rightly where it can read the form of its prompt, and every fifth time in any case."""

    name = "test/reader"

    def __init__(self, reads: Callable[[mage_es.Request], bool], most: int = 10**9) -> None:
        self.reads, self.left = reads, most

    async def complete(self, request: mage_es.Request) -> mage_es.Completion:
        if self.left == 0:
            raise RuntimeError("the process is killed")
        self.left -= 1
        a, b = map(int, re.findall(r"How much is (\d+) plus (\d+)\?", request.prompt)[-1])
        knows = (a + b) % 5 == 0 or self.reads(request)
        return mage_es.Completion(text=f"I add.\n{a + b if knows else 1000}", input_tokens=1, output_tokens=1)


def reads_lines(request: mage_es.Request) -> bool:
    return request.prompt.startswith("Q: ") and not request.turns


def reads_turns(request: mage_es.Request) -> bool:
    return bool(request.turns)


def reads_worked(request: mage_es.Request) -> bool:
    """Reads turns of which each shows how its answer was reached."""
    return reads_turns(request) and request.prompt.count("I add.") == len(request.turns) // 2


def models(reads: Callable[[mage_es.Request], bool], most: int = 10**9) -> mage_es.Models:
    return mage_es.Models(execution=Reader(reads, most), guidance=mage_es.open_model("builtin/reference", "guidance"))


def begin(
    folder: Path,
    reads: Callable[[mage_es.Request], bool],
    workers: int = 1,
    config: Config = LINES,
    most: int = 10**9,
    tasks: list[dict[str, object]] = TASKS,
) -> Run:
    own = models(reads, most)
    runtime = Runtime(workers=workers)
    mage_es.evolve(config, tasks=tasks, scorer=right, models=own, runs_dir=folder, runtime=runtime, run_id="sums")
    return find_run(folder, "sums")


@pytest.fixture(scope="module")
def lined(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return begin(tmp_path_factory.mktemp("lined"), reads_lines)


@pytest.fixture(scope="module")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return begin(tmp_path_factory.mktemp("worked"), reads_worked, config=msgspec.structs.replace(CONFIG, form="usual"))


def of(run: Run, iteration: int) -> set[str]:
    plans = LogReader(run.log_path).of(v.QuestionPlanned)
    return {plan.form for plan in plans if plan.iteration == iteration and plan.purpose != "form"}


def test_the_form_that_a_model_reads_is_chosen_once_there_are_cases_and_holds_from_then_on(lined: Run) -> None:
    [decided] = LogReader(lined.log_path).of(v.FormDecided)
    assert (decided.form, decided.iteration, decided.pairs) == ("lines", 0, 12) and decided.won >= 4 > decided.lost
    assert of(lined, 0) == {"turns"} and of(lined, 1) == {"lines"}
    calls = [event for event in LogReader(lined.log_path).of(v.ModelCalled) if event.purpose == "form"]
    summary = summarise(lined)
    assert len(calls) == 12 and summary.form == decided
    assert sum(row.calls for row in summary.ledger if row.purpose == "form") == 12
    report = examine(lined, execution=Reader(reads_lines))
    assert report.form == decided and report.correct == report.total == 12
    found = verify(lined)
    assert found.ok and "lines follow from 12 anchors" in next(
        each.detail for each in found.checks if each.name == "form"
    )


def test_where_questions_are_reasoned_about_cases_that_show_how_are_shown_alone_if_that_wins(worked: Run) -> None:
    [decided] = LogReader(worked.log_path).of(v.FormDecided)
    assert (decided.form, decided.rival, decided.iteration) == ("worked", "worked", 0)
    assert decided.won >= 4 > decided.lost and of(worked, 0) == {"turns"} and of(worked, 1) == {"worked"}
    rows = {row.memory_id: row for row in LogReader(worked.log_path).of(v.MemoryAppended)}
    plans = [plan for plan in LogReader(worked.log_path).of(v.QuestionPlanned) if plan.memories]
    told = {
        form: [bool(rows[hit.memory_id].reasoning) for plan in plans if plan.form == form for hit in plan.memories]
        for form in ("turns", "worked")
    }
    assert all(told["worked"]) and {*told["turns"]} == {True, False}
    report = examine(worked, execution=Reader(reads_worked))
    assert report.form == decided and report.correct == report.total == 12 and verify(worked).ok
    live = LiveRun.open(worked, holdback=0)
    prepared = live.prepare(said("Ada asks: How much is 11 plus 3?"), "chat")
    live.submit(prepared).result()
    live.close()
    assert (prepared.opened.layout, live.world.setting.config.form) == ("turns", "worked")
    assert prepared.notes[0].turns and all("I add." in reply for _, reply in prepared.notes[0].turns)
    assert verify(live.run).ok


def test_a_search_of_an_mcp_client_finds_the_cases_that_prompts_can_show(worked: Run) -> None:
    tools = pytest.importorskip("mage_es.engine.serving.mcp", reason="needs the extra mcp", exc_type=ImportError)
    asked = tools.SearchMemory(query="Ada asks: How much is 11 plus 3?", limit=20)
    told = {
        at: [memory.text for memory in tools.search_memory(tools.shown_now(open_run(worked, at=at)), asked).memories]
        for at in ("iter-0", "iter-1")
    }
    assert all(told.values()) and all("I add." in text for texts in told.values() for text in texts)


def test_all_cases_are_shown_where_those_that_show_how_win_nothing(tmp_path: Path) -> None:
    run = begin(tmp_path, reads_turns, config=CONFIG)
    [decided] = LogReader(run.log_path).of(v.FormDecided)
    assert (decided.form, decided.rival, decided.won, of(run, 1)) == ("turns", "worked", 0, {"turns"})


def test_there_is_one_trial_and_none_where_too_little_or_nothing_would_follow_from_it(worked: Run) -> None:
    reader = LogReader(worked.log_path)
    [(seq, _)] = reader.numbered(v.FormDecided)
    asked = next(at for at, event in reader.numbered(v.QuestionPlanned) if event.purpose == "form")
    setting, state = bare_setting(first_event(reader)), fold(reader, until=asked)
    assert rival_of(setting, state) == "worked"
    names = [event.question_id for event in reader.of(v.QuestionPlanned) if event.purpose == "form"]
    assert anchors_to_try(state, names, "worked") == names
    assert anchors_to_try(state, names[:4], "worked")
    assert not anchors_to_try(state, names[:3], "worked"), "none of them could win"
    assert not rival_of(setting._replace(first=-1), state), "the last snapshot of several"
    assert not rival_of(setting._replace(is_served=True), state)
    assert not rival_of(setting._replace(is_labelled=True), state), "asked for the answer alone"
    assert not rival_of(setting._replace(first=1), state), "before the run's own iterations"
    assert not rival_of(setting._replace(has_episodes=True), state)
    assert not rival_of(setting, fold(reader, until=seq)), "it is decided"


def test_a_run_that_continues_another_keeps_the_form_that_was_better_there_and_else_has_a_trial_of_its_own(
    lined: Run, worked: Run, tmp_path: Path
) -> None:
    usual = msgspec.structs.replace(CONFIG, form="usual")
    for name, parent, reads, config, own in (
        ("lined", lined, reads_lines, LINES, []),
        ("worked", worked, reads_worked, usual, []),
        ("turned", begin(tmp_path / "turned", reads_turns, config=usual), reads_turns, usual, [("turns", 2)]),
    ):
        runtime, folder = Runtime(workers=1), tmp_path / "children"
        mage_es.evolve(
            config,
            from_run=parent,
            tasks=TASKS,
            scorer=right,
            models=models(reads),
            runs_dir=folder,
            runtime=runtime,
            run_id=name,
        )
        child = find_run(folder, name)
        [inherited, *found] = LogReader(child.log_path).of(v.FormDecided)
        assert [(each.form, each.iteration) for each in found] == own
        assert of(child, 2) == of(child, 3) == {inherited.form} and verify(child).ok


def test_the_usual_form_stays_where_it_is_read_and_where_nothing_is_to_be_chosen_no_call_is_made(
    tmp_path: Path,
) -> None:
    run = begin(tmp_path / "auto", reads_turns)
    [decided] = LogReader(run.log_path).of(v.FormDecided)
    assert decided.form == "turns" and decided.lost > decided.won and of(run, 1) == {"turns"}
    for name, reads, config in (
        ("set", reads_turns, msgspec.structs.replace(CONFIG, form="turns")),
        ("usual", reads_turns, msgspec.structs.replace(LINES, form="usual")),
        ("none", reads_turns, msgspec.structs.replace(LINES, anchors=0)),
        # All answers are right, so none is corrected.
        ("no-case", bool, msgspec.structs.replace(LINES, cases=False, success_memories=False)),
    ):
        run = begin(tmp_path / name, reads, config=config)
        assert not [event for event in LogReader(run.log_path).of(v.AnswerJudged) if event.purpose == "form"], name
        assert not list(LogReader(run.log_path).of(v.FormDecided)) and verify(run).ok


def test_what_if_knows_that_anchors_were_asked_for_a_trial_that_came_to_nothing(tmp_path: Path) -> None:
    run = begin(tmp_path, reads_turns, config=msgspec.structs.replace(LINES, anchors=40), tasks=MORE)
    asked = Counter(
        event.iteration for event in LogReader(run.log_path).of(v.AnswerJudged) if event.purpose == "anchor"
    )
    assert asked[0] == 20, "more than the guard needed, where none is wrong that was right"

    def without_trial(record: v.Record) -> list[v.Event]:
        is_trial = isinstance(record.event, v.FormDecided) or getattr(record.event, "purpose", "") == "form"
        return [] if is_trial else [record.event]

    replace(run.log_path, run.path, without_trial)
    found = what_if(run, guard_drop=0.3).guard
    assert found is not None and (found.ends, len(found.verdicts)) == ("", 3)


def test_kills_and_workers_change_no_digest(lined: Run, tmp_path: Path) -> None:
    def digests(run: Run) -> list[object]:
        return [event.digests for event in LogReader(run.log_path).of(v.IterationClosed)]

    assert digests(begin(tmp_path / "eight", reads_lines, workers=8)) == digests(lined)
    events = list(LogReader(lined.log_path).of(v.ModelCalled))
    first = next(place for place, event in enumerate(events) if event.purpose == "form")
    calls = sum(event.tier == "execution" for event in events[:first])
    for after in (calls - 1, calls + 1, calls + 7):
        folder = tmp_path / str(after)
        with pytest.raises(RuntimeError, match="is killed"):
            begin(folder, reads_lines, most=after)
        mage_es.resume(find_run(folder, "sums"), models=models(reads_lines))
        assert digests(find_run(folder, "sums")) == digests(lined)


def test_a_run_that_serves_it_has_the_form_that_was_chosen(lined: Run) -> None:
    live = LiveRun.open(lined, holdback=0)
    prepared = live.prepare(said("Ada asks: How much is 11 plus 3?"), "chat")
    live.submit(prepared).result()
    note = prepared.notes[0]
    live.close()
    assert prepared.opened.layout == live.world.setting.config.form == "lines"
    assert note.text.startswith("Q: ") and note.text.endswith("\n\nQ: ") and not note.turns
    assert verify(live.run).ok


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda: instead(v.FormDecided, lambda event: msgspec.structs.replace(event, form="turns")),
            "another form than",
        ),  # type: ignore[call-arg]
        (
            lambda: instead(
                v.QuestionPlanned,
                lambda event: msgspec.structs.replace(event, form="turns"),  # type: ignore[call-arg]
                lambda event: isinstance(event, v.QuestionPlanned) and event.iteration == 1,
            ),
            "where lines had been chosen",
        ),
        (
            lambda: instead(
                v.QuestionPlanned,
                lambda event: msgspec.structs.replace(event, form="turns"),  # type: ignore[call-arg]
                lambda event: isinstance(event, v.QuestionPlanned) and event.purpose == "form",
            ),
            "was to try lines",
        ),
        (
            lambda: instead(v.FormDecided, lambda event: [event, msgspec.structs.replace(event, iteration=1)]),  # type: ignore
            "iteration 1 chose a form again, after iteration 0 had",
        ),
    ],
)
def test_a_log_that_says_otherwise_is_found_out(
    lined: Run, tmp_path: Path, change: Callable[[], Callable[[v.Event], object]], told: str
) -> None:
    forged(lined.log_path, tmp_path / "log", change())  # type: ignore[arg-type]
    [check] = check_forms(LogReader(tmp_path / "log"), since=0)
    assert not check.ok and told in check.detail


def test_a_prompt_of_worked_cases_that_names_another_is_found_out(worked: Run, tmp_path: Path) -> None:
    [check] = check_forms(LogReader(worked.log_path), since=0)
    assert check.ok
    shown = next(plan for plan in LogReader(worked.log_path).of(v.QuestionPlanned) if plan.form == "worked")
    bare = instead(
        v.MemoryAppended,
        lambda event: msgspec.structs.replace(event, reasoning=""),
        lambda event: isinstance(event, v.MemoryAppended) and event.memory_id == shown.memories[0].memory_id,
    )
    forged(worked.log_path, tmp_path / "log", bare)
    [check] = check_forms(LogReader(tmp_path / "log"), since=0)
    assert not check.ok and f"{shown.question_id} was asked with worked" in check.detail
