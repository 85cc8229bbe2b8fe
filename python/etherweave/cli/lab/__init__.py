"""The verb ``lab`` and its own verbs, one module each."""

import typer

from etherweave.cli.lab import check, demo, down, guests, pause, run, status, up

lab = typer.Typer(
    help="A small fabric on this machine: real switches, real hosts, real frames. Takes root.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
lab.command("up", epilog=up.EXAMPLES)(up.up_verb)
lab.command("exec", epilog=run.EXAMPLES, context_settings=run.SETTINGS)(run.exec_verb)
lab.command("status", epilog=status.EXAMPLES)(status.status_verb)
lab.command("check", epilog=check.EXAMPLES)(check.check_verb)
lab.command("pause", epilog=pause.EXAMPLES)(pause.pause_verb)
lab.command("down", epilog=down.EXAMPLES)(down.down_verb)
lab.command("demo", epilog=demo.EXAMPLES)(demo.demo_verb)
lab.command("guests", epilog=guests.EXAMPLES)(guests.guests_verb)
