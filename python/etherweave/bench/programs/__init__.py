"""Programs of benchmarks: the catalogue, what an adapter has, options, and plans of commands."""
