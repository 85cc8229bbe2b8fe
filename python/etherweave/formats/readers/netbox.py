"""NetBox: CSV of its bulk import (devices, interfaces, cables), CSV of its tables, JSON of REST.

Names of columns as in netbox-community/netbox, ``dcim/forms/bulk_import.py`` and
``dcim/tables/cables.py``. A cable with the description "global cable" is one, as Etherweave's
export has it. Cables of power and consoles, and those to patch panels, are left out: which ports of
a panel belong together stands in no cable.
"""

import csv
from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

from etherweave.formats.network import Kind, Network, listed_names, subject
from etherweave.formats.texts import Source, delimiter, items, json_value, mapping, mappings

CABLES, TABLE = {"side_a_name", "side_b_name"}, {"termination a", "termination b"}
DEVICES, INTERFACES = {"name", "role", "device_type"}, {"device", "name", "type"}
COLUMNS = {f"side_{side}_{of}" for side in "ab" for of in ("site", "device", "type", "name")}
COLUMNS |= {"type", "status", "profile", "tenant", "label", "color", "length", "length_unit"}
COLUMNS |= {"description", "owner", "comments", "tags"}
"""Columns of the import of cables."""
SWITCH_ROLES = ("switch", "leaf", "spine", "tor", "core", "agg", "router", "edge", "fabric")
"""Words by which the role of a device is that of a switch."""
INTERFACE = "dcim.interface"
CHARGED = ("powerport", "poweroutlet", "powerfeed", "consoleport", "consoleserverport")
"""Types of the ends of cables that carry no frames."""
METRES = {"km": 1000.0, "m": 1.0, "cm": 0.01, "mi": 1609.344, "ft": 0.3048, "in": 0.0254}
"""Metres of a unit of NetBox (ISO 80000-3; mile, foot and inch of 1959)."""


def recognises(file: Source) -> bool:
    """Return whether its headings or keys are NetBox's."""
    if file.text.lstrip().startswith(("{", "[")):
        return '"a_terminations"' in file.head
    headings = set(_headings(file))
    is_cables = any(heading.startswith(("side_a_", "side_b_")) for heading in headings)
    return is_cables or any(known <= headings for known in (CABLES, TABLE, DEVICES, INTERFACES))


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read devices first, then interfaces, then cables, wherever they stand."""
    network = Network(str(files[0].path))
    rates: dict[tuple[str, str], str] = {}
    headings = {file: set(_headings(file)) for file in files}
    for file in (file for file in files if headings[file] >= DEVICES):
        network.file = str(file.path)
        for where, row in _rows(file):
            made = network.new_node(row["name"], _kind(row["role"]), where)
            made.is_assumed = made.kind == "host"  # Role that is no word for a switch.
    for file in (file for file in files if headings[file] >= INTERFACES):
        for _, row in _rows(file):
            rates[row["device"], row["name"]] = _interface_rate(row)
    for file in files:
        if not any(known <= headings[file] for known in (DEVICES, INTERFACES)):
            network.file = str(file.path)
            _cables(file, network, rates, headings[file])
    return network


def _cables(
    file: Source, network: Network, rates: dict[tuple[str, str], str], headings: set[str]
) -> None:
    if file.text.lstrip().startswith(("{", "[")):
        rows: Iterable[Cable] = _rest(file)
    elif headings >= CABLES:
        rows = (_imported(file, where, row) for where, row in _rows(file))
    else:
        _check_headings(file, headings)
        rows = (_listed(file, where, row) for where, row in _rows(file))
    empty = planned = leaving = charged = 0
    passive: list[str] = []
    for where, sides, length, form, status, description, kind in rows:
        if kind in CHARGED:
            charged += 1
            continue
        if kind:
            passive.append(_named(where, *sides))
            continue
        planned += status == "planned"
        leaving += status == "decommissioning"
        if not sides[0] or not sides[1]:
            empty += 1
            continue
        for first, second in _pairs(file, where, *sides):
            rate = rates.get(first) or rates.get(second) or ""
            of = {"first_port": first[1], "second_port": second[1], "rate": rate, "length": length}
            of |= {"medium": _medium(form), "link_class": _class(description)}
            network.join(first[0], second[0], of, where=where)
    _note(network, empty, "without a device at one side", "left out")
    _note(network, charged, "of power and consoles", "left out")
    state = f"left out, as NetBox traces paths from interfaces: {listed_names(passive)}"
    _note(network, len(passive), "to patch panels or circuits", state)
    _note(network, planned, "", "planned")
    _note(network, leaving, "", "there and will be taken out (decommissioning)")


def _note(network: Network, count: int, which: str, state: str) -> None:
    if count:
        network.notes.append(f"{subject(count, 'cable', which)} {state}")


def _check_headings(file: Source, headings: set[str]) -> None:
    """Refuse a table without the columns of cables; a misspelt heading is named."""
    if any(heading.startswith("side_") for heading in headings):
        lacking, unknown = CABLES - headings, headings - COLUMNS
        own = f"; there is {', '.join(sorted(unknown))}" if unknown else ""
        raise file.mistake("line 1", f"no column {' and '.join(sorted(lacking))}{own}")
    if not headings >= TABLE:
        expected = "Termination A and Termination B, or side_a_name and side_b_name"
        raise file.mistake("line 1", f"no ends of cables; expected columns {expected}")


End = tuple[str, str]
Cable = tuple[str, tuple[list[End], list[End]], str, str, str, str, str]
"""Place, ends of both sides, length, type, status, description, type of an end if no interface."""


def _imported(file: Source, where: str, row: dict[str, str]) -> Cable:
    sides = []
    kinds = [_end_kind(row.get(f"side_{side}_type", "")) for side in "ab"]
    for side in "ab":
        names = _split(row[f"side_{side}_name"])
        devices = _split(row.get(f"side_{side}_device", ""))
        devices = devices * len(names) if len(devices) == 1 else devices
        if names and len(devices) != len(names):
            reason = f"{len(devices)} devices of {len(names)} names; expected one, or one each"
            raise file.mistake(where, reason)
        sides.append(list(zip(devices, names, strict=True)))
    length = _length(file, where, row.get("length", ""), row.get("length_unit", "") or "m")
    form, status, description = (row.get(key, "") for key in ("type", "status", "description"))
    return where, (sides[0], sides[1]), length, form, status, description, _other(kinds)


def _listed(file: Source, where: str, row: dict[str, str]) -> Cable:
    """Read a row of the table that "current view" or "all data" exports."""
    if "device a" not in row or "device b" not in row:
        reason = "no columns Device A and Device B; expected an export of all data"
        raise file.mistake(where, reason)
    sides = []
    for side in "ab":
        names, devices = _split(row[f"termination {side}"]), _split(row[f"device {side}"])
        if len(devices) > 1:
            reason = f"{len(devices)} devices in a cell, in no order; expected JSON of REST"
            raise file.mistake(where, reason)
        sides.append([(devices[0], name) for name in names] if devices else [])
    length, _, unit = row.get("length", "").partition(" ")
    form = row.get("type", "")
    return (
        where,
        (sides[0], sides[1]),
        _length(file, where, length, unit or "m"),
        form,
        row.get("status", "").lower(),
        row.get("description", ""),
        CHARGED[0] if form.lower() == "power" else "",
    )


def _rest(file: Source) -> Iterable[Cable]:
    """Read cables of ``GET /api/dcim/cables/``."""
    document = json_value(file)
    results = document.get("results") if isinstance(document, dict) else document
    for where, cable in mappings(file, results, "results"):
        ends = [
            [
                (mapping(file, end, f"{where}.{side}"), f"{where}.{side}")
                for end in items(file, cable.get(side), where)
            ]
            for side in ("a_terminations", "b_terminations")
        ]
        sides = [[_end(file, *end) for end in side] for side in ends]
        kinds = [_end_kind(str(end.get("object_type") or "")) for side in ends for end, _ in side]
        length, unit = cable.get("length"), _value(cable.get("length_unit")) or "m"
        text = _length(file, where, "" if length is None else str(length), unit)
        form = str(cable.get("type") or "")
        status, description = _value(cable.get("status")), str(cable.get("description") or "")
        yield where, (sides[0], sides[1]), text, form, status, description, _other(kinds)


def _end(file: Source, end: dict[str, Any], where: str) -> End:
    interface = mapping(file, end.get("object"), f"{where}.object")
    kind = str(end.get("object_type") or INTERFACE)
    if kind != INTERFACE and "device" not in interface:  # A circuit or a power feed has none.
        return str(interface.get("display", "")), ""
    device = mapping(file, interface.get("device"), f"{where}.object.device")
    return str(device.get("name", "")), str(interface.get("name", ""))


def _end_kind(text: str) -> str:
    """Read the type of an end without its application: empty of an interface."""
    kind = text.rpartition(".")[2]
    return "" if kind == "interface" else kind


def _other(kinds: Iterable[str]) -> str:
    return next(filter(None, kinds), "")


def _value(choice: Any) -> str:
    return str(choice.get("value", "")) if isinstance(choice, dict) else str(choice or "")


def _pairs(file: Source, where: str, first: list[End], second: list[End]) -> list[tuple[End, End]]:
    """Pair the ends of a breakout cable: one port with each of several, or by position."""
    if len(first) == len(second):
        return list(zip(first, second, strict=True))
    if 1 not in (len(first), len(second)):
        reason = f"{len(first)} and {len(second)} ends; expected equal numbers, or one"
        raise file.mistake(where, reason)
    count = max(len(first), len(second))
    sides = [
        [(end[0], f"{end[1]}/{leg + 1}") for leg in range(count) for end in side]
        if len(side) == 1
        else side
        for side in (first, second)
    ]
    return list(zip(*sides, strict=True))


def _named(where: str, *sides: list[End]) -> str:
    """Name a cable by the first end of each side, as in ``leaf1 E3 - panel1 f1``."""
    names = [" ".join(filter(None, side[0])) for side in sides if side]
    return " - ".join(names) or where


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _length(file: Source, where: str, text: str, unit: str) -> str:
    if not text:
        return ""
    try:
        metres = float(text) * METRES[unit]
    except (ValueError, KeyError):
        expected = f"a number, and one of {', '.join(METRES)}"
        raise file.mistake(where, f"length {text[:20]} {unit[:20]}; expected {expected}") from None
    return f"{round(metres * 1000)}mm" if 0 < metres < 1e9 else ""


def _medium(form: str) -> str:
    if form.startswith(("dac", "cat", "coaxial")):
        return "copper"
    return "optical" if form.startswith(("aoc", "mmf", "smf", "fiber", "mrj21")) else ""


def _class(description: str) -> str:
    """Read the class of a cable, as Etherweave's export describes it."""
    word, _, noun = description.strip().lower().partition(" ")
    return word if noun == "cable" and word in ("local", "global") else ""


def _kind(role: str) -> Kind:
    return "switch" if any(word in role.lower() for word in SWITCH_ROLES) else "host"


def _interface_rate(row: dict[str, str]) -> str:
    """Read the rate of an interface: its speed [kb/s], else that of its type."""
    if row.get("speed", "").isdigit() and int(row["speed"]):
        return f"{int(row['speed'])}kb/s"
    number = row["type"].split("base")[0]
    return f"{number.rstrip('g')}Gb/s" if "base" in row["type"] and number.endswith("g") else ""


def _headings(file: Source) -> list[str]:
    line = _head(file)
    return [heading.strip().strip('"').lower() for heading in line.split(delimiter(line))]


def _head(file: Source) -> str:
    return next((line for _, line in file.lines(comment="")), "")


def _rows(file: Source) -> Iterable[tuple[str, dict[str, str]]]:
    text = StringIO(file.text, newline="")
    reader = csv.DictReader(text, strict=True, delimiter=delimiter(_head(file)))
    try:
        for row in reader:
            if None in row or None in row.values():
                reason = f"expected {len(reader.fieldnames or ())} cells"
                raise file.mistake(f"line {reader.line_num}", reason)
            yield (
                f"line {reader.line_num}",
                {key.strip().lower(): cell for key, cell in row.items()},
            )
    except csv.Error as error:
        raise file.mistake(f"line {reader.line_num}", f"{error}; expected CSV") from None
