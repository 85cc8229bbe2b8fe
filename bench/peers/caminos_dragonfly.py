"""The open-loop dragonfly of 1,056 hosts for CAMINOS: minimal routing of uniform traffic."""

from string import Template

from peers import caminos

PHITS = (20, 5)
"""Phits to a packet: near the 16 that are usual for it, and as few as leave all delays whole."""
PACKETS = 250
"""How long it runs [times of a packet on a link], which is 50 us."""


def speed(load: float, phits: int) -> float:
    """Run it once; counted are switches that packets passed, as in this simulator.

    Packets still on their way at the end count nothing: a mean latency in 50 us, some 4 %, of which
    half is done.
    """
    path = caminos.ROOT / "dragonfly.cfg"
    path.write_text(configuration(load, phits), encoding="utf-8")
    return caminos.speed(path, ends=1)


def configuration(load: float, phits: int) -> str:
    """Fill in what depends on a packet's length."""
    template = Template((caminos.HERE / "caminos_dragonfly.cfg").read_text(encoding="utf-8"))
    return template.substitute(
        load=load,
        phits=phits,
        cycles=PACKETS * phits,
        input=32 * phits,
        output=10 * phits,
        near=phits // 5,  # 40 ns
        far=2 * phits,  # 400 ns
    )
