"""The verb ``import``."""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import etherweave
from etherweave.api.inputs import InputError
from etherweave.api.outputs import OutputNameError, below, new_files
from etherweave.api.units import counted
from etherweave.cli.exits import mistakes, reject
from etherweave.cli.parameters import AsJson, directory
from etherweave.formats import READERS, read, scenario
from etherweave.formats.family import listed
from etherweave.formats.regular import LISTED_MAX, Description, describe

SERVERS_MAX = 4096

FORMATS = """
Formats:
""" + "\n".join(f"{name}: {about}" for name, about in READERS.items())


def import_(
    files: list[Path],
    *,
    output: Path | None = None,
    name: str | None = None,
    form: str | None = None,
    hosts: str | None = None,
    attach: Annotated[int, typer.Option(min=0, max=scenario.ATTACHED_MAX)] = 0,
    rate: str | None = None,
    length: str | None = None,
    servers: Annotated[int, typer.Option(min=1, max=SERVERS_MAX)] = 2,
    overwrite: Annotated[bool, typer.Option("--overwrite")] = False,
    as_json: AsJson = False,
) -> None:
    """Read a fabric from files of another program, print what is understood, write a scenario.

    Nodes, cables, levels and oversubscription are counted; switches that differ from most of their
    level are named, and so is what the files do not say. The exit code is 2 after a mistake.

    Parameters
    ----------
    files : FILE
        Files of one format, such as devices, interfaces and cables of NetBox, or their directory.
    output : -o DIRECTORY
        Directory for the scenario and its list of links; without it nothing is written.
    name
        Name of the scenario, by default that of the first file.
    form : --form NAME
        Format of the files, by default recognised by content and name.
    hosts : --hosts PATTERN
        Names of hosts, as a pattern of the shell such as 'gpu*', where the files do not say it.
    attach
        Number of hosts to attach to every switch, for files of switches alone.
    rate
        Rate of cables without one, by default 100Gb/s.
    length
        Length of cables without one, by default 3m.
    servers
        Number of servers at a switch, for files of the inside of a server.
    overwrite
        Replace files of the output that differ, which otherwise are kept and end the import.
    """
    if output:
        directory(output)
    if form and form not in READERS:
        reject(f"--form {form}: expected one of {', '.join(READERS)}")
    answers = scenario.Answers(hosts, attach, rate, length)
    called = name or files[0].name.split(".")[0] or "fabric"
    with mistakes(etherweave.ScenarioError, ValueError):
        _check_name(called)
        imported = _imported(files, called, form, servers, answers)
        description = describe(imported.fabric)
        if output:
            if not overwrite:
                _check_kept(output, imported.files)
            with new_files(output) as made:
                for file, text in imported.files.items():
                    made.add(file, text)
    if as_json:
        print(json.dumps(_figures(imported, description), indent=2))
        return
    print("\n".join(_page(called, imported, description)))
    if output:
        print(f"Scenario: {below(output, f'{called}.toml')}")


def _check_name(name: str) -> None:
    """Reject a name that cannot be that of a file in the output."""
    try:
        below(Path(), f"{name}.toml")
    except OutputNameError:
        reject(f"--name {name[:60]}: expected a name of a file, without slashes")


def _check_kept(output: Path, texts: Mapping[str, str]) -> None:
    """Reject an output that has other texts: a job may have been added to the scenario."""
    for name, text in texts.items():
        path = below(output, name)
        if path.is_file() and path.read_bytes() != text.encode():
            expected = "another -o DIRECTORY or --name, or --overwrite"
            raise InputError(path, f"exists with other contents, which stay; expected {expected}")


def _imported(
    files: list[Path], name: str, form: str | None, servers: int, answers: scenario.Answers
) -> scenario.ImportedScenario:
    own = listed(files)
    if len(own) == 1 and not form and not answers.hosts and not answers.attach:
        taken = scenario.as_it_is(own[0], name, answers)
        if taken:
            return taken
    network = read(files, form, servers)
    return scenario.scenario_of(network, name, answers)


def _page(name: str, imported: scenario.ImportedScenario, description: Description) -> list[str]:
    switches = sum(description.levels.values())
    count = sum(cables.count for cables in description.cables)
    counts = ((description.hosts, "host"), (switches, "switch"), (count, "cable"))
    lines = [f"{name}: {', '.join(counted(number, noun) for number, noun in counts)}"]
    if description.host_ports != description.hosts:
        lines.append(f"  Hosts: {description.host_ports:,} ports")
    levels = (f"{number:,} of level {level}" for level, number in description.levels.items())
    lines.append(f"  Switches: {', '.join(levels)}")
    for cables in description.cables:
        kind = f"{_figure(cables.rate_gbps)} Gb/s, {cables.medium}, {_figure(cables.length_m)} m"
        lines.append(f"  Cables: {cables.count:,} {cables.link_class}, {kind}")
    for taper in description.tapers:
        down, up = (
            f"{rate:,.3f}".rstrip("0").rstrip(".") for rate in (taper.down_gbps, taper.up_gbps)
        )
        capacity = f"{down} Gb/s down, {up} Gb/s up"
        lines.append(f"  Level {taper.level}: {capacity}, taper {taper.ratio:.3g} : 1")
    if description.resembles:
        lines.append(f"  Resembles {description.resembles}")
    pairs = Counter(description.missing)
    missing = [f"{counted(n, 'cable')} {first} - {second}" for (first, second), n in pairs.items()]
    for title, sentences in (
        ("Missing", missing),
        ("Odd", description.odd),
        ("Assumed", imported.assumed),
        ("Note", imported.notes),
    ):
        lines += [f"  {title}: {sentence}" for sentence in sentences[:LISTED_MAX]]
        if len(sentences) > LISTED_MAX:
            lines.append(f"  {title}: {len(sentences) - LISTED_MAX:,} more (--json lists them)")
    return lines


def _figure(value: float) -> str:
    """Write a number without an exponent.

    >>> _figure(1e6), _figure(9.92)
    ('1,000,000', '9.92')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def _figures(imported: scenario.ImportedScenario, description: Description) -> dict[str, object]:
    figures: dict[str, object] = asdict(description)
    figures["tapers"] = [asdict(taper) | {"ratio": taper.ratio} for taper in description.tapers]
    return figures | {"assumed": list(imported.assumed), "notes": list(imported.notes)}
