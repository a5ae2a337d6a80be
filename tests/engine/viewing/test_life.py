"""What a page shows of a run at any event is what a fold of the log up to there says."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mage_es.engine.askings.columns import AskedFacts
from mage_es.engine.rules.quarantine import status_of
from mage_es.engine.viewing.counted import Paid
from mage_es.engine.viewing.life import HEADERS, Life, lives
from mage_es.engine.worth.memories import items_of
from mage_es.events import vocabulary as v
from mage_es.events.segments.batches import batches_of
from mage_es.projections.fold import State
from mage_es.projections.ledger import Account
from mage_es.projections.questions import EVOLVING, History
from tests.engine.askings.test_columns import used
from tests.engine.viewing.conftest import valid_in
from tests.kit.stages import Stage, flat, folded
from tests.kit.strategies import histories, history

ANY = st.floats(0, 1)
"""A moment of a run, as a share of its events."""


def records(stages: Sequence[Stage]) -> list[v.Record]:
    """Return the events of stages as a log has them, each phase one commit."""
    found: list[v.Record] = []
    for stage in stages:
        commit = len(found) + 1
        for ordinal, event in enumerate(stage.events):
            found.append(
                v.Record(
                    seq=len(found) + 1,
                    event_id=bytes(16),
                    ts_us=len(found),
                    run="run-1",
                    iteration=stage.iteration,
                    phase=stage.phase,
                    ordinal=ordinal,
                    causation=max(0, len(found) - 2),
                    correlation="",
                    commit=commit,
                    event=event,
                )
            )
    return found


def lived(found: Sequence[v.Record], life: Life) -> Life:
    """Take in events as a log gives them, stretch by stretch, and put the tables together."""
    cut = len(found) // 3
    lives((batches_of(some, life.reads, HEADERS) for some in (found[:cut], found[cut:])), life)
    life.tables()
    return life


def valid(life: Life, table: str, seq: int) -> list[dict[str, Any]]:
    return valid_in(life.tables()[table], seq)


def at(moment: float, found: Sequence[v.Record]) -> tuple[int, State]:
    """Return a moment's event and the state that a fold up to it gives."""
    seq = round(moment * len(found))
    return seq, folded([record.event for record in found[:seq]])


def agrees(life: Life, seq: int, state: State) -> None:
    """Compare every table of intervals with the projection that it shows."""
    assert {row["skill"]: row["mastery"] for row in valid(life, "mastery", seq)} == {
        skill: state.slots.mastery(skill) for skill in state.graph.skills()
    }
    for row in valid(life, "mastery", seq):
        assert (row["prompt_template"], row["strategy"]) == (
            state.slots.prompt_template(row["skill"]),
            state.slots.strategy(row["skill"]),
        )
        assert (row["successes"], row["failures"]) == state.evidence.counts(row["skill"])
    names = life.learned.memories.columns["id"]
    states = {names[row["memory"]]: row for row in valid(life, "memory_states", seq)}
    items = {item.memory_id: item for item in items_of(state)}
    assert {name: (row["status"], row["met"]) for name, row in states.items()} == {
        name: (item.status, item.met) for name, item in items.items()
    }
    for name, row in states.items():
        if state.memory.count_of(name):
            newer = state.memory.row(name).superseded_by
            assert (names[row["by"]] if row["by"] is not None else "") == newer
        if pattern := state.patterns.pattern(name):
            assert (row["successes"], row["failures"], row["confidence_micro"]) == (
                pattern.successes,
                pattern.failures,
                pattern.confidence_micro,
            )
        assert status_of(state, name) == row["status"]
    shown = [row for row in valid(life, "nodes", seq) if row["layer"]]
    assert Counter(row["layer"] for row in shown) == Counter(state.node_counts())
    edges = life.learned.edges.columns
    known = [row for row, began in enumerate(edges["from"]) if began <= seq and not edges["derived"][row]]
    assert Counter(edges["kind"][row] for row in known) == Counter(state.graph.edge_counts())
    inferences = life.inferences.columns
    opened = [row for row, began in enumerate(inferences["from"]) if began <= seq]
    assert Counter(inferences["treatment"][row] for row in opened) == state.traffic.treatments
    closed = [row for row in opened if (inferences["closed"][row] or seq + 1) <= seq]
    assert Counter(inferences["outcome"][row] for row in closed) == state.traffic.outcomes
    assert sum(began <= seq for began in life.feedback.columns["from"]) == sum(state.traffic.feedbacks.values())


def agrees_at_stops(life: Life, seq: int, state: State) -> None:
    """Compare the tables that are exact at stops only, in a long log."""
    assert {
        (row["bandit"], row["key"], row["arm"]): tuple(row.values())[-4:-1] for row in valid(life, "bandits", seq)
    } == {
        (bandit, key, arm): tuple(posterior)
        for bandit, keys in state.bandits.dump().items()
        for key, arms in keys.items()
        for arm, posterior in arms.items()
    }
    scores = {(row["purpose"], row["iteration"]): row for row in valid(life, "scores", seq)}
    for (purpose, k), row in scores.items():
        assert (row["correct"], row["total"]) == state.scores.score(purpose, k)
        assert row["unanswered"] == state.scores.unanswered(purpose, k)
    cost = [tuple(row.values())[2:-1] for row in valid(life, "cost", seq)]
    assert sorted(cost) == sorted((*account, *use) for account, use in state.ledger.accounts())


@settings(deadline=None, max_examples=20, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.lists(ANY, min_size=3, max_size=3))
def test_what_holds_at_any_event_is_what_a_fold_up_to_there_says(stages: list[Stage], moments: list[float]) -> None:
    found = records(stages)
    life = lived(found, Life())
    for moment in moments:
        seq, state = at(moment, found)
        agrees(life, seq, state)
        agrees_at_stops(life, seq, state)


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), ANY)
def test_in_a_long_log_sums_hold_at_stops_and_all_else_at_any_event(stages: list[Stage], moment: float) -> None:
    found = records(stages)
    life = lived(found, Life(exact=False))
    agrees(life, *at(moment, found))
    stop = life.stops[round(moment * (len(life.stops) - 1))]
    agrees_at_stops(life, stop, folded([record.event for record in found[:stop]]))
    assert life.stops[-1] == len(found)
    assert len(life.tables()["bandits"]) <= len(lived(found, Life()).tables()["bandits"])


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), ANY)
def test_the_verdicts_up_to_any_event_make_the_history_of_each_question(stages: list[Stage], moment: float) -> None:
    found = records(stages)
    life = lived(found, Life())
    seq, state = at(moment, found)
    askings, names = life.asked.askings, life.asked.questions.columns["id"]
    told: dict[str, History] = {}  # as projections/questions.py counts them
    for row in map(askings.at, range(len(askings))):
        if row["judged"] is not None and row["judged"] <= seq and row["purpose"] in EVOLVING:
            name, right = names[row["question"]], row["verdict"] == "correct"
            attempts, was_right, last = told.get(name, History(attempts=0, correct=True, iteration=row["iteration"]))
            right = right and was_right if last == row["iteration"] else right
            told[name] = History(attempts + 1, right, row["iteration"])
    assert told == {name: state.questions.history(name) for name in told}
    assert all(state.questions.history(name) is None for name in names if name not in told)


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_each_interval_of_a_key_ends_where_its_next_begins(stages: list[Stage]) -> None:
    life = lived(records(stages), Life())
    for name, keys in {
        "mastery": ("skill",),
        "memory_states": ("memory",),
        "bandits": ("bandit", "key", "arm"),
    }.items():
        table, ends = life.tables()[name], dict[tuple[Any, ...], int | None]()
        for row in map(table.at, range(len(table))):
            key = tuple(row[each] for each in keys)
            assert key not in ends or ends[key] == row["from"]
            assert row["to"] is None or row["to"] > row["from"]
            ends[key] = row["to"]


@settings(deadline=None, max_examples=12, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_the_prompts_that_showed_a_memory_are_those_that_are_found_event_by_event(stages: list[Stage]) -> None:
    found = records(stages)
    life = lived(found, Life())
    events = [record.event for record in found if isinstance(record.event, tuple(AskedFacts.reads))]
    expected = [used(events, name) for name in life.learned.rows]
    assert [life.asked.uses.of(name) for name in life.learned.rows] == expected
    assert life.asked.uses.prompts().tolist() == [len(use.shown) for use in expected]
    assert life.asked.uses.right().tolist() == [use.right.correct for use in expected]


def test_an_asking_that_was_left_open_and_then_decided_holds_on() -> None:
    events = flat(history(seed=3, iterations=1, questions=4))
    plan = next(event for event in events if isinstance(event, v.QuestionPlanned) and event.purpose == "fresh")
    again = msgspec.structs.replace(plan, iteration=9)
    about = {"iteration": 9, "purpose": "fresh", "question_id": plan.question_id}
    about |= {"task_type": plan.task_type, "skill": plan.skill, "answer": ""}
    undecided = v.AnswerUndecided(**about, problem="the judge gave no verdict")
    judged = v.AnswerJudged(**about, score_micro=v.MICRO, correct=True, strict=False, judge="rule")
    life = lived(records([Stage(9, "evaluate", (*events, again, undecided, judged))]), Life())
    row = life.asked.askings.at(len(life.asked.askings) - 1)
    assert (row["verdict"], row["judged"], row["to"]) == ("correct", life.seq, None)


def test_what_is_paid_is_the_sum_of_all_accounts_however_often_one_changes() -> None:
    paid, costs = Paid(), dict[Account, float | None]()
    for number, usd in ((0, 0.1), (1, 0.2), (2, 0.3), (1, None), (0, 0.7), (1, 0.4), (3, 0.0)):
        account = Account("execution", "Learner", "fresh", number, "m")
        paid[account] = costs[account] = usd
        known = [cost for cost in costs.values() if cost is not None]
        assert paid.total() == (sum(known) if len(known) == len(costs) else None)


def test_a_memory_that_did_not_fit_was_not_shown_and_a_lost_question_is_neither_right_nor_wrong() -> None:
    events = flat(history(seed=3, iterations=2, questions=4))
    plan = next(event for event in events if isinstance(event, v.QuestionPlanned) and event.memories)
    about = {"iteration": 7, "purpose": plan.purpose, "question_id": plan.question_id, "problem": "too long"}
    again = msgspec.structs.replace(plan, iteration=7)
    left_out = again.memories[0].memory_id
    trimmed = v.BundleTrimmed(about=plan.question_id, request_sha256="", memory_id=left_out, **about)
    lost = v.AnswerUnanswered(task_type=plan.task_type, skill=plan.skill, **about)
    life = lived(records([Stage(0, "evaluate", (*events, again, trimmed, lost))]), Life())
    row = len(life.asked.askings) - 1
    shown = {hit.memory_id for hit in again.memories if row in life.asked.use(hit.memory_id)["shown"]}
    assert shown == {hit.memory_id for hit in again.memories[1:]}
    assert life.asked.askings.at(row)["verdict"] == "unanswered"
    (score,) = (each for each in valid_in(life.counted.scores, life.seq) if each["iteration"] == 7)
    assert (score["correct"], score["total"], score["unanswered"]) == (0, 0, 1)


def test_an_event_says_which_events_it_caused(many: int = 60) -> None:
    found = records(history(seed=3, iterations=2, questions=4))[:many]
    life = lived(found, Life())
    assert [set(each) for each in life.caused(1, many)] == [
        {record.seq for record in found if record.causation == seq} for seq in range(1, many + 1)
    ]
