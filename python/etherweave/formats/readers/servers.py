"""Servers at a switch, of a file that describes the inside of one."""

from collections.abc import Sequence

from etherweave.api.units import counted
from etherweave.formats.network import Network
from etherweave.formats.texts import Source


def joined_servers(file: Source, nics: Sequence[tuple[str, str]], servers: int) -> Network:
    """Join every NIC, by name and rate, of some equal servers to a switch."""
    if not nics:
        raise file.mistake("", "no NIC; expected a server with a network interface")
    network = Network(str(file.path))
    network.node("switch", "switch")
    for server in range(servers):
        for name, rate in nics:
            network.join(f"server{server}", "switch", {"first_port": name}, rate=rate)
        network.node(f"server{server}", "host")
    network.assumed.append(f"{counted(servers, 'such server')} at a switch (--servers)")
    return network
