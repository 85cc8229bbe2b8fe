"""How stacks of libraries are switched to a fabric: ``fabrics.toml``, filled in."""

import tomllib
from functools import cache
from importlib.resources import files
from string import Formatter

from etherweave.bench.site.values import SiteError

Profiles = dict[str, dict[str, dict[str, str]]]
"""Variables by name, of stacks, of kinds of fabrics."""


@cache
def profiles() -> Profiles:
    """Read what Etherweave knows."""
    text = files("etherweave.bench").joinpath("fabrics.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def environment(
    kind: str, stack: str, interface: str | None, device: str | None
) -> tuple[tuple[str, str], ...]:
    """Return the variables that switch a stack to a fabric.

    Parameters
    ----------
    kind, stack
        Both are known.
    interface, device
        As the site calls them: ``p3p2``, ``mlx5_1:1``.

    Raises
    ------
    SiteError
        When one is needed that is not given.
    """
    known = {"interface": interface, "device": device, "card": device and device.split(":")[0]}
    pairs = []
    for name, text in profiles()[kind][stack].items():
        for _, field, _, _ in Formatter().parse(text):
            if field and known[field] is None:
                wanted = {"interface": 'interface = "eth0"', "device": 'device = "mlx5_0:1"'}
                example = wanted["interface" if field == "interface" else "device"]
                raise SiteError(f"{name} of {kind} by {stack} needs it; expected {example}")
        pairs.append((name, text.format_map(known)))
    return tuple(pairs)
