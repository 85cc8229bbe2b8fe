"""The IETF's tests of fabrics for AI: drafts of BMWG for training and inference, a file a chapter.

:mod:`etherweave.bmwg.family` lists all tests of both drafts, with the reason of those that do not
run. A test makes cases of a fabric's scenario and computes the draft's tables from their runs;
every column says where its value is observed.
"""

from etherweave.bmwg.fabric import BenchFabric, load_fabric
from etherweave.bmwg.family import DRAFTS, Entry, SelectionError, entries, selected
from etherweave.bmwg.running import TestResult, run_tests

__all__ = [
    "DRAFTS",
    "BenchFabric",
    "Entry",
    "SelectionError",
    "TestResult",
    "entries",
    "load_fabric",
    "run_tests",
    "selected",
]
