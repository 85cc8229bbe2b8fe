"""The verb ``control`` and its own verbs, one module each."""

import typer

from etherweave.cli.control import agent, diff, dmp, export, lint, plan, reaction, serve, verify

control = typer.Typer(
    help="Bring a fabric to life: rules and configurations for switches, addresses for hosts.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
control.add_typer(dmp.dmp, name="dmp")
control.command("agent", epilog=agent.EXAMPLES)(agent.agent_verb)
control.command("diff", epilog=diff.EXAMPLES)(diff.diff)
control.command("export", epilog=export.EXAMPLES)(export.export)
control.command("lint", epilog=lint.EXAMPLES)(lint.lint)
control.command("plan", epilog=plan.EXAMPLES)(plan.plan_verb)
control.command("reaction", epilog=reaction.EXAMPLES)(reaction.reaction_verb)
control.command("serve", epilog=serve.EXAMPLES)(serve.serve)
control.command("verify", epilog=verify.EXAMPLES)(verify.verify_verb)
