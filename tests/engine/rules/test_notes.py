"""A note is no more than its bounds allow."""

import pytest

from mage_es.engine.rules.notes import bounds_of
from mage_es.events.errors import UsageError


@pytest.mark.parametrize("least", ["near", -0.1, 1.5, None])
def test_a_bound_that_is_none_is_refused(least: object) -> None:
    with pytest.raises(UsageError, match="give auto, or a cosine between 0"):
        bounds_of(least, [], 0)  # type: ignore[arg-type]
