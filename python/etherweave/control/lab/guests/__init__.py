"""Hosts of a lab as virtual machines: kernels of their own, booted by DMP, that speak RoCEv2.

::

    image (files of this machine) ─► initramfs ─► QEMU, plugged into a port of a lab's switch
                                                     │ inside: DMP, IPv4, Soft-RoCE, perftest
    roce: figures  ◄── reports, a line each ──── serial console

Emulated without KVM, so that any machine will do; nothing here measures speed.
"""
