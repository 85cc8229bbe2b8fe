"""The verb ``lab`` and its own verbs, one module each, imported when they are called."""

from etherweave.cli.verbs import Verb, group

lab = group(
    __name__,
    "Run a small fabric on this machine, with software switches and hosts; requires root.",
    {
        "up": Verb(
            "up.up_verb",
            "Start a scenario's fabric: switches with their rules, hosts with their addresses.",
        ),
        "exec": Verb(
            "run.exec_verb", "Run a command in a host of a lab, where names of hosts are addresses."
        ),
        "status": Verb(
            "status.status_verb",
            "Print the state of a lab: addresses of hosts, frames of every port.",
        ),
        "check": Verb(
            "check.check_verb",
            "Compare the paths of frames between all hosts with tables and simulator.",
        ),
        "pause": Verb(
            "pause.pause_verb",
            "Pause a port by PAUSE frames from its neighbour, then resume it.",
        ),
        "down": Verb(
            "down.down_verb",
            "Remove a lab: its processes, switches, links, namespaces and files.",
        ),
        "demo": Verb(
            "demo.demo_verb",
            "Demonstrate addresses, rules, paths and a pause in a lab, then remove it.",
        ),
        "guests": Verb(
            "guests.guests_verb",
            "Measure RoCEv2 between two hosts as virtual machines, then remove the lab.",
        ),
    },
)
