"""Texts of benchmarks: which program wrote which part, its prefixes, its end, its results."""
