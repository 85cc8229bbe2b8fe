"""The page of a run, and what it is made from."""
