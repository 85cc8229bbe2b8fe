"""Names of files by which directories of measurements are known."""

RESULTS = "benchmarks.json"  # Name of the file in a directory of benchmarks.
CALIBRATION_FILE = "calibration.json"  # Name of the file in a directory of a calibration.
