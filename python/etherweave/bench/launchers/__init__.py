"""Launchers: what brings a benchmark's processes to life on the hosts of a site."""

from etherweave.bench.launchers.launcher import Ending, Job, Launcher, Outcome

__all__ = ["Ending", "Job", "Launcher", "Outcome"]
