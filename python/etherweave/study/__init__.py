"""Published evaluations, repeated: experiments, checks against published figures, calibration.

A study is one folder, found by its name or its path; :mod:`etherweave.study.folder` says what it
holds. Results of experiments are kept with a hash of what went into them, so that an interrupted
study goes on where it stopped. No study is known here by name.
"""

from etherweave.study.folder import PublishedValue, Study, load_study, shipped
from etherweave.study.records import StudyRecord, processor_s, read_record, records, write_record
from etherweave.study.results import (
    CHECKS,
    MissingResultError,
    StudyCheck,
    StudyResult,
    load_study_result,
)
from etherweave.study.running import run_study

__all__ = [
    "CHECKS",
    "MissingResultError",
    "PublishedValue",
    "Study",
    "StudyCheck",
    "StudyRecord",
    "StudyResult",
    "load_study",
    "load_study_result",
    "processor_s",
    "read_record",
    "records",
    "run_study",
    "shipped",
    "write_record",
]
