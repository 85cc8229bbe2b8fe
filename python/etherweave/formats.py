"""Fabrics for other programs: one scenario in, texts out."""

from etherweave import _core
from etherweave.scenario import Overrides, Scenario, literals, read


def export(
    scenario: Scenario, format: str, overrides: Overrides | None = None
) -> dict[str, str]:
    """Write a scenario's fabric in a format that other programs read.

    Parameters
    ----------
    scenario, overrides
        As for :func:`etherweave.run`; jobs may be missing.
    format
        One of :func:`exports`.

    Returns
    -------
    dict
        Texts by file name. Lines end as they are to be stored, so open files with ``newline=""``.

    Raises
    ------
    ScenarioError
        When the scenario is wrong, the format unknown, or a node has a name that the format cannot
        express.

    Examples
    --------
    >>> pair = {"name": "pair", "topology": {"single_switch": {"hosts": 2}}}
    >>> print(export(pair, "edges")["pair-edges.csv"].splitlines()[1])
    h0,s0,100Gb/s,3m,copper,host
    """
    text, origin = read(scenario)
    return _core.Fabric.parse(text, origin, literals(overrides)).export(format)


def exports() -> list[tuple[str, str]]:
    """Name the formats of :func:`export`, with a sentence about each."""
    return _core.exports()
