"""The verb ``lab announce``."""

import json
from pathlib import Path

from etherweave.api.scenario import ScenarioSource
from etherweave.cli.design_page import print_table
from etherweave.cli.lab.parameters import end_with, reported_errors, root_only, step_printer
from etherweave.cli.parameters import AsJson, Settings, overrides
from etherweave.control.lab.announcement_trials import AnnouncementTrial, announce_in_labs, failures

FOUR_HOSTS: ScenarioSource = {
    "name": "four hosts",
    "topology": {"dragonfly": {"p": 1, "a": 2, "h": 1, "groups": 2}},
}
"""Two groups of two switches with a host each."""


def announce_verb(
    file: Path | None = None, *, settings: Settings = None, as_json: AsJson = False
) -> None:
    """Compare services that announce addresses under DMP and under rewriting switches.

    In a lab of each kind, hosts announce their address as Open-MX, ARP and IPv6's neighbour
    discovery do, record that of the others from the payload or the header, and send to it. Exit
    code 1: a result is not as expected; 2: a mistake.

    Parameters
    ----------
    file : SCENARIO
        Scenario; default: four hosts.
    """
    root_only()
    with reported_errors():
        trials = announce_in_labs(file or FOUR_HOSTS, overrides(settings), progress=step_printer())
    print_trials(trials, as_json)


def print_trials(trials: list[AnnouncementTrial], as_json: bool) -> None:
    """Print trials; exit code 1 where a result is not as expected."""
    if as_json:
        print(json.dumps([trial.as_json() for trial in trials], indent=2))
    else:
        _print(trials)
    end_with(failures(trials))


def _print(trials: list[AnnouncementTrial]) -> None:
    first = trials[0]
    kind = "virtual machines" if first.machines else "namespaces"
    version = f"{first.protocol[-2]}.{first.protocol[-1]}"
    print(f"{first.hosts} hosts, {kind}; switches by Open vSwitch with OpenFlow {version}")
    rows = [
        (trial.addresses, row.service, row.source, *(f"{n} of {row.pairs}" for n in row[3:]))
        for trial in trials
        for row in trial.recordings
    ]
    columns = ("addresses", "announced by", "recorded from", ">recorded", ">reached")
    print_table(columns, rows)
