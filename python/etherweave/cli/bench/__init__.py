"""The verb ``bench`` and its own verbs, one module each."""

import typer

bench = typer.Typer(
    help="Benchmarks of real clusters: what there is, what a run will cost, what its text says, "
    "what spoils it.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

from etherweave.cli.bench import (  # noqa: E402
    baseline,
    compare,
    environment,
    export,
    history,
    info,
    list,  # noqa: A004
    parse,
    plan,
    run,
    site,
    telemetry,
)

bench.add_typer(baseline.baseline, name="baseline")
bench.add_typer(export.export, name="export")
bench.add_typer(telemetry.telemetry, name="telemetry")
bench.command(epilog=compare.EXAMPLES)(compare.compare)
bench.command(epilog=environment.EXAMPLES)(environment.environment)
bench.command(epilog=history.EXAMPLES)(history.history)
bench.command(epilog=info.EXAMPLES)(info.info)
bench.command("list", epilog=list.EXAMPLES)(list.list_all)
bench.command(epilog=parse.EXAMPLES)(parse.parse)
bench.command(epilog=plan.EXAMPLES)(plan.plan)
bench.command("run", epilog=run.EXAMPLES)(run.bench_run)
bench.command(epilog=site.EXAMPLES)(site.site)
