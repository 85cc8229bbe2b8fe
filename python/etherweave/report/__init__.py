"""Reports: one self-contained HTML page, and its figures as PNG and SVG beside it.

A figure is a function from results to a matplotlib figure; the lists in ``run.py`` and ``study.py``
name them all. Nothing is measured here that is not in the tables.
"""

from etherweave.report.run import write_run
from etherweave.report.study import write_study

__all__ = ["write_run", "write_study"]
