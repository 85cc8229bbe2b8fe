"""Lengths of cables between places on the globe."""

from math import asin, cos, radians, sin, sqrt

RADIUS_M = 6_371_008.8
"""Mean radius of the Earth (IUGG, GRS 80: Moritz, Journal of Geodesy 74, 2000) [m]."""


def distance_m(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Compute the great-circle distance of two places, latitude and longitude in degrees [m].

    By the haversine formula (Sinnott, Sky and Telescope 68, 1984).

    Examples
    --------
    >>> round(distance_m((0, 0), (0, 90)) / 1000)  # a quarter of the equator
    10008
    """
    (north, east), (other_north, other_east) = (tuple(map(radians, at)) for at in (first, second))
    lift = sin((other_north - north) / 2) ** 2
    lift += cos(north) * cos(other_north) * sin((other_east - east) / 2) ** 2
    return 2 * RADIUS_M * asin(sqrt(min(lift, 1)))


LENGTH_MAX_M = 1_000_000  # Longest cable of a scenario [m].


def length_between(places: tuple[object, object, object, object]) -> float | None:
    """Compute the distance of two places (latitude, longitude, twice) [m]; None if not known."""
    try:
        north, east, other_north, other_east = (float(str(place)) for place in places)
    except ValueError:
        return None
    return distance_m((north, east), (other_north, other_east))
