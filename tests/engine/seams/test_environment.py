"""Reading an action off whatever a model wrote."""

import pytest

from mage_es.engine.players.worlds.workshop.benchmark import Workshop
from mage_es.engine.seams.benchmark import LONGEST_REPLY
from mage_es.engine.seams.environment import action_in
from mage_es.events.errors import PrerequisiteError


class Confused:
    """An environment whose `parse` fails, as one of a plug-in may."""

    def __init__(self, error: Exception) -> None:
        benchmark = Workshop(7)
        self._real, self._error = benchmark.environment(benchmark.questions("evolution")[0]), error

    def __getattr__(self, name: str) -> object:
        return getattr(self._real, name)

    def parse(self, reply: str) -> str | None:
        if "?" in reply:
            raise self._error
        return self._real.parse(reply)


@pytest.mark.parametrize("error", [ValueError("what?"), RecursionError()])
def test_a_reply_that_makes_an_environment_fail_or_is_far_too_long_names_no_action(error: Exception) -> None:
    environment = Confused(error)
    valid = environment.valid_actions()[0]
    assert action_in(environment, f"Action: {valid}") == valid
    assert action_in(environment, "Action: ?") is None
    assert action_in(environment, "x" * LONGEST_REPLY + f"\nAction: {valid}") is None


def test_a_missing_library_is_no_fault_of_the_reply() -> None:
    with pytest.raises(PrerequisiteError):
        action_in(Confused(PrerequisiteError("Run: python -m pip install something")), "?")
