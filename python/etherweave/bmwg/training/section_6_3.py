"""Packet spraying under RUD beside other services and strategies (training draft, 6.3)."""

from collections.abc import Sequence
from dataclasses import replace

from etherweave.bmwg.balancing import balance_cases, balance_table
from etherweave.bmwg.fabric import BenchFabric
from etherweave.bmwg.model import Case, Included, ReportTable
from etherweave.bmwg.settings import flowlets, roce, uet


def cases(fabric: BenchFabric, full: bool) -> Sequence[Case]:
    """Write by the draft's five configurations."""
    spray = {"routing": "spray"}
    by_packet = {"reliability": "selective_repeat"}
    flowlet = {"routing": flowlets(fabric, "1us")["routing"]}
    variants = {
        "RUD, spray": uet(fabric, delivery="rud", load_balancing="oblivious"),
        "ROD, spray": {**uet(fabric, delivery="rod"), **spray},
        "RC, spray": {**roce(fabric, **by_packet), **spray},
        "RC, ECMP": {**roce(fabric), "routing": "ecmp"},
        "RUD, flowlets": {**uet(fabric, delivery="rud"), **flowlet},
    }
    return balance_cases(fabric, full, variants, (1, 4) if full else (1,))


def tables(fabric: BenchFabric, trials: Included) -> Sequence[ReportTable]:
    """Report MMR, JFI, order, retransmissions and goodput."""
    table = balance_table(fabric, trials, "Spraying by service")
    note = (
        " ROD takes packets in order alone: sprayed, what overtakes is dropped and sent again with "
        "all behind it."
    )
    return [replace(table, note=table.note + note)]
