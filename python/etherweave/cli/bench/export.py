"""The verbs of ``bench export``."""

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from etherweave.api.units import time_of
from etherweave.bench.campaigns import exports
from etherweave.bench.campaigns.points import judged_launches
from etherweave.bench.campaigns.store import Store, StoreError
from etherweave.bench.campaigns.summary import summary
from etherweave.cli.exits import mistakes
from etherweave.cli.parameters import Positive
from etherweave.cli.verbs import nested

export = nested("Export results to ReFrame, and runs to Slurm.")


@export.command()
def reframe(
    result: Path,
    *,
    system: str = "*",
    tolerance: Annotated[float, typer.Option(min=0.0001, max=1)] = 0.1,
) -> None:
    """Print medians as the reference dictionary of a ReFrame test.

    Parameters
    ----------
    result
        Directory of `bench run -o`.
    system : NAME
        System and partition of ReFrame: cluster:compute.
    tolerance : SHARE
        Accept values that are worse by this share.
    """
    with mistakes(StoreError):
        store = Store.open(result)
        own = summary(store.campaign, judged_launches(store.campaign, store.records()))
    print(exports.reframe_text(exports.reframe_reference(own, system, tolerance)), end="")


@export.command()
def plugin() -> None:
    """Print the path of the ReFrame test that runs Etherweave."""
    print(files("etherweave.bench").joinpath("plugins", "reframe.py"))


@export.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
def slurm(
    words: list[str],
    *,
    nodes: Positive = 2,
    time: str = "1h",
    name: str = "etherweave",
    partition: str = "",
    account: str = "",
) -> None:
    """Print a batch script that runs benchmarks, and continues them when submitted again.

    Parameters
    ----------
    words : WORDS
        Arguments of `bench run`.
    nodes
        Number of hosts to allocate.
    time : TIME
        Time limit of the job, such as 90min.
    name
        Name of the job.
    partition
        Partition of Slurm. Default: Slurm's.
    account
        Account of Slurm. Default: the user's.
    """
    with mistakes(exports.ExportError, ValueError):
        batch = exports.BatchScript(name, nodes, time_of(time), partition, account)
        print(exports.slurm_script(batch, ["etherweave", "bench", "run", *words]), end="")
