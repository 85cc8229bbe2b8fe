"""Needs of a verb beyond the simulator: the extras of the package, as its metadata lists them."""

import re
from importlib.util import find_spec
from types import TracebackType

from etherweave.cli.exits import reject

EXTRAS = ("advise", "bench", "control", "dask", "explore", "formats", "otf2", "report")
"""Each has the name of the room, or the engine, whose libraries it brings; ``all`` brings all."""
MODULES = {"pyyaml": "yaml", "salib": "SALib", "scikit-learn": "sklearn"}
"""Modules of packages that have other names."""
BROUGHT = {"advise": {"scipy"}}  # Packages that libraries of an extra require: SALib.
_REQUIREMENT = re.compile(r"(?P<package>[\w.-]+).*;.*\bextra == ['\"](?P<extra>\w+)['\"]")


def require(*extras: str) -> None:
    """End with one sentence, before work that takes long, where an extra's package is missing."""
    for extra in extras:
        for package in sorted(_packages(extra) | BROUGHT.get(extra, set())):
            if find_spec(MODULES.get(package, package.replace("-", "_"))) is None:
                reject(_sentence(package, extra if len(extras) == 1 else "all"))


def lack(error: ModuleNotFoundError) -> str | None:
    """Write which package an import lacks and what installs it; None where no extra brings it.

    A package of several extras is expected of the one that has the name of the verb, or of the
    room, which wanted it.
    """
    module = (error.name or "").partition(".")[0]
    package = next((first for first, other in MODULES.items() if other == module), module)
    package = package.replace("_", "-")
    extras = [extra for extra in EXTRAS if package in _packages(extra)]
    wanted = [room for room in _rooms(error.__traceback__) if room in extras]
    return _sentence(package, (wanted or extras)[0]) if extras else None


def _sentence(package: str, extra: str) -> str:
    return f"{package} is not installed; expected: pip install 'etherweave[{extra}]'"


def _packages(extra: str) -> set[str]:
    from importlib import metadata  # Takes longer to load than a help to print.

    matches = map(_REQUIREMENT.match, metadata.requires("etherweave") or ())
    packages = {match["package"].lower() for match in matches if match and match["extra"] == extra}
    return packages - {"etherweave"}  # An extra may stand on another.


def _rooms(traceback: TracebackType | None) -> list[str]:
    """List the parts of the modules' names through which an import was reached, the verb first."""
    names: list[str] = []
    while traceback:
        names += str(traceback.tb_frame.f_globals.get("__name__", "")).split(".")
        traceback = traceback.tb_next
    return names
