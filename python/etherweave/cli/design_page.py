"""A design as a page of text: sections of aligned columns."""

import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from etherweave.api.fabrics import Figures

WIDTH = 128  # Width of a page that is not printed on a terminal [columns].
WATTS_MAX = 100_000  # Power from which on a fabric's power is printed in kW [W].


def print_page(figures: Figures) -> None:
    """Print all of a design."""
    _title(figures)
    _fabric(figures["fabric"])
    _routings(figures["routings"])
    if figures["tables"]:
        _tables(figures["tables"])
    _bridging(figures["bridging"])
    if figures["reduction"]:
        _reduction(figures["reduction"])
    if figures["busiest"]:
        _busiest(figures["busiest"])
    if figures["power"]:
        _power(figures["power"])
    if figures["cost"]:
        _cost(figures["cost"], figures["fabric"]["hosts"])
    _lines("Not known", figures["missing"])


def _title(figures: Figures) -> None:
    counts = figures["fabric"]
    cables = sum(kind["cables"] for kind in counts["cables"])
    print(
        f"{figures['name']}: {figures['family']}, {counts['hosts']:,} hosts, "
        f"{counts['switches']:,} switches, {cables:,} cables{_planes(counts)}"
    )


def _planes(counts: Figures) -> str:
    if counts["planes"] == 1:
        return ""
    return f" in {counts['planes']} planes; distances, paths, proofs and tables are those of each"


def _fabric(counts: Figures) -> None:
    free = counts["ports_free"]
    left = "" if free is None else f" of {counts['radix']}; {free:,} ports free in all"
    rows = [
        ("ports", f"at most {counts['ports_used_max']} used on a switch{left}"),
        ("distance", _distance(counts)),
        ("bisection", _bisection(counts)),
        ("shortest paths", _paths(counts)),
    ]
    rows += [
        ("taper", f"{taper['ratio']:.3g}:1 above level {taper['level']}")
        for taper in counts["tapers"]
    ]
    rows += [("cables", _equal_cables(cables)) for cables in counts["cables"]]
    _table("Fabric", ("", ""), rows)


def _distance(counts: Figures) -> str:
    mean = counts["distance_mean"]
    return f"at most {counts['diameter']}, on the mean {mean:.3f} links between switches"


def _bisection(counts: Figures) -> str:
    bound = "" if counts["bisection_is_exact"] else "at most "
    share = f"{counts['bisection_share']:.1%} of what half of the hosts send"
    return f"{bound}{counts['bisection_gbps']:,.0f} Gb/s, {share} ({counts['bisection_basis']})"


def _paths(counts: Figures) -> str:
    sampled = "" if counts["paths_are_exact"] else " (from some switches)"
    least, mean, most = (counts[f"paths_{which}"] for which in ("min", "mean", "max"))
    return f"{least:,} to {most:,} between two switches, on the mean {mean:,.2f}{sampled}"


def _equal_cables(cables: Figures) -> str:
    kind = f"{cables['length_m']:g} m {cables['medium']}, {cables['rate_gbps']:g} Gb/s"
    return f"{cables['cables']:,} {cables['class']}, {kind}"


def _routings(proofs: Sequence[Figures]) -> None:
    rows = [
        (
            proof["routing"],
            _priorities(proof),
            f"{proof['hops_max']}",
            proof["verdict"] if proof["is_free"] else "may deadlock",
            f"{proof['channels']:,}",
            f"{'' if proof['is_exact'] else '≤ '}{proof['dependencies']:,}",
        )
        for proof in proofs
    ]
    names = ("routing", ">priorities", ">most links", "deadlock", ">channels", ">dependencies")
    _table("Deadlock", names, rows)
    for proof in proofs:
        if not proof["is_free"]:
            cycle = proof["verdict"].replace("\n", "\n    ")
            print(f"  {proof['routing']} {cycle}")
        order = proof.get("per_packet") or {}
        if order and ("problem" not in order) != proof["is_free"]:
            verdict = order.get("problem", "free, because channels ascend")
            needed = f"{order['channels_per_port']} priorities"
            print(f"  {proof['routing']} decided for every packet, with {needed}: {verdict}")


def _priorities(proof: Figures) -> str:
    available, needed = proof["priorities_given"], proof["priorities"]
    return f"{needed}" if available == needed else f"{available} of {needed}"


def _tables(tables: Figures) -> None:
    compacted, exact = tables["compacted"], tables["exact"]
    shared = "" if compacted["sharing"] == "hash" else f", shared by {compacted['sharing']}"
    rows = [("exact match, flat", *_entries(exact["entries"], exact["entries"], exact), "host")]
    rows += [
        (
            f"ternary, {plan['plan']}",
            *_entries(plan["entries_min"], plan["entries_mean"], plan["largest"]),
            plan["layout"],
        )
        for plan in tables["plans"]
    ]
    rows.append(
        (
            f"ternary, {compacted['compaction']}{shared}",
            *_entries(compacted["rules_min"], compacted["rules_mean"], compacted["largest"]),
            compacted["layout"],
        )
    )
    names = ("table", ">least", ">mean", ">most", ">room for", "", "address, 46 bits free")
    _table("Tables, entries per switch", names, rows)
    pairs = f"{compacted['pairs_proved']:,} pairs of switch and host"
    print(f"  Compacted tables are proved equal to the routing for {pairs};")
    print(f"  at most {compacted['ports_max']} ports of a switch are in use.")
    for reason in tables["plans_missing"]:
        _note(reason)


def _entries(least: int, mean: float, fit: Figures) -> tuple[str, ...]:
    verdict = f"{fit['excess']:,} too many" if fit["excess"] else "fits"
    return f"{least:,}", f"{mean:,.1f}", f"{fit['entries']:,}", f"{fit['capacity']:,}", verdict


STANDARDS = {
    "learning": "802.1D, spanning tree",
    "trill": "TRILL",
    "fabricpath": "FabricPath",
    "spb": "SPB",
    "vxlan": "VXLAN",
}
"""Names of the standards by which switches learn addresses."""


def _bridging(counts: Sequence[Figures]) -> None:
    rows = [
        (
            STANDARDS[count["bridging"]],
            f"{count['access']['entries']:,}",
            f"{count['core']['entries']:,}",
            f"{count['access']['capacity']:,}",
            f"{count['header_bytes']} B",
            f"{count['header_ns']:.1f} ns",
            f"{count['goodput_share']:.1%}",
            f"{count['flooded_share']:.1%}",
            f"{count['load_max']:.3%}",
        )
        for count in counts
    ]
    sizes = (">access", ">core", ">room for", ">header", ">per link", ">goodput")
    names = ("standard", *sizes, ">flooded", ">load at most")
    _table("Learnt addresses, entries per switch", names, rows)
    blocked = counts[0]["links_blocked"]
    if blocked:
        print(f"  A spanning tree leaves {blocked:,} links between switches unused.")
    for count in counts:
        if count["switches_excess"]:
            name, limit = STANDARDS[count["bridging"]], count["switches_max"]
            excess = count["switches_excess"]
            print(f"  {name} names at most {limit:,} switches, {excess:,} fewer than there are.")


def _reduction(costs: Sequence[Figures]) -> None:
    alike: dict[tuple[str, ...], list[str]] = {}
    for cost in costs:
        needs = ("trees", "trees_max", "entries", "segment_packets", "buffer_bytes")
        alike.setdefault(tuple(f"{cost[need]:,}" for need in needs), []).append(cost["switch"])
    rows = [(f"{len(names):,}", names[0], *needs) for needs, names in alike.items()]
    names = (">switches", "as", ">trees", ">room for", ">group entries", ">packets a segment")
    _table("Reduction in the network, per switch", (*names, ">buffers [B]"), rows)


def _busiest(busiest: Figures) -> None:
    rows = [
        (f"{_sent(busy)}, {by}", f"{busy['load']:.3f}", f"{busy['accepted']:.1%}", busy["channel"])
        for pattern in ("uniform", "worst")
        for by in ("tables", "algorithm")
        for busy in (busiest[by][pattern],)
    ]
    _table(
        "Busiest channel, if every host sends all",
        ("traffic", ">load", ">accepted", "channel"),
        rows,
    )


def _sent(busy: Figures) -> str:
    further = busy["switches_further"]
    if further is None:
        return "uniform"
    return f"{further:,} switch{'es' if further > 1 else ''} further"


def _power(power: Figures) -> None:
    most = max(organisation["fabric"]["total_w"] for organisation in power["organisations"])
    unit, scale = ("kW", 1e3) if most >= WATTS_MAX else ("W", 1.0)
    rows = [_organisation(organisation, scale) for organisation in power["organisations"]]
    rows += [(*_drawn(_load(at), at["fabric"], scale), "") for at in power["activity"]]
    names = (">fixed", ">ports", ">modules", ">buffers", ">tables", ">NICs", ">all", ">per switch")
    _table(f"Power at the worst case [{unit}], {power['profile']}", ("tables", *names), rows)
    _notes(power)


def _notes(part: Figures) -> None:
    for note in (part["certainty"], *part["notes"]):
        _note(f"{note}.")


def _note(text: str) -> None:
    lines = textwrap.wrap(text, WIDTH - 2, break_on_hyphens=False, break_long_words=False)
    print(textwrap.indent("\n".join(lines), "  "))


def _organisation(figures: Figures, scale: float) -> tuple[str, ...]:
    compacted = ", compacted" if figures["is_compacted"] else ""
    kind = "encapsulated" if figures["is_encapsulated"] else figures["plan"] or ""
    name = f"{figures['table'] or 'tables not counted'} {kind}{compacted}"
    return *_drawn(name, figures["fabric"], scale), f"{figures['switch']['total_w']:,.1f} W"


def _load(at: Figures) -> str:
    measured = " measured" if at["is_measured"] else ""
    return f"load {at['load']:.3g}{measured}, {at['saving']}"


def _drawn(name: str, watts: Figures, scale: float) -> tuple[str, ...]:
    parts = ("fixed_w", "ports_w", "modules_w", "buffers_w", "tables_w", "nics_w", "total_w")
    return name, *(f"{watts[part] / scale:,.1f}" for part in parts)


def _cost(cost: Figures, hosts: int) -> None:
    rows = [
        (
            item["purpose"],
            item["key"],
            f"{item['count']:,}",
            f"{item['each']:,.2f}",
            f"{item['all']:,.0f}",
        )
        for item in cost["items"]
    ]
    names = ("what", "price of", ">count", ">each", f">all [{cost['currency']}]")
    _table(f"Cost, price book {cost['book']}", names, rows)
    print(f"  {cost['total']:,.0f} {cost['currency']}, {cost['total'] / hosts:,.2f} per host.")
    if cost["electricity_year"] is not None:
        year = cost["electricity_year"]
        print(f"  A year of electricity at the worst case: {year:,.0f} {cost['currency']}.")
    _notes(cost)


def _lines(title: str, lines: Sequence[str]) -> None:
    if lines:
        print(f"\n{title}")
        for line in lines:
            _note(line)


def _table(title: str, names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    print(f"\n{title}")
    print_table(names, rows)


def print_table(names: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table; names that begin with ``>`` stand above numbers."""
    print("\n".join(table_lines(names, rows)))


def table_lines(
    names: Sequence[str], rows: Iterable[Sequence[str]], *, is_first_wrapped: bool = True
) -> list[str]:
    """Write a table as lines; names that begin with ``>`` stand above numbers.

    A table that is wider than the page or the terminal is written whole: no word is cut. Unless the
    first column is wrapped, it is empty in the lines in which a row goes on.
    """
    from rich.console import Console, JustifyMethod
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table

    table = Table(box=None, show_header=any(names), padding=(0, 2, 0, 0), header_style="dim")
    lines, needed = list(rows), 2
    for name, *texts in zip_longest(names, *lines, fillvalue=""):
        number = name.startswith(">")
        is_wrapped = not number and (is_first_wrapped or bool(table.columns))
        justify: JustifyMethod = "right" if number else "left"
        width = max(map(len, (title := name.lstrip(">"), *texts)))
        words = " ".join((title, *texts)).split()
        word = max(map(len, words), default=0) if is_wrapped else width
        table.add_column(escape(title), justify=justify, no_wrap=word == width, overflow="fold")
        needed += word + 2
    for line in lines:
        table.add_row(*map(escape, line))
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    console.width = max(console.width, needed)
    with console.capture() as page:
        console.print(Padding(table, (0, 0, 0, 2)), highlight=False)
    return [line.rstrip() for line in page.get().splitlines()]
