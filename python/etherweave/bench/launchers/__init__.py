"""Launchers: what brings a benchmark's processes to life on the hosts of a site."""

from etherweave.bench.launchers.launcher import Ending, Launcher, LaunchJob, LaunchOutcome

__all__ = ["Ending", "LaunchJob", "LaunchOutcome", "Launcher"]
