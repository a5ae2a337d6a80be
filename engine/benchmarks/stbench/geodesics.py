"""The distance of two points on the WGS-84 ellipsoid, by Karney's algorithm as the library `geographiclib` has it."""

from __future__ import annotations

import math

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
    """Return metres between points in degrees; None if one is not on earth."""
    from geographiclib.geodesic import Geodesic

    values = (longitude, latitude, other_longitude, other_latitude)
    if not all(map(math.isfinite, values)) or max(abs(latitude), abs(other_latitude)) > 90:
        return None
    found = Geodesic.WGS84.Inverse(latitude, longitude, other_latitude, other_longitude, Geodesic.DISTANCE)
    return float(found["s12"])
