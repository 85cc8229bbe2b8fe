"""Lists of links as CSV: names of two nodes a line, with or without a header.

Etherweave's cable plan is one, too. Columns may be parted by commas, semicolons or tabs.
"""

import csv
from collections.abc import Iterator, Sequence

from etherweave.formats.network import Kind, Network, listed_names
from etherweave.formats.texts import Source, delimiter

COLUMNS = {
    "first": ("from", "from_node", "source", "src", "a", "node_a", "device_a"),
    "second": ("to", "to_node", "target", "dst", "b", "node_b", "device_b"),
    "first_port": ("from_port", "source_port", "sourceport", "port_a", "a_port"),
    "second_port": ("to_port", "target_port", "targetport", "port_b", "b_port"),
    "rate": ("rate", "speed", "bandwidth", "capacity"),
    "length": ("length", "length_m"),
    "medium": ("medium",),
    "link_class": ("class",),
    "links": ("links", "count", "parallel"),
}
"""Fields of a link, and the headings that columns of them have."""
ENDS = (("from", "to"), ("source", "target"), ("side_a_name", "side_b_name"))
"""Pairs of headings that a message names."""
BARE = ("first", "second", "rate", "length", "medium")
"""Columns without a header, as ``topology.custom`` has them."""


def recognises(file: Source) -> bool:
    """Return whether it is a table of at least two columns."""
    if file.suffix not in (".csv", ".tsv", ".txt", ".edges", ".edgelist"):
        return False
    first = next(iter(rows(file)), ("", []))[1]
    return len(first) >= 2


def read(files: Sequence[Source], _servers: int) -> Network:
    """Read links; hosts are the nodes of links of the class host, where there are classes."""
    network = Network(str(files[0].path))
    for file in files:
        network.file = str(file.path)
        table = rows(file)
        where, first = next(table, ("", []))
        columns = _columns(first)
        if columns is None:
            _check_no_header(network, where, first)
            columns = {name: at for at, name in enumerate(BARE[: max(len(first), 2)])}
            _link(network, columns, where, first)
        else:
            network.form = "a list of links"
            in_metres = "length_m" in [heading.strip().lower() for heading in first]
            columns |= {"in_metres": -1} if in_metres else {}
            # The cable plan quotes names that end with blanks.
            is_plan = first[0] == "cable"
            columns |= {"as_it_is": -1} if is_plan else {}
            if not is_plan:
                _note_unknown(network, first)
        for where, row in table:
            _link(network, columns, where, row)
    return network


def _note_unknown(network: Network, headings: Sequence[str]) -> None:
    """Note columns that no field of a link has."""
    known = {heading for names in COLUMNS.values() for heading in names}
    unknown = [name.strip() for name in headings if _key(name) and _key(name) not in known]
    if unknown:
        columns = "columns" if len(unknown) > 1 else "column"
        network.notes.append(f"left out of the list: {columns} {listed_names(unknown)}")


def rows(file: Source) -> Iterator[tuple[str, list[str]]]:
    """Give the rows that are not empty, with their places; comments after # are skipped."""
    head = next((line for _, line in file.lines()), "")
    if delimiter(head) not in head:
        for where, line in file.lines():
            yield where, line.split()
        return
    reader = csv.reader(file.text.split("\n"), delimiter=delimiter(head))
    try:
        for row in reader:
            if any(cell.strip() for cell in row) and not row[0].lstrip().startswith("#"):
                yield f"line {reader.line_num}", [cell.split("  #")[0] for cell in row]
    except csv.Error as error:
        raise file.mistake(f"line {reader.line_num}", f"{error}; expected CSV") from None


def _columns(headings: Sequence[str]) -> dict[str, int] | None:
    """Find the columns of fields by a header; None when there is none."""
    names = [_key(heading) for heading in headings]
    columns = {}
    for name, known in COLUMNS.items():
        at = next((names.index(heading) for heading in known if heading in names), None)
        if at is not None:
            columns[name] = at
    return columns if {"first", "second"} <= set(columns) else None


def _check_no_header(network: Network, where: str, row: Sequence[str]) -> None:
    """Refuse a line of words, which is a header that names no two ends, with one misspelt."""
    cells = [cell.strip() for cell in row]
    if len(cells) > 2 and all(cells) and not any(letter.isdigit() for letter in cells[2]):
        known = ", ".join(f"{first} and {second}" for first, second in ENDS)
        reason = f"{','.join(cells)[:60]!r} names no two ends; expected columns such as {known}"
        raise network.mistake(where, reason)


def _key(heading: str) -> str:
    return heading.strip().lower().replace(" ", "_")


def _link(network: Network, columns: dict[str, int], where: str, row: Sequence[str]) -> None:
    def cell(name: str) -> str:
        at = columns.get(name, -1)
        text = row[at] if 0 <= at < len(row) else ""
        text = text if "as_it_is" in columns else text.strip()
        # Exports put an apostrophe before what spreadsheets would execute.
        return text[1:] if text.startswith("'") and text[1:2] in tuple("=+-@") else text

    if len(row) < 2 or not cell("first") or not cell("second"):
        raise network.mistake(where, f"{','.join(row)[:60]!r}; expected two names of nodes")
    links = cell("links") or "1"
    if not (links.isascii() and links.isdigit() and len(links) < 6):
        raise network.mistake(where, f"{links[:20]!r} links; expected a number")
    length = cell("length")
    if length and "in_metres" in columns:
        length = f"{length}m"
    of = {name: cell(name) for name in ("first_port", "second_port", "rate", "medium")}
    of |= {"link_class": cell("link_class").lower(), "length": length}
    first, second = cell("first"), cell("second")
    if of["link_class"] not in ("", "host", "local", "global"):
        reason = f"the class {of['link_class'][:20]!r}; expected host, local or global"
        raise network.mistake(where, reason)
    kind: Kind | None = "host" if of["link_class"] == "host" else None
    network.node(first, kind, where)
    if of["link_class"] in ("local", "global"):
        network.node(first, "switch", where)
    if of["link_class"]:
        network.node(second, "switch", where)
    network.join(first, second, of, links=int(links), where=where)
