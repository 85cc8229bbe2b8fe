"""One sitting of the runner: the state of this host before and after, kept beside the launches."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from etherweave.bench.environment.checks import examine
from etherweave.bench.environment.findings import Evidence, Finding
from etherweave.bench.environment.snapshot import Snapshot
from etherweave.bench.store import Store


@contextmanager
def sitting(store: Store, look: Callable[[], Snapshot]) -> Iterator[tuple[int, list[Finding]]]:
    """Look before and after; gives the number of the sitting, and what was found before.

    The second look is kept however the sitting ends, unless the process is killed: then what was
    seen before stays.
    """
    number, before = store.sit(), look()
    findings = examine(Evidence(before))
    store.keep_environment(number, _facts(before, None, findings))
    try:
        yield number, findings
    finally:
        after = look()
        store.keep_environment(number, _facts(before, after, examine(Evidence(before, after))))


def _facts(before: Snapshot, after: Snapshot | None, findings: list[Finding]) -> dict[str, Any]:
    return {
        "before": before.facts(),
        "after": after.facts() if after else None,
        "findings": [asdict(one) for one in findings],
    }
