"""Findings as SARIF 2.1.0 (OASIS), which systems of continuous integration show beside files."""

from collections.abc import Iterable
from typing import Any

from etherweave.control.lint.inputs import LintFinding, LintRule, Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {
    Severity.LOSES: "error",
    Severity.STALLS: "error",
    Severity.DEGRADES: "warning",
    Severity.STYLE: "note",
}


def document(findings: Iterable[LintFinding], rules: Iterable[LintRule]) -> dict[str, Any]:
    """Return a run of the linter: a result for each finding, with all its places."""
    driver = {
        "name": "etherweave control lint",
        "rules": [
            {
                "id": rule.name,
                "shortDescription": {"text": rule.why},
                "defaultConfiguration": {"level": LEVELS[rule.severity]},
            }
            for rule in rules
        ],
    }
    results = [_result(finding) for finding in findings]
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def _result(finding: LintFinding) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "level": LEVELS[finding.severity],
        "message": {"text": f"{finding.found}; expected {finding.expected}: {finding.why}"},
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": file}},
                "logicalLocations": [{"fullyQualifiedName": place}],
            }
            for file, place in finding.places
        ],
    }
