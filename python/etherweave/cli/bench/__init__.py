"""The verb ``bench`` and its own verbs, one module each, imported when they are called."""

from etherweave.cli.verbs import Verb, group

bench = group(
    __name__,
    "Plan, run, parse and compare benchmarks of real clusters.",
    {
        "baseline": Verb(
            "baseline.baseline", "Store results under a name, and list them, for later comparisons."
        ),
        "export": Verb("export.export", "Export results to ReFrame, and runs to Slurm."),
        "telemetry": Verb(
            "telemetry.telemetry",
            "Record counters of hosts while benchmarks run, show them, export them to Prometheus.",
        ),
        "compare": Verb(
            "compare.compare", "Compare two results point by point: better, worse or undecided."
        ),
        "environment": Verb(
            "environment.environment",
            "Print what about this host impairs measurements, and how to correct it.",
        ),
        "history": Verb(
            "history.history", "Compare each result of a cluster with the one before it."
        ),
        "info": Verb(
            "info.info",
            "Describe a benchmark: metrics, plan, checks, how to obtain it, and what is installed.",
        ),
        "list": Verb(
            "info.list_all",
            "List the known benchmarks: what they measure, and whether their results are parsed.",
        ),
        "parse": Verb(
            "parse.parse",
            "Print the results in a benchmark's output in base units, and what is implausible.",
        ),
        "plan": Verb(
            "plan.plan", "Print the command, the traffic and the predicted time of a benchmark."
        ),
        "run": Verb(
            "run.bench_run",
            "Launch benchmarks on a cluster until their medians are known, and keep every launch.",
        ),
        "site": Verb(
            "site.site",
            "Check a site's file, and print its hosts, launcher, fabrics and their variables.",
        ),
    },
)
