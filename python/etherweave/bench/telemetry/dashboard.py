"""The dashboard for Grafana that shows recordings as epochs, shipped as a file."""

from importlib.resources import files


def dashboard() -> str:
    """Give the dashboard as JSON, to be imported in Grafana or put into its provisioning folder."""
    return (files(__package__) / "dashboard.json").read_text(encoding="utf-8")
