"""The verb ``lab`` and its own verbs, one module each, imported when they are called."""

from etherweave.cli.verbs import Verb, group

lab = group(
    __name__,
    "A small fabric on this machine: real switches, real hosts, real frames. Requires root.",
    {
        "up": Verb(
            "up.up_verb",
            "Bring a scenario's fabric up: switches with their rules, hosts with their addresses.",
        ),
        "exec": Verb(
            "run.exec_verb", "Run a command in a host of a lab; names of hosts are addresses there."
        ),
        "status": Verb(
            "status.status_verb",
            "Tell how a lab is: addresses of hosts, frames that every port has carried.",
        ),
        "check": Verb(
            "check.check_verb",
            "Send a frame between every two hosts, and hold its way against tables and simulator.",
        ),
        "pause": Verb(
            "pause.pause_verb",
            "Pause a port by PAUSE frames from its neighbour, as a full one sends them; then "
            "resume it.",
        ),
        "down": Verb(
            "down.down_verb",
            "Remove a lab: processes in its namespaces, switches, links, namespaces, files.",
        ),
        "demo": Verb(
            "demo.demo_verb",
            "Tell the whole story in a lab of its own, in less than a minute, and remove "
            "everything.",
        ),
        "guests": Verb(
            "guests.guests_verb",
            "Boot two hosts as virtual machines that talk RoCEv2 over the fabric; then remove "
            "everything.",
        ),
    },
)
