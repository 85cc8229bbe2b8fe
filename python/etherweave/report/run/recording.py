"""The page of a recorded program."""

from functools import partial
from pathlib import Path

from etherweave import _core
from etherweave.api.replays import RecordingFacts, facts, processor_wait, recording_warnings
from etherweave.report.page import Front, Page
from etherweave.report.run.rank_detail import WindowRequest, detail
from etherweave.report.run.timeline import communication_map, recorded_timeline


def is_recording(source: Path) -> bool:
    """Return whether a directory has files of the recorder."""
    return any(source.glob("*.ewr"))


def write_recording(source: Path, out: Path, request: WindowRequest | None = None) -> Path:
    """Write the page of a recorded program into a directory; returns the page's path.

    ``out`` is made when missing; ``request`` is the window of time that is drawn in detail.
    """
    try:
        recording = _core.Recording.read(source)
    except _core.ScenarioError as error:
        raise ValueError(error) from None
    timeline = recorded_timeline(recording)
    if request:
        request.check([timeline])
    page = Page(out)
    page.show([communication_map, partial(detail, request=request)], timeline)
    return page.write(_front(source, facts(recording)), [])


def _front(source: Path, described: RecordingFacts) -> Front:
    lead = (
        f"{described['ranks']} ranks ran for {described['span_ns'] / 1e6:,.6g} ms with "
        f"{described['library']}."
    )
    answers = [f"Computation takes {described['compute_share']:.1%} of the time of its ranks."]
    rows = [
        ("hosts", ", ".join(described["hosts"])),
        ("calls", f"{described['calls']:,}"),
        ("recorder", f"{described['recorder_share']:.2%} of the time"),
        ("clocks within", f"{described['clock_error_ns_max'] / 1e3:,.3g} us"),
    ]
    warnings = recording_warnings(described, processor_wait(source))
    return Front(source.absolute().name, lead, answers, rows, warnings)
