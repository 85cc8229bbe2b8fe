"""The page of a calibration, and what it is made from."""
