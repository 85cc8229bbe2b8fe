"""One sitting of the runner: the state of all hosts before and after, kept beside the launches."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from etherweave.bench.environment.findings import Finding
from etherweave.bench.environment.looks import View, facts, found
from etherweave.bench.store import Store


@contextmanager
def sitting(store: Store, look: Callable[[], list[View]]) -> Iterator[tuple[int, list[Finding]]]:
    """Look before and after; gives the number of the sitting, and what was found before.

    The second look is kept however the sitting ends, unless the process is killed: then what was
    seen before stays.
    """
    number, before = store.sit(), look()
    findings = found(before)
    store.keep_environment(number, _kept(before, (), findings))
    try:
        yield number, findings
    finally:
        after = look()
        store.keep_environment(number, _kept(before, after, found(before, after)))


def _kept(
    before: Sequence[View], after: Sequence[View], findings: Sequence[Finding]
) -> dict[str, Any]:
    return {"hosts": facts(before, after), "findings": [asdict(one) for one in findings]}
