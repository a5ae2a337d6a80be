"""Reports as tables."""

import msgspec
import pytest

from mage_es.cli import tables
from mage_es.cli.exam import examined
from mage_es.cli.output import TextTable
from mage_es.engine.auditing.cli.tables import checks
from mage_es.engine.seams.check import Check
from mage_es.engine.served.frozen import BundleMember
from mage_es.engine.verbs.agents import MissingGuidance
from mage_es.engine.verbs.exam_report import ExamReport, GroupScore
from mage_es.engine.verbs.replay import DigestCheck, ReplayReport
from mage_es.engine.verbs.summary import (
    ActionRow,
    EpisodeRow,
    ExamRow,
    FrontierSkill,
    GuardSensitivity,
    IterationRow,
    LedgerRow,
    RunSummary,
)
from mage_es.engine.viewing.cli.tables import asked, bundle
from mage_es.engine.viewing.show import QuestionReport
from mage_es.events.vocabulary import FormDecided, Paired

pytestmark = pytest.mark.slow

ROW = IterationRow(
    iteration=0,
    fresh_correct=30,
    fresh_total=60,
    revisit_correct=2,
    revisit_total=9,
    anchor_correct=40,
    anchor_total=60,
    guard="accepted",
    success_memories=30,
    failure_memories=9,
    principles=3,
    execution_calls=129,
    guidance_calls=4,
)
START = IterationRow(
    iteration=-1,
    fresh_correct=0,
    fresh_total=0,
    revisit_correct=0,
    revisit_total=0,
    anchor_correct=20,
    anchor_total=60,
    guard="",
    success_memories=0,
    failure_memories=0,
    principles=0,
    execution_calls=60,
    guidance_calls=1,
)


def summary(state: str = "finished", problem: str = "") -> RunSummary:
    return RunSummary(
        run_id="r1",
        path="runs/r1",
        benchmark="wordmath",
        seed=42,
        execution="builtin/analogist",
        guidance="builtin/reference",
        state=state,
        iterations_done=1,
        iterations=1,
        events=900,
        head="ab" * 32,
        rows=(START, ROW),
        problem=problem,
    )


EXAM = ExamReport(
    run_id="r1",
    exam_id="e1",
    marker="latest",
    control="shuffled",
    correct=3,
    total=4,
    familiar=GroupScore(name="familiar", correct=2, total=2),
    unfamiliar=GroupScore(name="unfamiliar", correct=1, total=2),
    task_types=(GroupScore(name="shopping", correct=3, total=4),),
    execution_calls=4,
    guidance_calls=0,
    seconds=1.25,
    task_type_source="metadata",
    teacher_sees="answers",
    answers=(("q1", True),),
)


def test_an_iteration_is_a_row_and_what_was_not_counted_is_a_dash() -> None:
    start, first = tables.iterations(summary()).rows
    assert start == ("start", "-", "-", "-", "33.3 % of 60", "-", "0", "0", "0", "60", "1")
    assert first == ("0", "50.0 %", "30/60", "2/9", "66.7 % of 60", "accepted", "30", "9", "3", "129", "4")


PLAYED = EpisodeRow(purpose="exam", episodes=4, steps=90, mean_score=0.671, unparsed=0)


def test_of_episodes_the_mean_score_stands_where_else_the_accuracy_does_and_is_named() -> None:
    row = msgspec.structs.replace(ROW, fresh_score=0.125, anchor_score=0.25)
    played = msgspec.structs.replace(summary(), rows=(START, row), measure="mean score")
    table = tables.iterations(played)
    assert table.title == "Mean score per iteration" and tables.iterations(summary()).title == "Accuracy per iteration"
    assert table.rows[1][:5] == ("0", "12.5 %", "30/60", "2/9", "25.0 % of 60")
    assert "mean score 12.5 %" in tables.runs([played]).rows[0]
    baseline = msgspec.structs.replace(
        played, rows=(), baseline="react", asked=(1, 4), episodes=(PLAYED,), measure="mean score"
    )
    assert "mean score 67.1 %" in tables.runs([baseline]).rows[0]
    assert "baseline react: mean score 67.1 % (1/4 right)" in tables.overview(baseline)
    begun = msgspec.structs.replace(baseline, asked=(0, 0), episodes=())
    assert "baseline react: nothing answered yet" in tables.overview(begun)
    episodic = tables.exam(msgspec.structs.replace(EXAM, episodes=(PLAYED,)))
    assert (episodic.columns[1], tables.exam(EXAM).columns[1]) == ("succeeded", "accuracy")


def test_an_overview_says_what_there_was_less_of_than_asked_for() -> None:
    short = msgspec.structs.replace(summary(), shortfalls=("There are fewer.",))
    assert "\n  There are fewer.\n" in tables.overview(short) + "\n"


def test_an_overview_warns_of_guidance_that_never_came_with_numbers_and_reasons() -> None:
    assert "WARNING" not in tables.overview(summary())
    lost = MissingGuidance(asked=9, unreadable=2, failed={"filtered": 1, "too_long": 3})
    told = tables.overview(msgspec.structs.replace(summary(), unguided=lost))
    assert (
        "  WARNING: no guidance 6 of 9 times: 2 replies unreadable, 4 calls failed (filtered 1, too long 3)"
    ) in told.splitlines()


def test_an_overview_says_what_guidance_saw_only_if_it_was_asked() -> None:
    used = {
        "iteration": 0,
        "model": "g",
        "calls": 1,
        "failures": 0,
        "retries": 0,
        "input_tokens": 1,
        "cached_tokens": 0,
    }
    used |= {"output_tokens": 1, "thinking_tokens": 0, "seconds": 1.0, "usd": None}
    row = msgspec.convert({"tier": "guidance", "agent": "Navigator", "purpose": "plan", **used}, LedgerRow)
    unasked = msgspec.structs.replace(summary(), teacher_sees="solutions")
    assert "guidance builtin/reference, which was asked nothing\n" in tables.overview(unasked)
    asked_once = msgspec.structs.replace(unasked, ledger=(row,))
    assert "shown the right answers, and solutions where the data has any\n" in tables.overview(asked_once)


def test_memories_are_called_what_they_are_of_and_not_failures() -> None:
    assert {"memories of right", "of missed"} <= {*tables.iterations(summary()).columns}


@pytest.mark.parametrize(
    ("form", "won", "lost", "said"),
    [
        ("turns", 1, 2, ": no evidence that plain lines are better (p 0.500)."),
        ("turns", 2, 1, ": not enough evidence that plain lines are better (p 0.500)."),
        ("lines", 9, 0, ": evidence that plain lines are better (p 0.500)."),
    ],
)
def test_a_large_p_reads_as_no_evidence(form: str, won: int, lost: int, said: str) -> None:
    told = {
        "iteration": 0,
        "form": form,
        "rival": "lines",
        "pairs": 20,
        "turns": 9,
        "tried": 9,
        "won": won,
        "lost": lost,
    }
    decided = msgspec.convert({**told, "p_value": 0.5}, FormDecided)
    assert tables.form_in_words(decided)[0].endswith(said)


def test_a_summary_as_text_is_a_line_or_two() -> None:
    assert str(summary()).splitlines() == [
        "r1: wordmath, finished, 900 events",
        "1 of 1 iterations, 30 of 60 fresh questions right, 40 of 60 anchor questions right",
    ]
    assert str(summary("damaged", "It is cut.")).endswith("\nIt is cut.")
    baseline = msgspec.structs.replace(summary(), baseline="knn", asked=(3, 4), rows=())
    assert "baseline knn: 3 of 4 right" in str(baseline)


def test_an_overview_names_state_and_problem() -> None:
    assert "finished" in tables.overview(summary())
    assert tables.overview(summary("damaged", "segment 3 is short")).endswith("segment 3 is short")


def test_a_damaged_run_is_listed_as_such() -> None:
    good, bad = tables.runs([summary(), summary("damaged", "segment 3 is short")]).rows
    assert good == ("r1", "wordmath", "42", "1 of 1", "accuracy 50.0 %", "900", "finished")
    assert bad[-1] == "damaged: segment 3 is short"


def exam_row(right: int, head_seq: int, *, marker: str = "latest", execution: str = "builtin/analogist") -> ExamRow:
    counts = {"correct": right, "total": 20, "unanswered": 0, "undecided": 0, "head": "ab"}
    return ExamRow(exam="1", marker=marker, head_seq=head_seq, control="none", execution=execution, **counts)


def test_a_run_that_was_examined_is_listed_with_its_own_exam_of_the_latest_state() -> None:
    taken = (exam_row(19, 900), exam_row(9, 500, marker="iter-0"), exam_row(1, 9, marker="start"))
    other = exam_row(2, 950, execution="openai/other")
    examined = msgspec.structs.replace(summary(), exams=(*taken, other))
    assert tables.runs([examined]).rows[0][4] == "exam 95.0 % right"
    assert str(examined).endswith(", 19 of 20 in its exam")
    older = msgspec.structs.replace(summary(), exams=taken[1:])
    assert tables.runs([older]).rows[0][4] == "exam at iter-0 45.0 % right"
    untaught = msgspec.structs.replace(summary(), exams=taken[-1:])
    assert tables.runs([untaught]).rows[0][4] == "accuracy 50.0 %"


def test_an_overview_says_in_how_many_iterations_no_question_was_new() -> None:
    assert "no question was new" not in tables.overview(summary())
    assert "no question was new in 2 iterations, first in 3:" in tables.overview(
        msgspec.structs.replace(summary(), repeating=(3, 4))
    )


def test_an_exam_shows_all_questions_then_phrasings_then_types() -> None:
    table = tables.exam(EXAM)
    assert table.title == "Exam e1 of r1 at latest, control shuffled"
    assert [row[0] for row in table.rows] == ["all", "familiar", "unfamiliar", "shopping"]
    assert table.rows[0] == ("all", "75.0 %", "30.1 to 95.4", "3/4")
    assert "0 guidance calls" in examined(EXAM) and "unanswered" not in examined(EXAM)
    lost = msgspec.structs.replace(EXAM, unanswered={"filtered": 1, "too_long": 2})
    assert "3 unanswered (filtered 1, too long 2), counted as wrong" in examined(lost)


def test_a_replay_says_for_each_projection_whether_it_is_equal() -> None:
    report = ReplayReport(
        run_id="r1",
        marker="iter-9",
        seq=7,
        seconds=0.5,
        path="x",
        success_memories=1,
        failure_memories=2,
        principles=3,
        checks=(
            DigestCheck(projection="graph", recorded="a" * 64, rebuilt="a" * 64),
            DigestCheck(projection="memory", recorded="a" * 64, rebuilt="b" * 64),
            DigestCheck(projection="ledger", recorded="", rebuilt="c" * 64),
        ),
    )
    assert tables.digests(report).rows == [
        ("graph", "a" * 16, "a" * 16, "yes"),
        ("memory", "a" * 16, "b" * 16, "NO"),
        ("ledger", "none", "c" * 16, "not recorded"),
    ]
    told = "1 memory of right answers, 2 of missed questions, 3 principles, including those replaced since"
    assert told in tables.replayed(report)


def spent(tier: str, cached: int) -> LedgerRow:
    return LedgerRow(
        tier=tier, agent="Learner", purpose="fresh", iteration=0, model="m", calls=4, failures=0, retries=0,
        input_tokens=400, cached_tokens=cached, output_tokens=40, thinking_tokens=0, seconds=1.0, usd=None,
    )  # fmt: skip


def test_the_share_of_cached_input_is_shown_where_the_provider_told_of_any() -> None:
    table = tables.ledger(msgspec.structs.replace(summary(), ledger=(spent("execution", 300), spent("guidance", 0))))
    place = table.columns.index("hits")
    assert [(row[0], row[place - 1], row[place], row[place + 1]) for row in table.rows] == [
        ("execution", "300", "75%", "40"),
        ("execution", "300", "75%", "40"),
        ("guidance", "0", "-", "40"),
        ("guidance", "0", "-", "40"),
    ]


def test_a_failed_check_stands_out() -> None:
    broken = Check(name="splits", ok=False, detail="overlap", measured="2 shared", bound="0 shared", seq=17)
    found = (Check(name="hashes", ok=True, detail="9 files"), broken)
    assert checks("", found).rows == [
        ("hashes", "ok", "", "", "", "9 files"),
        ("splits", "FAILED", "2 shared", "0 shared", 17, "overlap"),
    ]


def test_a_question_shows_its_bundle_arms_and_verdict() -> None:
    member = BundleMember(
        memory_id="m1", outcome="success_memory", similarity=0.98765, origin="iter-2", question="How?"
    )
    report = QuestionReport(
        run_id="r1",
        question_id="q1",
        iteration=3,
        purpose="fresh",
        task_type="shopping",
        skill="add",
        search_arm="near",
        search_probability=0.5,
        routing_arm="cot",
        routing_probability=0.25,
        bundle=(member,),
        prompt="p",
        prompt_verified=True,
        reply="r",
        answer="",
        expected="4",
        correct=False,
        moves=(),
        seq=12,
        other_times=(),
    )
    facts = dict(asked(report).rows)
    assert facts["verdict"] == "wrong"
    assert facts["answer"] == "none found, expected 4"
    assert facts["search arm"] == "near, chosen with probability 0.500"
    shown = bundle(report.bundle)
    assert isinstance(shown, TextTable)
    assert shown.rows == [("m1", "success_memory", "0.988", "iter-2")]
    assert bundle(()) == "Bundle: none of the run's memories"


def test_what_evolve_wrote_and_what_is_to_explore_have_a_row_each() -> None:
    row = ActionRow(action="skill_splitting", taken=3, authored=2, outcomes={"authored": 1, "nothing to author": 2})
    skill = FrontierSkill(skill="sums", mastery=0.25, brief="Look for rests.")
    shown = msgspec.structs.replace(summary(), actions=(row,), frontier=(skill,))
    assert tables.actions(shown).rows == [("skill splitting", 3, 2, "authored (1), nothing to author (2)")]
    assert tables.frontier(shown).rows == [("sums", "0.25", "Look for rests.")]


@pytest.mark.parametrize(
    ("guard", "questions", "drop", "shown"),
    [
        (
            "paired",
            100,
            0.05,
            "guard paired: the smallest drop it can notice is 5.0 points on 100 anchors, "
            "against their last recorded answers",
        ),
        ("paper", 200, 0.035, "guard paper: the smallest drop it can notice is 3.5 points on 200 fresh questions"),
        ("paired", 3, 1.0, "guard paired: too few questions to notice any drop (3 anchors)"),
    ],
)
def test_the_smallest_drop_that_the_guard_can_notice_is_shown(
    guard: str, questions: int, drop: float, shown: str
) -> None:
    noticing = GuardSensitivity(guard=guard, questions=questions, smallest_drop=drop)
    assert shown in tables.overview(msgspec.structs.replace(summary(), noticing=noticing))
    assert "guard" not in tables.overview(summary())


def test_the_level_of_the_anchors_says_of_how_many_it_is() -> None:
    row = msgspec.structs.replace(ROW, anchor_correct=9, anchor_total=12, anchors_unmeasured=48)
    assert "75.0 % of 12" in tables.iterations(msgspec.structs.replace(summary(), rows=(row,))).rows[0]


def test_pairs_by_an_answer_of_an_older_state_are_said() -> None:
    pooled = Paired(task_type="", pairs=60, learned=25, bare=12, won=13, lost=0, served="learned", is_own=True)
    older, whole = tables.benefit((pooled,), 42), tables.benefit((pooled,))
    assert isinstance(older, TextTable) and "(42 of 60 pairs by an answer of an older state)" in older.title
    assert isinstance(whole, TextTable) and whole.title == "Questions asked both ways"
