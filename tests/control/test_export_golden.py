"""Golden files of each system, and the document and section that each line is written after."""

import csv
import json
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from etherweave.control.lint import yaml_paths
from etherweave.control.qos import front_panel
from etherweave.control.qos.derive import ExportOptions, policy
from etherweave.control.qos.nos import UNLOADED, files
from etherweave.control.qos.policy import HostPorts, PolicyError, SonicForm

GOLDEN = Path(__file__).parent / "golden"
SCENARIOS = Path(__file__).parents[2] / "scenarios"
SYSTEMS = ("onyx", "eos", "cumulus", "sonic")
FILES = ("onyx.cfg", "eos.cfg", "nvue.sh", "nvue.yaml", "config_db.json", "pg_profile_lookup.ini")
SNAPSHOTS = {
    "onyx.cfg": "onyx",
    "eos.cfg": "eos",
    "nvue.sh": "cumulus",
    "pg_profile_lookup.ini": "sonic",
}
"""Golden files, by their systems. YAML has the commands, and SONiC's tables follow its YANG."""
MARKED = {"queue_min": "150kB", "queue_max": "1500kB", "share_max": 1.0}
SMALL: dict[str, object] = {
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 1, "cores": 1, "links_per_core": 2}},
    "switch": {"ecn": MARKED},
    "ets": {"weights": [50, 0, 0, 50, 0, 0, 0, 0]},
    "transport": {"roce": {"dcqcn": {}}},
}
"""A leaf with a host and a port channel of two links, RoCE in priority 3."""
PLACEHOLDERS = {
    "N": r"\d+(\.\d+)?",
    "list": r"\d+([ ,]\d+)*",
    "ports": r"[a-z]*\d+([s/]\d+)*(-\d+(/\d+)*)?(,[a-z]*\d+(s\d+)?(-\d+)?)*",
    "kind": "(ethernet|port-channel)",
    "pause": "(pfc|link-pause)",
    "name": ".+",
}


@pytest.mark.parametrize("name", SNAPSHOTS)
def test_what_is_exported_is_the_golden_file(name: str) -> None:
    """A snapshot: ``ETHERWEAVE_BLESS=1`` writes it anew."""
    system = SNAPSHOTS[name]
    text = files(policy(SMALL, options=ExportOptions(system=system)), system)[f"leaf0/{name}"]
    if os.environ.get("ETHERWEAVE_BLESS"):
        (GOLDEN / name).write_text(text)
    assert text == (GOLDEN / name).read_text()


@cache
def sources() -> Mapping[str, Mapping[re.Pattern[str], tuple[str, str]]]:
    """Return forms of lines, by file, and the document and section of each."""
    result: dict[str, dict[re.Pattern[str], tuple[str, str]]] = {}
    with (GOLDEN / "sources.csv").open() as table:
        for row in csv.DictReader(table):
            parts = re.split(r"\{(\w+)\}", row["form"])
            plain = [re.escape(part) for part in parts[::2]]
            open_ = [*(PLACEHOLDERS[name] for name in parts[1::2]), ""]
            pattern = "".join(a + b for a, b in zip(plain, open_, strict=True))
            result.setdefault(row["file"], {})[re.compile(pattern)] = (
                row["document"],
                row["section"],
            )
    return result


def lines(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Return the lines of a file, and the file whose forms they have.

    A field of SONiC's file is a line, and a path of YAML a command.
    """
    if name == "config_db.json":
        for table, entries in json.loads(text).items():
            for entry in entries.values():
                yield from ((name, f"{table} {field}".strip()) for field in entry or [""])
    elif name == "nvue.yaml":
        for _, words in yaml_paths.read(text):
            yield "nvue.sh", " ".join(["nv set", *words])
    else:
        yield from ((name, line.strip()) for line in text.splitlines())


def unsourced(written: Mapping[str, str]) -> Iterator[str]:
    """Return the lines that no form of the table has."""
    for path, text in written.items():
        name = path.rpartition("/")[2]
        if name not in FILES:
            continue
        for file, line in lines(name, text):
            if not any(form.fullmatch(line.strip()) for form in sources()[file]):
                yield f"{path}: {line}"


PANELS = front_panel.panels(["1x100G,2x200G"])  # The uplinks are halves of a cage.
VARIANTS: dict[str, tuple[dict[str, object], ExportOptions]] = {
    "marks": ({}, ExportOptions(dscps={3: 3})),
    "classes": ({"ets.class_of_priority": [0, 1, 2, 4, 3, 5, 6, 7]}, ExportOptions()),
    "jericho": ({}, ExportOptions(device="jericho2")),
    "whole": ({}, ExportOptions(sonic=SonicForm(is_whole=True))),
    "dynamic": ({}, ExportOptions(sonic=SonicForm(is_whole=True, is_dynamic=True))),
    "shared": ({}, ExportOptions(sonic=SonicForm(over_subscription=2))),
    "broadcom": ({}, ExportOptions(device="tomahawk3")),
    "access": ({}, ExportOptions(panels=PANELS, host_ports=HostPorts(10))),
    "routed": ({}, ExportOptions(panels=PANELS, host_ports=HostPorts(None))),
}


def exported(variant: str, system: str) -> dict[str, str]:
    if variant == "pause":
        return files(policy(SCENARIOS / "global_pause.toml"), system)
    changes, options = VARIANTS[variant]
    return files(policy(SMALL, changes, options), system)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("variant", [*VARIANTS, "pause"])
def test_every_line_of_every_variant_has_a_source(variant: str, system: str) -> None:
    try:
        written = exported(variant, system)
    except PolicyError:
        return  # SONiC has no 802.3x pause, Broadcom's devices no dynamic buffers.
    assert list(unsourced(written)) == []


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("scenario", ["qos_ets", "dcqcn", "failing_link"])
def test_every_line_of_an_exported_scenario_has_a_source(scenario: str, system: str) -> None:
    options = ExportOptions(system=system)
    written = files(policy(SCENARIOS / f"{scenario}.toml", options=options), system)
    assert list(unsourced(written)) == []


def test_every_form_of_the_table_is_written_and_names_document_and_section() -> None:
    seen: set[re.Pattern[str]] = set()
    for system in SYSTEMS:
        for variant in (*VARIANTS, "pause"):
            try:
                written = exported(variant, system)
            except PolicyError:
                continue
            for path, text in written.items():
                for file, line in lines(path.rpartition("/")[2], text):
                    forms = sources().get(file, {})
                    seen |= {form for form in forms if form.fullmatch(line.strip())}
    table = {form: row for forms in sources().values() for form, row in forms.items()}
    assert [form.pattern for form in table if form not in seen] == []
    assert all(document and section for document, section in table.values())


@pytest.mark.parametrize("system", ["onyx", "eos", "cumulus"])
def test_what_was_never_loaded_on_a_device_says_so_in_its_first_line(system: str) -> None:
    written = files(policy(SMALL, options=ExportOptions(system=system)), system)
    texts = [text for path, text in written.items() if path.rpartition("/")[2] in FILES]
    assert len(texts) == (6 if system == "cumulus" else 3)
    assert all(_says_so(text) for text in texts)


def _says_so(text: str) -> bool:
    first, second, *_ = text.splitlines()
    said = second if first.startswith("#!") else first
    return said.lstrip("#! ") == UNLOADED
