"""The page of a study, and what it is made from."""
