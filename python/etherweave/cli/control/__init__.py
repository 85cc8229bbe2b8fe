"""The verb ``control`` and its own verbs, one module each."""

import typer

from etherweave.cli.control import plan

control = typer.Typer(
    help="Bring a fabric to life: rules and configurations for switches, addresses for hosts.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
control.command("plan", epilog=plan.EXAMPLES)(plan.plan_verb)
