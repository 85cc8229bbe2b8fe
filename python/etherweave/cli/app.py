"""The command line as a whole: its verbs, one module each."""

from typing import Annotated

import typer

import etherweave
from etherweave.cli.verbs import Verb, group

app = group(
    "etherweave.cli",
    "Design, simulate, deploy and measure Ethernet fabrics for HPC.",
    {
        "run": Verb(
            "run.run",
            "Simulate a scenario packet by packet, and print times, goodput, drops and pauses.",
        ),
        "measure": Verb(
            "measure.measure_verb",
            "Execute a scenario's jobs over MPI, as they are simulated; print iteration times in "
            "us.",
        ),
        "schedule": Verb(
            "schedule.schedule",
            "Write the schedule of each job for the MPI executor, and print the file names.",
        ),
        "curve": Verb(
            "curve.curve",
            "Simulate synthetic traffic at several loads, and print latency and throughput.",
        ),
        "observe": Verb(
            "observe.observe",
            "Simulate one point of a scenario's synthetic traffic, and print which links are busy "
            "when.",
        ),
        "design": Verb(
            "design.design",
            "Design a fabric on paper, and print counts, deadlock freedom, tables, power and cost.",
        ),
        "show": Verb(
            "show.show",
            "Check a scenario and print it with every default filled in, units included.",
        ),
        "schema": Verb(
            "schema.schema",
            "Print the JSON Schema of a scenario, by which editors complete and check TOML.",
        ),
        "report": Verb(
            "report.report",
            "Draw a result, a study, benchmarks or a calibration as one HTML page, report.html.",
        ),
        "study": Verb(
            "study.study",
            "Repeat a published evaluation, and check computed figures against published ones.",
        ),
        "calibrate": Verb(
            "calibrate.calibrate_verb",
            "Fit constants of hosts to micro-benchmarks; predict other workloads, and print the "
            "errors.",
        ),
        "reference": Verb(
            "reference.reference",
            "Search published figures, or compare a result with those of its metric and size.",
        ),
        "bench": Verb(
            "bench.bench",
            "Plan, run, parse and compare benchmarks of real clusters.",
        ),
        "control": Verb(
            "control.control",
            "Deploy a fabric: rules and configurations for switches, addresses for hosts.",
        ),
        "lab": Verb(
            "lab.lab",
            "Run a small fabric on this machine, with software switches and hosts; requires root.",
        ),
    },
    pretty_exceptions_enable=False,
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(etherweave.__version__)
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Read the options of the program itself."""
