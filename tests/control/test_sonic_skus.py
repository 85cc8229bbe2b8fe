"""The linter on what SKUs of SONiC render where nothing is configured.

Facts of some are in ``tests/data/skus.toml``; ``ETHERWEAVE_SONIC_REPO`` names a checkout of
sonic-net/sonic-buildimage, of which all SKUs are rendered.
"""

import csv
import json
import os
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import jinja2
import pytest

from etherweave.control import lint
from support.sonic_tree import ROLES, Sku, Tables, skus

DATA = Path(__file__).parents[1] / "data"
SKUS: dict[str, dict[str, Any]] = tomllib.loads((DATA / "skus.toml").read_text())
LOSSLESS = ("3", "4")
"""PFC priorities, traffic classes, groups and queues of SONiC's qos_config.j2."""
FRESH = {"watchdog"}  # ``pfcwd start_default`` starts it: no template does.
REAL = FRESH | {
    # SKUs without PFC, or with PFC and lossy buffers.
    *("pfc", "egress", "unmarked"),
    # Without a cable, or a row for a port, buffermgrd makes no lossless group.
    *("cables", "groups"),
    # Maps that lead no code point, or a lossy class, to a lossless priority.
    *("reached", "mixed", "orphans"),
    # A map that leads DSCP 8 to group 1, for which there is no buffer (Inventec).
    "unbuffered",
    # Tofino 2: rows of 400 Gb/s repeat those of 100 Gb/s.
    "headroom",
}
"""Rules that defaults of some SKUs violate, and why."""


def rules(tables: Tables) -> set[str]:
    site = lint.read({"sku/config_db.json": json.dumps(tables)})
    return {finding.rule for finding in lint.lint(site)}


def rendered(facts: dict[str, Any]) -> Tables:
    """Return a configuration as SONiC's templates make it of these facts."""
    names = [f"Ethernet{8 * port}" for port in range(facts["ports"])]
    slow = [f"Ethernet{8 * facts['ports'] + port}" for port in range(facts.get("service", 0))]
    lossless = names + (slow if facts.get("service_pfc") else [])
    classes = [str(number) for number in range(8)]
    row = {name: str(value) for name, value in facts["row"].items()}
    pools = {
        name: {"type": kind, "mode": "dynamic", "size": str(size), "xoff": str(xoff)}
        for name, (kind, size, xoff) in facts["pools"].items()
    }
    profiles = {
        "lossless": {"pool": "ingress_lossless_pool", "dynamic_th": "0", **row},
        "ingress_lossy": {"pool": facts["lossy_group"], "size": "0", "dynamic_th": "3"},
        "egress_lossless": {"pool": facts["lossless_queue"], "size": "0", "dynamic_th": "7"},
        "egress_lossy": {"pool": facts["lossy_queue"], "size": "1518", "dynamic_th": "3"},
    }
    maps = {"tc_to_pg_map": "AZURE", "tc_to_queue_map": "AZURE", "pfc_to_queue_map": "AZURE"}
    weights = dict(zip(("lossy", "lossless"), facts["weights"], strict=True))
    kinds = {tc: "lossless" if tc in LOSSLESS else "lossy" for tc in classes}
    return {
        "PORT": {
            name: {"speed": str(10_000 if name in slow else facts["speed"]), "admin_status": "up"}
            for name in names + slow
        },
        "CABLE_LENGTH": {"AZURE": dict.fromkeys(names + slow, f"{facts['cable_m']}m")},
        "DSCP_TO_TC_MAP": {"AZURE": {"0": "1", "3": "3", "4": "4", "8": "0", "46": "5", "48": "6"}},
        "TC_TO_PRIORITY_GROUP_MAP": {
            "AZURE": {tc: tc if tc in LOSSLESS else "0" for tc in classes}
        },
        "TC_TO_QUEUE_MAP": {"AZURE": {traffic_class: traffic_class for traffic_class in classes}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {"AZURE": {tc: tc for tc in classes}},
        "PORT_QOS_MAP": {"global": {"dscp_to_tc_map": "AZURE"}}
        | {priority: maps | {"pfc_enable": ",".join(LOSSLESS)} for priority in lossless},
        "SCHEDULER": {
            key: {"type": "DWRR", "weight": str(weight)} for key, weight in weights.items()
        },
        "QUEUE": {f"{name}|{q}": {"scheduler": kinds[q]} for name in names + slow for q in classes},
        "BUFFER_POOL": pools,
        "BUFFER_PROFILE": profiles,
        "BUFFER_PG": {f"{name}|0": {"profile": "ingress_lossy"} for name in names + slow}
        | {f"{name}|3-4": {"profile": "lossless"} for name in names},
        "BUFFER_QUEUE": {
            f"{name}|{q}": {"profile": f"egress_{kinds[q]}"}
            for name in names + slow
            for q in classes
        },
    }


@pytest.mark.parametrize("name", SKUS)
def test_defaults_of_a_sku_lose_packets_only_where_they_do(name: str) -> None:
    assert rules(rendered(SKUS[name])) - FRESH == set(SKUS[name]["findings"])


def test_a_pool_of_the_wrong_side_is_found_beside_right_ones() -> None:
    tables = rendered(SKUS["acs-msn2700"])
    tables["BUFFER_PROFILE"]["lossless"]["pool"] = "egress_lossless_pool"
    assert "pools" in rules(tables)


def test_a_fast_port_without_pfc_is_no_port_for_service() -> None:
    tables = rendered(SKUS["d64p512t-128x400g-2x10g"])
    del tables["PORT_QOS_MAP"]["Ethernet0"]
    assert "pfc" in rules(tables)


def test_a_cable_without_a_length_among_others_is_found() -> None:
    tables = rendered(SKUS["acs-msn2700"])
    del tables["CABLE_LENGTH"]["AZURE"]["Ethernet0"]
    assert "cables" in rules(tables)
    del tables["CABLE_LENGTH"]
    assert "cables" not in rules(tables)


@pytest.mark.needs("sonic-repo")
def test_only_what_loses_packets_is_found_in_the_defaults_of_all_skus() -> None:
    counts: Counter[str] = Counter()
    for sku in skus(Path(os.environ["ETHERWEAVE_SONIC_REPO"])):
        for role in ROLES:
            try:
                tables = sku.tables(role)
            except (ValueError, jinja2.TemplateError):
                continue  # The SKU has no template for this role.
            result = rules(tables)
            counts.update(["all", *result])
            assert result <= REAL, f"{sku.name} {role}"
    print(dict(counts))


@pytest.mark.needs("sonic-repo")
def test_the_rows_of_headroom_are_those_of_the_tree() -> None:
    root = Path(os.environ["ETHERWEAVE_SONIC_REPO"])
    lines = (DATA / "headroom.csv").read_text().splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        table = Sku(root, root / "device" / row["table"]).lookup()
        own = table[1000 * int(row["rate_gbps"]), int(row["length_m"])]
        assert own.xoff == int(row["xoff_bytes"]), row
