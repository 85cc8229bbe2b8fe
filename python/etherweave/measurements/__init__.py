"""Measured and published figures: metrics, outputs of benchmarks, references; and their files."""
