"""Names of files by which directories of measurements are known."""

RESULTS = "benchmarks.json"
"""In a directory of benchmarks."""
CALIBRATION_FILE = "calibration.json"
"""In a directory of a calibration."""
