"""Hosts of a lab as virtual machines with their own kernels, for DMP, announcements and RoCEv2.

::

    image (files of this machine) ─► initramfs ─► QEMU, plugged into a port of a lab's switch
                                                     │ inside: DMP, IPv4, then announcements,
                                                     │ or Soft-RoCE and perftest
    figures  ◄── reports, a line each ────────── serial console

Without KVM, processors are emulated, so that any machine will do; speed is not measured.
"""
