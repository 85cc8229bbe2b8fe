"""The verb ``bench`` and its own verbs, one module each, imported when they are called."""

from collections.abc import Mapping

from etherweave.cli.verbs import Verb, group

VERBS: Mapping[str, str | Verb] = {
    "baseline": "Store results under a name, and list them, for later comparisons.",
    "export": "Export results to ReFrame, and runs to Slurm.",
    "telemetry": "Record counters of hosts while benchmarks run, show them, export them to "
    "Prometheus.",
    "compare": "Compare two results point by point: better, worse or undecided.",
    "environment": "Print what about this host impairs measurements, and how to correct it.",
    "history": "Compare each result of a cluster with the one before it.",
    "info": "Describe a benchmark: metrics, plan, checks, how to obtain it, and what is installed.",
    "list": Verb(
        "info",
        "List the known benchmarks: what they measure, and whether their results are parsed.",
    ),
    "parse": "Print the results in a benchmark's output in base units, and what is implausible.",
    "plan": "Print the command, the traffic and the predicted time of a benchmark.",
    "run": "Launch benchmarks on a cluster until their medians are known, and keep every launch.",
    "site": "Check a site's file, and print its hosts, launcher, fabrics and their variables.",
}

bench = group(__name__, "Plan, run, parse and compare benchmarks of real clusters.", VERBS)
