"""Published figures that a job of a result can be compared with.

Equal are the program, the metric, the size, the rate of the links, the transport, and, where the
publication names them, its version, flow control and the number of ranks. Of figures with and
without PFC those of the job's own kind count, if there are any. Second-hand figures are left out.

Of nccl-tests count the figures that were published for each network interface, of large messages
and whatever the fabric: others are of nodes of several accelerators, which a job has not.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from etherweave.measurements.quantities import Quantity
from etherweave.measurements.references import Reference, references
from etherweave.report.result_fabric import Fabric

_NAME = re.compile(r"(roce|tcp)\s*(v[12])?\b")
_REMARK = re.compile(r"\s*\([^)]*\)")
_RANKS = re.compile(r"\b(\d+) (?:MPI )?ranks\b")
_EACH = "for each network interface"
"""Conditions of a figure that holds at a link rate, for collectives of large messages."""
_LARGE = 1 << 28
_CENTRES = ("mean", "min", "max")  # The ends of a published range of means are ``min`` and ``max``.
_ALIKE = 0.01  # Rates that differ by less are equal.


class FabricName(NamedTuple):
    """A fabric as a publication names it."""

    transport: str
    version: str  # Empty where the publication does not name it.
    extras: frozenset[str]  # Options that are on as well: ``pfc``, ``ets 50/50``.


def fabric_name(words: str) -> FabricName | None:
    """Read the name of a fabric; None for one that no scenario has.

    Examples
    --------
    >>> fabric_name("RoCEv2+PFC (ConnectX-4)")
    FabricName(transport='roce', version='v2', extras=frozenset({'pfc'}))
    """
    name, *extras = _REMARK.sub("", words).casefold().split("+")
    match = _NAME.match(name)
    if not match:
        return None
    return FabricName(match[1], match[2] or "", frozenset(extra.strip() for extra in extras))


def published(
    quantity: Quantity, fabric: Fabric, figures: Iterable[Reference] | None = None
) -> list[Reference]:
    """Find the figures of the same thing on the same kind of fabric.

    ``figures`` are those to choose from; all that come with Etherweave unless given.
    """
    if not quantity.is_as_published:
        return []
    own = [
        reference
        for reference in (references() if figures is None else figures)
        if _is_of(quantity, reference) and _is_on(fabric, reference)
    ]
    return _nearest(fabric, own)


def _is_of(quantity: Quantity, row: Reference) -> bool:
    if quantity.program == "nccl_tests":
        is_same = row.program == quantity.test and _EACH in row.conditions
        is_same = is_same and (quantity.size_bytes or 0) >= _LARGE
    else:
        ranks = _RANKS.search(row.conditions)
        is_same = (row.program, row.test, row.table) == (quantity.program, quantity.test, "")
        is_same = is_same and row.size_bytes == quantity.size_bytes
        is_same = is_same and (ranks is None or int(ranks[1]) == quantity.ranks)
    return (
        is_same
        and row.may_accept
        and row.crosses_a_network
        and row.value > 0
        and row.statistic in _CENTRES
        and (row.metric, row.unit) == (quantity.metric.name, quantity.metric.unit)
    )


def _is_on(fabric: Fabric, reference: Reference) -> bool:
    name = fabric_name(reference.fabric)
    if reference.link_bits_per_s is None:
        return False
    if _EACH in reference.conditions:
        return abs(reference.link_bits_per_s / 8 / fabric.medium.rate - 1) < _ALIKE
    own = fabric_name(fabric.words)
    if name is None or own is None:
        return False
    return (
        name.transport == own.transport
        and name.version in ("", own.version)
        and name.extras <= own.extras
        and abs(reference.link_bits_per_s / 8 / fabric.medium.rate - 1) < _ALIKE
    )


def _nearest(fabric: Fabric, candidates: Sequence[Reference]) -> list[Reference]:
    """Keep those with the job's own flow control; all where there are none."""
    own = fabric_name(fabric.words)
    same = [
        reference
        for reference in candidates
        if (k := fabric_name(reference.fabric)) and own and k.extras == own.extras
    ]
    return same or list(candidates)
