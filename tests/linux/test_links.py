"""Namespaces and links of this machine: what is created, what it carries, and what remains."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from ipaddress import IPv4Interface

import pytest

from etherweave.linux import namespaces
from etherweave.linux.links import Links, VethEnd, shape
from etherweave.linux.packets import sender

pytestmark = pytest.mark.needs("namespaces")
MAC = 0x020000000001


@pytest.fixture
def pair() -> Iterator[tuple[str, str]]:
    """Two namespaces with a cable from eth0 to eth0, both ends up."""
    names = tuple(f"ew-test.{os.getpid()}.{end}" for end in "ab")
    namespaces.create(names)
    try:
        with namespaces.inside(names[0]), Links() as links:
            namespaces.disable_ipv6()
            links.add_veth("eth0", VethEnd("eth0", names[1], "02:00:00:00:00:01"))
            links.set_up("eth0")
        with namespaces.inside(names[1]), Links() as links:
            namespaces.disable_ipv6()
            links.set_up("eth0")
        yield names[0], names[1]
    finally:
        namespaces.remove(names)
    assert not set(names) & set(namespaces.existing())


def output(namespace: str, *words: str) -> str:
    command = ["ip", "netns", "exec", namespace, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_a_frame_is_counted_at_both_ends_of_a_cable(pair: tuple[str, str]) -> None:
    with namespaces.inside(pair[0]), sender("eth0") as sock, Links() as links:
        # A busy machine may take a moment until both ends have carrier.
        deadline_s = time.monotonic() + 10
        while not (sent := links.counters()["eth0"].sent) and time.monotonic() < deadline_s:
            sock.send(MAC.to_bytes(6) + bytes(6) + b"\x88\xb6".ljust(48, b"\0"))
            time.sleep(0.02)
        assert sent >= 1
        sent = links.counters()["eth0"].sent
    with namespaces.inside(pair[1]), Links() as links:
        assert links.counters()["eth0"].received == sent
        assert links.mac("eth0") == MAC


def test_links_may_be_used_from_outside_of_their_namespace(pair: tuple[str, str]) -> None:
    with namespaces.inside(pair[1]):
        links = Links()
    with links:
        links.assign("eth0", IPv4Interface("10.0.0.1/9"))
    assert "10.0.0.1/9" in output(pair[1], "ip", "address", "show", "eth0")


def test_the_kernel_completes_checksums_without_the_offload(pair: tuple[str, str]) -> None:
    with namespaces.inside(pair[0]), Links() as links:
        links.disable_checksum_offload("eth0")
    if not any(os.access(f"{place}/ethtool", os.X_OK) for place in ("/usr/sbin", "/sbin")):
        pytest.skip("no ethtool to ask")
    assert "tx-checksumming: off" in output(pair[0], "ethtool", "-k", "eth0")


@pytest.mark.parametrize("rate", [1.25e8, 1.25e10])
def test_a_shaped_link_has_its_rate_beyond_32_bits_too(pair: tuple[str, str], rate: float) -> None:
    shape(pair[0], "eth0", rate, 2**17, 2**20)
    printed = output(pair[0], "tc", "qdisc", "show", "dev", "eth0")
    assert f"rate {rate * 8 / 1e9:.0f}Gbit" in printed


def test_an_error_names_the_interface_and_what_the_kernel_says(pair: tuple[str, str]) -> None:
    with namespaces.inside(pair[0]), Links() as links:
        with pytest.raises(namespaces.NamespaceError, match="interface eth1: No such device"):
            links.set_up("eth1")
        with pytest.raises(namespaces.NamespaceError, match="interface eth0: File exists"):
            links.add_bridge("eth0")


def test_a_namespace_that_does_not_exist_is_named() -> None:
    with (
        pytest.raises(namespaces.NamespaceError, match=r"namespace ew-test\.none: No such file"),
        namespaces.inside("ew-test.none"),
    ):
        pass


def test_pyroute2_is_imported_when_links_are_made_only() -> None:
    program = (
        "import sys, etherweave.linux.links, etherweave.linux.packets; "
        "print('pyroute2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n"
