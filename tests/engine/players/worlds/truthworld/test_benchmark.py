"""The benchmark `truthworld` behind the protocol."""

from __future__ import annotations

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.players.worlds.truthworld.benchmark import TruthWorld
from mage_es.engine.players.worlds.truthworld.world import WorldShape
from mage_es.engine.seams.benchmark import Question


def test_the_registry_opens_it_and_the_seed_and_shape_are_part_of_its_hash() -> None:
    opened = open_benchmark("truthworld", seed=42)
    assert opened.data_sha256 == TruthWorld(42).data_sha256
    assert (
        len({opened.data_sha256, TruthWorld(43).data_sha256, TruthWorld(42, WorldShape(poisoned=0)).data_sha256}) == 3
    )


def test_numbers_are_decided_by_rule() -> None:
    question = Question(id="q", benchmark="truthworld", split="test", task_type="", question="", gold="60")
    verdicts = [TruthWorld(42).score(question, reply) for reply in ("#### 60", "#### 61", "no idea", "")]
    assert [verdict.correct for verdict in verdicts] == [True, False, False, False]
    assert not any(verdict.undecided for verdict in verdicts)


def test_a_question_of_the_users_own_gets_its_answer_read_and_no_verdict() -> None:
    asked = Question(id="ask", benchmark="", split="test", task_type="", question="?", gold="")
    assert TruthWorld(42).score(asked, "Something.\n#### The two sums balance.").answer == "The two sums balance"
