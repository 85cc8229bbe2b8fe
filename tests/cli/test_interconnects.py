"""The verb ``interconnects``: every profile in simulation, beside the published table."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from etherweave.api.interconnects import Interconnect, names
from etherweave.report.interconnects import PRODUCT, Published, product, published_latency
from support import command_line

SIMULATED_CONTROL = {
    "infiniband-edr": "none",
    "infiniband-edr-ipoib": "CUBIC",
    "ethernet-100-roce": "none",
    "ethernet-100-tcp": "CUBIC",
    "iwarp-40": "none",
    "slingshot-11": "none",
    "ultra-ethernet-400": "NSCC",
}
"""Congestion control of senders in simulations, by profile."""
SWITCHED_ON = (
    ("infiniband-edr", "injection_delay", "injection delay"),
    ("ethernet-100-roce", "swift", "Swift"),
)
"""Profiles, with a key that switches on congestion control, and its name."""
PROFILES = Path(__file__).parents[2] / "profiles/interconnect"


def test_profiles_are_the_files_of_their_folder() -> None:
    assert sorted(names()) == sorted(path.stem for path in PROFILES.glob("*.toml"))


def test_a_row_has_simulated_and_published_figures_with_their_ratio() -> None:
    done = command_line.run_here("interconnects", "aries", "infiniband-hdr", "--json")
    aries, hdr = json.loads(done.stdout)
    assert aries["support"] != "declared"
    assert aries["latency_ratio"] == pytest.approx(aries["latency_us"] / 1.0)
    assert hdr["support"].endswith("predicted")
    assert aries["product"]["year"] == 2012 and hdr["product"]["rdma"]
    assert (hdr["rate_gbps"], hdr["latency_ratio"]) == (200, None)
    assert 0.9 * 200 < hdr["bandwidth_gbps"] < 200
    assert {"key", "value", "basis", "source", "profile"} == set(hdr["figures"][0])


def test_gpcnet_is_simulated_of_named_profiles_unless_an_option_says_otherwise() -> None:
    (named,) = json.loads(command_line.run_here("interconnects", "tofu-d", "--json").stdout)
    assert named["congestion_impact"] > 0
    without = command_line.run_here("interconnects", "tofu-d", "--no-gpcnet", "--json")
    assert json.loads(without.stdout) == [named | {"congestion_impact": None}]


def test_congestors_delay_a_ring_where_queues_are_shared_and_less_where_packets_spread() -> None:
    edr, slingshot = (Interconnect(name) for name in ("infiniband-edr", "slingshot-11"))
    assert edr.congestion_impact > 2 * slingshot.congestion_impact > 2


def test_a_ring_beside_congestors_on_one_switch_takes_as_long_as_alone() -> None:
    """Published for 28 hosts of one switch of EDR: netbench/GPCNET, issue 5."""
    switch = {"topology": {"single_switch": {"hosts": 64, "rate": "100Gb/s"}}}
    assert Interconnect("infiniband-edr", switch).congestion_impact == pytest.approx(1, abs=0.01)


def test_congestors_pause_roce_for_longer_than_a_few_turns() -> None:
    assert Interconnect("ethernet-100-roce").congestion_impact > 2


def test_every_profile_says_what_a_buyer_asks() -> None:
    assert all(len(product(Interconnect(name))) == 1 + len(PRODUCT) for name in names())
    assert all("" not in product(Interconnect(name)) for name in names())


def test_names_of_profiles_are_printed_whole_where_a_table_is_wider_than_the_page() -> None:
    chosen = ("infiniband-qdr", "infiniband-fdr", "infiniband-hdr-ipoib")
    done = command_line.run_here("interconnects", *chosen, "--no-gpcnet")
    words = done.stdout.split()
    assert [words.count(name) for name in chosen] == [2, 2, 2]
    assert "…" not in done.stdout


def test_a_profile_has_the_simulated_congestion_control_beside_that_of_products() -> None:
    simulated = {name: Interconnect(name).simulated_control for name in SIMULATED_CONTROL}
    assert simulated == SIMULATED_CONTROL
    for name, key, scheme in SWITCHED_ON:
        assert Interconnect(name, {f"transport.roce.{key}": {}}).simulated_control == scheme


def test_generations_of_infiniband_have_years_in_their_order() -> None:
    files = [PROFILES / f"infiniband-{rate}.toml" for rate in ("qdr", "fdr", "edr", "hdr", "ndr")]
    years = [tomllib.loads(file.read_text())["product"]["year"]["value"] for file in files]
    assert years == sorted(set(years))


def test_a_ratio_is_that_to_the_nearer_end_of_a_range() -> None:
    assert [Published(10, 30, "eq").ratio(value) for value in (5, 20, 60)] == [0.5, 1, 2]
    ethernet = published_latency(Interconnect("ethernet-25-tcp"))
    assert ethernet
    assert (ethernet.low, ethernet.high) == pytest.approx((10, 30))


def test_profiles_are_compared_side_by_side_by_the_figures_that_differ() -> None:
    done = command_line.run_here("interconnects", "infiniband-edr", "bxi-2", "--compare")
    lines = {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
    assert '"542ns"' in lines["nic.transmit_latency"]
    assert "link.rate" not in lines


def test_an_unknown_profile_is_refused_with_the_nearest() -> None:
    done = command_line.run_here("interconnects", "arise", code=2)
    assert "no interconnect 'arise'; nearest: aries" in done.stderr


def test_the_page_has_every_source(tmp_path: Path) -> None:
    done = command_line.run_here("interconnects", "tofu-d", "--html", tmp_path / "page")
    page = (tmp_path / "page/report.html").read_text()
    assert str(tmp_path / "page") in done.stdout
    assert "0.49 us of a put of 8 B" in page


@pytest.mark.slow
def test_the_page_has_the_factors_of_gpcnet_that_the_profiles_yield() -> None:
    page = Path(__file__).parents[2] / "docs/models/interconnects.md"
    rows = re.findall(r"^\| (`.*`) \| ([\d., ]+) \|.*\|$", page.read_text(), re.MULTILINE)
    shown = {
        name: float(factor)
        for names_, factors in rows
        for name, factor in zip(re.findall(r"`(.*?)`", names_), factors.split(", "), strict=True)
    }
    assert len(shown) > 30
    for name, factor in shown.items():
        assert Interconnect(name).congestion_impact == pytest.approx(factor, abs=0.05001), name
