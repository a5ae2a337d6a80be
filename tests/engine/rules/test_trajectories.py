"""Transcripts of episodes."""

from mage_es.engine.rules.trajectories import transcript_of
from mage_es.engine.seams.environment import transcript_line
from tests.engine.rules.episodes import stepped


def test_a_step_is_one_line_whatever_its_effect() -> None:
    assert transcript_line("go", "") == "go"
    assert transcript_line("go", "You\n  went.") == "go: You went."
    assert transcript_line(None, "Hm.") == "(no action): Hm."


def test_a_transcript_has_the_steps_in_order_and_shows_replies_without_an_action() -> None:
    steps = [stepped(1, "a", effect="x"), stepped(2, "", effect="y"), stepped(3, "c")]
    assert transcript_of(steps) == "a: x\n(no action): y\nc"
