"""The verb ``bench`` and its own verbs, one module each, imported when they are called."""

from etherweave.cli.verbs import Verb, group

bench = group(
    __name__,
    "Benchmarks of real clusters: what there is, what a run will cost, what its text says, what "
    "spoils it.",
    {
        "baseline": Verb(
            "baseline.baseline", "Numbers that are kept under a name, to hold later ones against."
        ),
        "export": Verb("export.export", "Results and runs for ReFrame and Slurm."),
        "telemetry": Verb(
            "telemetry.telemetry",
            "What hosts count while benchmarks run: record it, show it, give it to Prometheus.",
        ),
        "compare": Verb(
            "compare.compare",
            "Tell what is better, worse or undecided in the second result, point by point.",
        ),
        "environment": Verb(
            "environment.environment",
            "Print what about this host impairs measurements, and how to correct it.",
        ),
        "history": Verb(
            "history.history", "Tell what became worse from each result of a cluster to the next."
        ),
        "info": Verb(
            "info.info",
            "Tell what a benchmark measures, how it is run and checked, how to obtain it, what is "
            "here.",
        ),
        "list": Verb(
            "list.list_all",
            "List the benchmarks that there are: what they measure, and whether they are read.",
        ),
        "parse": Verb(
            "parse.parse",
            "Tell what a benchmark's text says, in base units, and what is suspicious about it.",
        ),
        "plan": Verb(
            "plan.plan",
            "Print the command, the traffic and the predicted time of a benchmark.",
        ),
        "run": Verb(
            "run.bench_run",
            "Launch benchmarks on a cluster until their medians are known, and keep every launch.",
        ),
        "site": Verb(
            "site.site",
            "Check a site's file and tell what it says: hosts, launcher, fabrics and their "
            "variables.",
        ),
    },
)
