"""The benchmarks that Etherweave parses and plans: a module here and an entry of the catalogue."""

from importlib import import_module

from etherweave.bench.programs.adapter import Adapter
from etherweave.bench.programs.catalogue import CatalogueEntry, catalogue


def _adapter(entry: CatalogueEntry) -> Adapter:
    module = import_module(f"{__name__}.{entry.module or entry.name}")
    adapter = getattr(module, entry.name.upper() if entry.module else "ADAPTER")
    assert isinstance(adapter, Adapter), entry.name
    assert adapter.name == entry.name, "the catalogue calls an adapter by its name"
    return adapter


ADAPTERS: dict[str, Adapter] = {
    name: _adapter(entry) for name, entry in catalogue().items() if entry.is_read
}
"""Adapters by name, in the order of the catalogue; the first that recognises a line has it."""
