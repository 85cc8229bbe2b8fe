"""The command line as a whole: its verbs, one module each."""

from typing import Annotated

import typer

import etherweave
from etherweave.cli import (
    calibrate,
    curve,
    design,
    measure,
    observe,
    reference,
    report,
    run,
    schedule,
    schema,
    show,
    study,
)
from etherweave.cli.bench import bench
from etherweave.cli.control import control
from etherweave.cli.lab import lab

app = typer.Typer(
    help="Would Ethernet do for my codes, and what must I switch on?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(etherweave.__version__)
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Take what all verbs share."""


app.command(epilog=run.EXAMPLES)(run.run)
app.command("measure", epilog=measure.EXAMPLES)(measure.measure_verb)
app.command(epilog=schedule.EXAMPLES)(schedule.schedule)
app.command(epilog=curve.EXAMPLES)(curve.curve)
app.command(epilog=observe.EXAMPLES)(observe.observe)
app.command(epilog=design.EXAMPLES)(design.design)
app.command(epilog=show.EXAMPLES)(show.show)
app.command(epilog=schema.EXAMPLES)(schema.schema)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(epilog=study.EXAMPLES)(study.study)
app.command("calibrate", epilog=calibrate.EXAMPLES)(calibrate.calibrate_verb)
app.command(epilog=reference.EXAMPLES)(reference.reference)
app.add_typer(bench, name="bench")
app.add_typer(control, name="control")
app.add_typer(lab, name="lab")
