"""A configuration is plain data, and warns of what cannot work."""

from collections.abc import Callable

import pytest

from mage_es.engine.config import Config, canonical, cautions, parse
from mage_es.engine.models.registry import Models
from mage_es.engine.run.budget import Limits
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.errors import PrerequisiteError, UsageError


def test_a_configuration_is_read_as_it_was_written() -> None:
    config = Config(benchmark="wordmath", execution="builtin/other", guard_drop=0.05)
    assert parse(canonical(config)) == config


def test_settings_of_another_release_say_so() -> None:
    text = canonical(Config(benchmark="wordmath")).replace('"guard_drop"', '"guard_margin"')
    with pytest.raises(PrerequisiteError, match=r"guard_margin.*release that started it"):
        parse(text)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (
            lambda: Config(benchmark="wordmath", run_id="a"),
            r"Config has no setting 'run_id'\. .*evolve\(config, run_id=",
        ),
        (lambda: Config(benchmark="wordmath", iteration=4), r"'iteration'\. Did you mean iterations\?"),
        (lambda: Config(), "Config: Missing required argument 'benchmark'"),
        (lambda: Runtime(max_usd=4), r"Runtime has no setting 'max_usd'\. .*its `limits`, mage_es\.Limits"),
        (
            lambda: Limits(max_calls=1, max_dollars=4),
            r"Limits has no setting 'max_dollars'\. Known: max_calls, .* mage_es\.Config has",
        ),
        (lambda: Models(None, guidanc=None), r"Models has no setting 'guidanc'\. Did you mean guidance\?"),  # type: ignore[arg-type, call-arg]
        (lambda: evolve(Config(benchmark="wordmath"), workers=4), r"'workers'\. .*runtime=mage_es\.Runtime\(workers="),
    ],
)
def test_a_setting_in_the_wrong_place_is_refused_with_where_it_belongs(make: Callable[[], object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        make()


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"failure_signal": "cumulative"}, "starves task types"),
        ({"recency_weight": "0"}, "wait for ever"),
        ({"guard": "paired", "anchors": 0}, "can notice nothing"),
    ],
)
def test_what_cannot_do_its_work_is_cautioned_against(change: dict[str, object], part: str) -> None:
    assert part in " ".join(cautions(Config(benchmark="wordmath", **change)))


@pytest.mark.parametrize("signal", ["rate", "window", "open"])
def test_there_is_no_caution_where_every_wait_is_bounded(signal: str) -> None:
    assert cautions(Config(benchmark="wordmath", failure_signal=signal)) == []
