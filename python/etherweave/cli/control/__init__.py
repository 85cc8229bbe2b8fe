"""The verb ``control`` and its own verbs, one module each, imported when they are called."""

from etherweave.cli.verbs import group

VERBS = {
    "dmp": "Request a host's hierarchical MAC address from its switch (Dynamic MAC Protocol).",
    "agent": "Deactivate conditional rules of an OpenFlow switch while their ports are paused.",
    "diff": "Print the differences between two plans, by switch; change nothing.",
    "export": "Write configurations of switches and hosts for lossless traffic: PFC, ETS, ECN, "
    "buffers.",
    "learn": "Discover how OpenFlow switches are wired, write it as a scenario, and plan it.",
    "lint": "Check configurations for lost packets: buffers, maps, weights, MTU, hosts.",
    "plan": "Compute the OpenFlow rules of every switch and the addresses of every host.",
    "reaction": "Measure the reaction time of software switches to PAUSE frames.",
    "serve": "Install a scenario's plan in OpenFlow switches and keep it installed.",
    "systems": "Print how each operating system of switches writes the settings of a scenario.",
    "verify": "Verify a plan by tracing frames through Open vSwitch.",
}

control = group(
    __name__, "Deploy a fabric: rules and configurations for switches, addresses for hosts.", VERBS
)
