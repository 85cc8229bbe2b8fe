"""What a host counted during each launch, kept under the launch's name."""

import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from etherweave.bench.store import Store
from etherweave.bench.telemetry.recorder import PERIOD_S, Recorder
from etherweave.bench.telemetry.sampling import Sampler
from etherweave.bench.telemetry.tables import save


def recorded(
    interfaces: Iterable[str], period_s: float = PERIOD_S
) -> Callable[[Store, str], AbstractContextManager[None]]:
    """Make what records an epoch of this host while it is entered, and then keeps it."""
    names = tuple(interfaces)

    @contextmanager
    def record(store: Store, name: str) -> Iterator[None]:
        recorder = Recorder(name, platform.node(), Sampler(names), period_s)
        with recorder:
            yield
        save(recorder.recording(), store.telemetry(name))

    return record
