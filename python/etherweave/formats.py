"""Fabrics for other programs: one scenario in, texts out."""

from collections.abc import Mapping

from etherweave import _core
from etherweave.scenario import Overrides, Scenario, literals, read


def export(
    scenario: Scenario,
    form: str,
    overrides: Overrides | None = None,
    *,
    names: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Write a scenario's fabric in a format that other programs read.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.run`; jobs may be missing.
    form
        The format, one of :func:`exports`.
    names
        Names of things that a fabric has no name for: ``fabric`` (the name of the
        scenario), ``cable`` (the beginning of labels, ``"C"``); for NetBox ``site`` (``"Site"``),
        ``rack`` (the beginning of racks, ``""`` for none), ``manufacturer`` (``"Generic"``),
        ``host`` and ``switch`` (roles and device types, ``"Host"`` and ``"Switch"``),
        ``host_interface`` (``"eth0"``), ``switch_interface`` (before the port, ``"port"``),
        ``copper`` (``"dac-passive"``) and ``optical`` (``"aoc"``).

    Returns
    -------
    dict
        Texts by file name. Lines end as they are to be stored, so open files with ``newline=""``.

    Raises
    ------
    ScenarioError
        When the scenario is wrong, the format or one of ``names`` unknown, or a node has a name
        that the format cannot express.

    Examples
    --------
    >>> pair = {"name": "pair", "topology": {"single_switch": {"hosts": 2}}}
    >>> print(export(pair, "edges")["pair-edges.csv"].splitlines()[1])
    h0,s0,100Gb/s,3m,copper,host
    """
    text, origin = read(scenario)
    fabric = _core.Fabric.parse(text, origin, literals(overrides))
    return fabric.export(form, list((names or {}).items()))


def exports() -> list[tuple[str, str]]:
    """Name the formats of :func:`export`, with a sentence about each."""
    return _core.exports()
