"""The page of benchmarks on a real cluster, and what it is made from."""
