"""The command line as a whole: its verbs, one module each."""

import threading
from typing import Annotated

import typer

import etherweave
from etherweave.cli.verbs import Verb, group

VERBS: dict[str, str | Verb] = {
    "run": "Simulate a scenario packet by packet, and print times, goodput, drops and pauses.",
    "measure": "Execute a scenario's jobs over MPI, as they are simulated; print iteration times "
    "in us.",
    "schedule": "Write the schedule of each job for the MPI executor, and print the file names.",
    "record": "Run an MPI program, record its calls with their times, and print what they took.",
    "replay": "Simulate a recorded program or a trace on a fabric, and print recorded and "
    "predicted time.",
    "curve": "Simulate synthetic traffic at several loads, and print latency and throughput.",
    "sweep": "Run a scenario at many values of its keys, and keep all figures as one dataset.",
    "observe": "Simulate one point of a scenario's synthetic traffic, and print which links are "
    "busy when.",
    "design": "Design a fabric on paper, and print counts, deadlock freedom, tables, power and "
    "cost.",
    "import": Verb(
        "import_",
        "Read a fabric from files of another program, print what is understood, write a scenario.",
    ),
    "tables": "Write the tables of a result as CSV files, or as sheets of one Excel workbook.",
    "pack": "Pack results with scenario, inputs, versions, seed and checksums into one archive.",
    "unpack": "Unpack an archive of results, check its checksums, and with --check run them again.",
    "advise": "Rank fabrics by a simulated mix of jobs and their prices, and print what decides.",
    "explain": "Print what limits each job: its time by parts along the path from its last step to "
    "its first.",
    "explore": "Open a page of this machine on which a scenario is edited, run, changed and "
    "compared.",
    "show": "Check a scenario and print it with every default filled in, units included.",
    "schema": "Print what a key of a scenario means, or the JSON Schema of all.",
    "report": "Draw a result, a sweep, a recording, a study, benchmarks or a calibration as one "
    "HTML page.",
    "study": "Repeat a published evaluation, and check computed figures against published ones.",
    "calibrate": "Infer constants of hosts from micro-benchmarks; predict other workloads, print "
    "the errors.",
    "reference": "Search published figures, or compare a result with those of its metric and size.",
    "interconnects": "Simulate profiles of interconnects, and print what they yield beside "
    "published figures.",
    "bmwg": "Run the IETF's tests for AI fabrics on a fabric, and print the tables of their "
    "reports.",
    "tune": "Simulate algorithms and protocols of NCCL on a fabric, and write the file of its "
    "tuner.",
    "uncertainty": "Print how far documents differ in the same figure, and the error of the model.",
    "bench": "Plan, run, parse and compare benchmarks of real clusters.",
    "control": "Deploy a fabric: rules and configurations for switches, addresses for hosts.",
    "lab": "Run a small fabric on this machine, with software switches and hosts; requires root.",
}

app = group(
    "etherweave.cli",
    "Design, simulate, deploy and measure Ethernet fabrics for HPC.",
    VERBS,
    pretty_exceptions_enable=False,
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        print(etherweave.__version__)
        raise typer.Exit


@app.callback()
def start(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Read the options of the program itself; signals of batch systems end as Ctrl-C."""
    from etherweave.cli.exits import terminable

    if threading.current_thread() is threading.main_thread():
        context.with_resource(terminable())
