"""Simulate Ethernet HPC fabrics packet by packet, from one scenario file."""

from etherweave._core import version

__all__ = ["__version__"]

__version__ = version()
