"""Upstream's parsers of replies, to the letter: None is what upstream counts as an exception.

Rules
    - Defects are kept: the first digit of the whole reply is the option; "I know" counts as no; a finding becomes
      "Normal", which never equals the label "normal"; "Car" raises, and so does every coordinate without parentheses.

Source: LwbXc/STBench, code/result_parser.py and code/open_source/result_parser.py.

Distances are those on the WGS-84 ellipsoid, by Karney's algorithm as the library `geographiclib` has it."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from mage_es.events.errors import PrerequisiteError


def require() -> None:
    try:
        import geographiclib.geodesic  # noqa: F401
    except ImportError as error:
        raise PrerequisiteError(
            "stbench measures distances with the library geographiclib, which is not installed. "
            "Run: python -m pip install 'mage-es[benchmarks]'"
        ) from error


def distance(longitude: float, latitude: float, other_longitude: float, other_latitude: float) -> float | None:
    """Return the distance in metres of two points given in degrees; None if one of them is not on Earth."""
    from geographiclib.geodesic import Geodesic

    values = (longitude, latitude, other_longitude, other_latitude)
    if not all(map(math.isfinite, values)) or max(abs(latitude), abs(other_latitude)) > 90:
        return None
    found = Geodesic.WGS84.Inverse(latitude, longitude, other_latitude, other_longitude, Geodesic.DISTANCE)
    return float(found["s12"])


FARTHEST = 100_000.0
"""From this many metres on, a predicted point counts as an exception, not as an error."""
LONGITUDES, LATITUDES = (105.0, 110.0), (30.0, 36.0)
"""The region where predicted points may lie: around Xi'an, where all trajectories are."""
STEPS = 6
"""How many numbers a predicted flow has."""

_YES_NO = re.compile(r"Yes|No", re.IGNORECASE)
_ANOMALY = re.compile(r"Normal|Anomalous|Anomaly|Abnormal", re.IGNORECASE)
_VEHICLE = re.compile(r"car|bike|bicycle|pedestrian", re.IGNORECASE)
_VEHICLES = {"car": 1, "bike": 2, "bicycle": 2, "pedestrian": 3}
_IN_PARENTHESES = re.compile(r"\((\d+)\)")
_PAIR = re.compile(r"\(([-+]?\d+\.\d+),\s*([-+]?\d+\.\d+)(?:,\s*[-+]?\d+)?\)")
_NUMBER = re.compile(r"-?\d++(?:\.\d*+)?")
_SIX_NUMBERS = re.compile(rf"(?:-|(?<!\d))\d++(?:\.\d*+)?(?:\s*+,\s*+{_NUMBER.pattern}){{5}}")
"""Upstream's patterns, made possessive: the same matches, but no backtracking on a reply of thousands of digits."""


class FlowError(NamedTuple):
    mae: float
    rmse: float


def option(reply: str, label: object) -> bool | None:
    digit = next((character for character in reply if character.isdigit()), None)
    return None if digit is None else digit == str(label)[:1]


def option_cot(reply: str, label: object) -> bool | None:
    found = _IN_PARENTHESES.search(reply)
    return found[1] == str(label)[:1] if found else None


def yes_no(reply: str, label: object) -> bool | None:
    found = _YES_NO.search(reply)
    return found[0].title() == label if found else None


def anomaly(reply: str, label: object) -> bool | None:
    """Return whether the reply names the label. With the published labels, which are not capitalised, it never does."""
    found = _ANOMALY.search(reply)
    return found[0].title() == label if found else None


def vehicle(reply: str, label: object) -> bool | None:
    found = _VEHICLE.search(reply)
    number = _VEHICLES.get(found[0]) if found else None
    return None if number is None else str(number) == str(label)


def point_error(reply: str, longitude: float, latitude: float) -> float | None:
    """Return metres from the last pair in parentheses that lies in the region."""
    for found in reversed(_PAIR.findall(reply)):
        east, north = float(found[0]), float(found[1])
        if LONGITUDES[0] <= east <= LONGITUDES[1] and LATITUDES[0] <= north <= LATITUDES[1]:
            return _counted(distance(east, north, longitude, latitude))
    return None


def flow_error(reply: str, gold: Sequence[float]) -> FlowError | None:
    found = _SIX_NUMBERS.search(reply)
    return flow_difference([float(piece) for piece in found[0].split(",")], gold) if found else None


def flow_difference(flow: Sequence[float], gold: Sequence[float]) -> FlowError | None:
    """Return the error of a flow, None if a number is too large to compute with."""
    errors = [abs(given - wanted) for given, wanted in zip(flow, gold, strict=True)]
    squares = math.fsum(error * error for error in errors)
    return FlowError(sum(errors) / len(errors), math.sqrt(squares / len(errors))) if math.isfinite(squares) else None


def _counted(metres: float | None) -> float | None:
    return metres if metres is not None and metres < FARTHEST else None
