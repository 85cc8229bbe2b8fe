"""The command line: each verb is a function, its parameters are the options."""

from etherweave.cli.app import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    app()
