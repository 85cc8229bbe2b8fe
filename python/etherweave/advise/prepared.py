"""A question with the bills of its fabrics, and samples of what is not known of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etherweave.advise.bills import Bill, bill
from etherweave.advise.question import UNCERTAIN, AdviseError, Question
from etherweave.advise.simulated import AXES, Draw, MixSweep, samples
from etherweave.advise.unknowns import FabricUnknowns
from etherweave.api.simulation import ScenarioError


@dataclass(frozen=True)
class Prepared:
    """A question whose fabrics are designed and whose samples are drawn."""

    question: Question
    bills: Mapping[str, Bill]
    unknowns: Mapping[str, FabricUnknowns]  # Unknowns of each fabric's interconnect.
    fixed: Sequence[str]  # Uncertain figures that do not vary.
    draws: Sequence[Draw]

    @property
    def fabrics(self) -> list[str]:
        """Names of all fabrics."""
        return [candidate.name for candidate in self.question.candidates]

    def sweep(
        self, fabrics: Sequence[str], more: Mapping[str, Sequence[Draw]] | None = None
    ) -> MixSweep:
        """List the runs of fabrics from which intervals come, and more of some of them."""
        draws = {name: [*self.draws, *(more or {}).get(name, ())] for name in fabrics}
        return MixSweep.of(self.question, self.unknowns, draws)


def prepare(question: Question) -> Prepared:
    """Design all fabrics, and draw samples of what is not known of them.

    Raises ``ScenarioError`` when a fabric has a mistake, ``AdviseError`` when a job runs on none,
    and ``OSError`` when a price book or a power profile cannot be read.
    """
    bills = {candidate.name: bill(candidate, question) for candidate in question.candidates}
    if not all(fabric_bill.electricity for fabric_bill in bills.values()):
        bills = {name: fabric_bill.without_electricity() for name, fabric_bill in bills.items()}
    is_uncertain = question.settings.figures == UNCERTAIN
    varied = {
        candidate.name: FabricUnknowns.of(candidate) if is_uncertain else FabricUnknowns()
        for candidate in question.candidates
    }
    fixed = {unknown for unknowns_of in varied.values() for unknown in unknowns_of.fixed}
    every = [entry for unknowns_of in varied.values() for entry in unknowns_of.entries]
    every += [unknown for each in bills.values() for unknown in each.unknowns(question)]
    prepared = Prepared(question, bills, varied, sorted(fixed), samples(question, every))
    _check_jobs(prepared)
    return prepared


def _check_jobs(prepared: Prepared) -> None:
    """Reject a question with a job that no fabric can run, such as one of a misspelt workload."""
    first = dict.fromkeys(prepared.fabrics, prepared.draws[:1])
    runs = MixSweep.of(prepared.question, prepared.unknowns, first)
    reasons: dict[str, dict[str, str]] = {}
    for fabric, job, sample in runs.cells:
        try:
            runs.resolve(dict(zip(AXES, (fabric, job, sample), strict=True)))
        except ScenarioError as error:
            reasons.setdefault(job, {})[fabric] = str(error)
    for job, by_fabric in reasons.items():
        if len(by_fabric) == len(prepared.fabrics):
            reason = next(iter(by_fabric.values()))
            raise AdviseError(f"job {job} runs on no fabric: {reason}")
