"""Hosts of a lab as virtual machines with their own kernels, for DMP and RoCEv2.

::

    image (files of this machine) ─► initramfs ─► QEMU, plugged into a port of a lab's switch
                                                     │ inside: DMP, IPv4, Soft-RoCE, perftest
    roce: figures  ◄── reports, a line each ──── serial console

Processors are emulated, without KVM, so that any machine will do; speed is not measured.
"""
