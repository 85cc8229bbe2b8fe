"""What a batch script of Slurm runs: one job, as steps of its allocation.

``python -m etherweave.bench.launchers.batch TASKS`` reads which job it is, carries it out, and
leaves its outcome in a file beside it. Directories must be shared by the hosts.
"""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from etherweave.bench.launchers.launcher import Companion, Ending, Job, Outcome
from etherweave.bench.launchers.srun import KIND
from etherweave.bench.plans import Command, Start
from etherweave.bench.site.values import Host, Link, Site

OUTCOME = "outcome.json"
"""In the directory of a job."""


def write_tasks(file: Path, site: Site, link: Link | None, jobs: list[Job]) -> None:
    """Write what the tasks of an array shall do."""
    own = asdict(site) | {"options": dict(site.options)}
    facts = {
        "site": own,
        "link": asdict(link) if link else None,
        "jobs": [asdict(job) | {"directory": str(job.directory)} for job in jobs],
    }
    file.write_text(json.dumps(facts), encoding="utf-8")


def read_task(file: Path, number: int) -> tuple[Site, Link | None, Job]:
    """Return what one task shall do."""
    facts = json.loads(file.read_text(encoding="utf-8"))
    link = facts["link"] and Link(**_frozen(facts["link"]))
    return _site(facts["site"]), link, _job(facts["jobs"][number])


def _site(facts: dict[str, Any]) -> Site:
    hosts = tuple(Host(**host) for host in facts["hosts"])
    options = _frozen(facts["options"])
    links = tuple(Link(**_frozen(link)) for link in facts["links"])
    return Site(**_frozen(facts) | {"hosts": hosts, "options": options, "links": links})


def _job(facts: dict[str, Any]) -> Job:
    said = _frozen(facts["command"])
    command = Command(**said | {"start": Start(said["start"])})
    own = {
        "command": command,
        "directory": Path(facts["directory"]),
        "companions": tuple(Companion(**_frozen(one)) for one in facts["companions"]),
    }
    return Job(**_frozen(facts) | own)


def _frozen(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _tuple(value) for name, value in facts.items()}


def _tuple(value: Any) -> Any:
    return tuple(map(_tuple, value)) if isinstance(value, list) else value


def write_outcome(directory: Path, outcome: Outcome) -> None:
    """Leave an outcome in a job's directory, whole or not at all."""
    file = directory / f"{OUTCOME}.part"
    file.write_text(json.dumps(asdict(outcome)), encoding="utf-8")
    file.replace(directory / OUTCOME)


def read_outcome(directory: Path) -> Outcome | None:
    """Return the outcome of a job; none: it is not there yet."""
    try:
        facts = json.loads((directory / OUTCOME).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return Outcome(**_frozen(facts) | {"ending": Ending(facts["ending"])})


def main(tasks: Path) -> None:
    """Carry out the task that Slurm's environment tells."""
    site, link, job = read_task(tasks, int(os.environ.get("SLURM_ARRAY_TASK_ID", "0")))
    write_outcome(job.directory, KIND.make(site, link).launch(job))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
