"""Amounts as the verbs of ``bench`` read and print them."""

from etherweave.bench.amounts import amount, rate_of, size_of, time_of

__all__ = ["amount", "rate_of", "size_of", "time_of"]
