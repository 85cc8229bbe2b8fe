"""Guests of a lab: virtual machines that boot by DMP and speak RoCEv2.

Tests with machines require root, Open vSwitch, QEMU and ``ETHERWEAVE_GUEST_KERNEL``, a directory
with a kernel and its modules.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from etherweave.control.lab import lifecycle
from etherweave.control.lab.announcement_trials import announce_in_labs, failures
from etherweave.control.lab.layout import LayoutError, cables, layout
from etherweave.control.lab.lifecycle import prepare
from etherweave.control.lab.state import LabScope
from guests import image, reports
from guests.announce import recorder
from guests.image import ImageError
from guests.machines import command
from guests.roce import measure_roce

needs_machines = pytest.mark.skipif(
    "ETHERWEAVE_GUEST_KERNEL" not in os.environ, reason="ETHERWEAVE_GUEST_KERNEL is not set"
)
FOUR: dict[str, object] = {"topology": {"dragonfly": {"p": 1, "a": 2, "h": 1, "groups": 2}}}
PLANES: dict[str, object] = {
    "host_ports": {"planes": 2},
    "topology": {"fat_tree": {"leaves": 2, "hosts_per_leaf": 1, "cores": 1, "links_per_core": 1}},
}
SQUARE: dict[str, object] = {"topology": {"dragonfly": {"p": 2, "a": 2, "h": 1, "groups": 2}}}


def test_what_perftest_prints_is_read_by_its_titles() -> None:
    latency = """
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]
 64       100          400.10         9000.00      512.25              600.00
---------------------------------------------------------------------------------------
"""
    assert reports.latency(latency) == (64, 100, 512.25)
    bandwidth = """
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      50               0.21               0.16                 0.000305
"""
    assert reports.bandwidth(bandwidth) == (65536, 50, 0.16)
    with pytest.raises(reports.ProgramOutputError, match="expected a row below"):
        reports.latency("Couldn't connect to 10.128.0.0:18515")
    with pytest.raises(reports.ProgramOutputError, match="expected a row below"):
        reports.bandwidth(bandwidth.splitlines()[1])


def test_reports_are_found_among_the_words_of_the_kernel() -> None:
    console = ["[    1.0] boot", reports.write("addressed", mac="02:00:00:00:00:01")]
    console += ["ETHERWEAVE {cut", 'ETHERWEAVE ["step"]', "\x00ETHERWEAVE ", "ETHERWEAVE 1"]
    assert list(reports.read(console)) == [{"step": "addressed", "mac": "02:00:00:00:00:01"}]


def test_an_order_comes_through_the_command_line_of_the_kernel() -> None:
    order = {"address": "10.128.0.7/8", "peer": "10.128.0.0"}
    assert reports.order(f"console=ttyS0 quiet {reports.option(order)}\n") == order


def test_a_guest_has_a_port_and_no_namespace() -> None:
    planned = prepare(SQUARE, None, ())[1]
    lab = layout("ew-lab.", "one", planned, ["host0"])
    assert not any("host0" in name for name in lab.namespaces)
    assert "s0p1" not in dict(cables(lab))
    assert len(dict(cables(lab))) == len(dict(cables(layout("ew-lab.", "one", planned)))) - 1
    with pytest.raises(LayoutError, match="no host host8; expected one of host0 to host7"):
        layout("ew-lab.", "one", planned, ["host8"])


def test_a_machine_is_plugged_into_its_port_without_offloads() -> None:
    ports = {"s0p1": 0x00005E005307, "s3p1": 0x00005E005308}
    words = command(ports, Path("vmlinuz"), Path("image"), Path("log"), "x=y")
    assert "tap,id=n0,ifname=s0p1,script=no,downscript=no,vhost=off" in words
    assert "tap,id=n1,ifname=s3p1,script=no,downscript=no,vhost=off" in words
    first, second = (word for word in words if word.startswith("virtio-net-pci"))
    assert "netdev=n0,mac=00:00:5e:00:53:07," in first and ",csum=off," in first
    assert "netdev=n1,mac=00:00:5e:00:53:08," in second


def test_a_directory_without_a_kernel_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImageError, match=r"no boot/vmlinuz-\*; expected a kernel's package"):
        image.find_kernel(tmp_path)
    (tmp_path / "boot").mkdir()
    (tmp_path / "boot" / "vmlinuz-6.1").touch()
    with pytest.raises(ImageError, match=r"no lib/modules/6\.1; expected the kernel's modules"):
        image.find_kernel(tmp_path)


@pytest.fixture
def scope() -> Iterator[LabScope]:
    """Return a scope of this test alone, of which nothing is left; its paths are short."""
    with tempfile.TemporaryDirectory(prefix="ew-lab-") as directory:
        alone = LabScope(Path(directory) / "lab", f"ew-g{os.getpid()}.")
        try:
            yield alone
        finally:
            for name in lifecycle.all_labs(alone):
                lifecycle.down(alone, name)
        assert lifecycle.all_labs(alone) == []


def guest_kernel() -> image.GuestKernel:
    return image.find_kernel(Path(os.environ["ETHERWEAVE_GUEST_KERNEL"]))


@needs_machines
def test_guests_get_their_addresses_by_dmp_and_talk_rocev2_on_the_planned_paths(
    scope: LabScope,
) -> None:
    result = measure_roce(
        lifecycle.up(scope, "one", SQUARE, guests=("host0", "host7")), guest_kernel()
    )
    assert [guest.mac for guest in result.guests] == ["02:00:00:00:00:00", "02:00:00:00:00:07"]
    assert result.dmp_elsewhere == 0
    # 50 messages of 64 KiB in packets of 1 KiB cross three switches, and are answered.
    (measured,) = result.measured
    assert measured.bandwidth.octets * measured.bandwidth.iterations == 50 * 65536
    there = ("group1.switch1:4", "group0.switch1:3", "group0.switch0:1")
    assert all(result.paths[port] >= 50 * 64 for port in there)
    # What is left is ARP.
    assert result.off_path_frames < 50


@needs_machines
def test_guests_on_two_planes_talk_rocev2_over_each(scope: LabScope) -> None:
    lab = lifecycle.up(scope, "one", PLANES, guests=("host0", "host1"))
    result = measure_roce(lab, guest_kernel())
    assert [guest.host for guest in result.guests] == ["host0.0", "host0.1", "host1.0", "host1.1"]
    assert all(guest.is_planned for guest in result.guests)
    assert result.dmp_elsewhere == 0
    assert [measured.ports for measured in result.measured] == [
        ("host1.0", "host0.0"),
        ("host1.1", "host0.1"),
    ]
    # 50 messages of 64 KiB in packets of 1 KiB go up to the core of each plane, and are answered.
    for plane in range(2):
        assert result.paths[f"plane{plane}.leaf1:2"] >= 50 * 64
    assert result.off_path_frames < 50


@needs_machines
def test_guests_on_two_planes_announce_themselves_in_each(scope: LabScope) -> None:
    record = recorder(guest_kernel())
    trials = announce_in_labs(PLANES, record_guests=record, where=scope)
    assert failures(trials) == []
    assert [(trial.hosts, trial.machines) for trial in trials] == [(2, 2), (2, 2)]


@needs_machines
def test_four_virtual_machines_announce_themselves_with_openflow_1_0(scope: LabScope) -> None:
    """The tests of section IV: Open vSwitch, four virtual machines, OpenFlow 1.0.0."""
    record = recorder(guest_kernel())
    openflow10 = {"control.protocol": "openflow10", "control.ipv4": ""}
    trials = announce_in_labs(FOUR, openflow10, record_guests=record, where=scope)
    assert failures(trials) == []
    assert [(trial.hosts, trial.machines) for trial in trials] == [(4, 4), (4, 4)]
