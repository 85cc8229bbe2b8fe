"""A plan as rows of a sheet."""

import shlex

from etherweave.bench.plans import BenchmarkPlan
from etherweave.cli.bench.amounts import amount


def plan_rows(planned: BenchmarkPlan) -> list[tuple[str, str]]:
    """Tell placement, command, bytes and seconds of a run."""
    command, placement, forecast = planned.command, planned.placement, planned.forecast
    rows = [("placement", f"{placement.pattern}: {placement.nodes} x {placement.ranks_per_node}")]
    rows += [("server", shlex.join(command.server))] * bool(command.server)
    rows += [("command", shlex.join(command.arguments))]
    rows += [("reads", name) for name, _ in command.files]
    rows += [("writes", command.output)] if command.output else []
    rows += [
        ("sends", f"{amount(forecast.bytes, 'B')} from the busiest host"),
        ("takes", f"{amount(forecast.seconds, 's')} ({forecast.basis})"),
    ]
    return rows + [("note", note) for note in planned.notes]
