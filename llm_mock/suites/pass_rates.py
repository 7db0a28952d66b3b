"""What several runs of a case say of how often it passes: an interval around the pass rate, and pass@k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Z95 = 1.959963984540054
"""Within so many standard deviations lie 95 % of a normal distribution."""
SERIES = (1, 2, 5)
"""For which `k` there is a pass@k: these, ten times these, and so on."""


@dataclass(frozen=True)
class PassRate:
    """So many of several runs that do not depend on each other passed."""

    passed: int
    runs: int
    """At least 1."""

    @property
    def share(self) -> float:
        """From 0 to 1; this is pass@1, too."""
        return self.passed / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's score interval of 95 %, from 0 to 1: how often the case may pass in the long run, given these runs.

        E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference", Journal of the American
        Statistical Association 22 (1927). Unlike the mean with its standard error it says something of few runs, and
        where all or none passed.
        """
        runs, share, squared = self.runs, self.share, Z95**2
        middle = share + squared / (2 * runs)
        half = Z95 * math.sqrt(share * (1 - share) / runs + squared / (4 * runs**2))
        low, high = ((middle + side) / (1 + squared / runs) for side in (-half, half))
        return (0.0 if not self.passed else low, 1.0 if self.passed == runs else high)

    def pass_at(self, k: int) -> float:
        """The probability that of `k` runs at least one passes: 1 - C(n - c, k) / C(n, k), of n runs, c of them passed.

        The unbiased estimator of M. Chen et al., "Evaluating Large Language Models Trained on Code",
        arXiv:2107.03374 (2021).

        Args:
            k: from 1 to the number of runs.
        """
        failed = self.runs - self.passed
        return 1.0 - math.prod((failed - run) / (self.runs - run) for run in range(k))

    @property
    def pass_at_k(self) -> dict[int, float]:
        """Each pass@k that the runs suffice for."""
        return {k: self.pass_at(k) for k in ks(self.runs)}

    def __str__(self) -> str:
        """Such as `60% (3/5), 95% interval 23% to 88%, pass@2 90%`."""
        low, high = self.interval
        parts = [f"{percent(self.share)} ({self.passed}/{self.runs}), 95% interval {percent(low)} to {percent(high)}"]
        return ", ".join([*parts, *pass_at_k_texts(self.pass_at_k)])


def ks(runs: int) -> list[int]:
    """1, 2, 5, 10, 20, … up to the number of runs."""
    digits = len(str(runs))
    return [k for power in range(digits) for k in (10**power * each for each in SERIES) if k <= runs]


def mean_pass_at_k(rates: Sequence[PassRate]) -> dict[int, float]:
    """Each pass@k of several cases, for which the runs of all of them suffice: the mean, as for a set of problems."""
    least = min((rate.runs for rate in rates), default=0)
    return {k: math.fsum(rate.pass_at(k) for rate in rates) / len(rates) for k in ks(least)}


def pass_at_k_texts(values: dict[int, float]) -> list[str]:
    """Each as `pass@2 90%`, without pass@1, which is the pass rate."""
    return [f"pass@{k} {percent(value)}" for k, value in values.items() if k > 1]


def percent(share: float) -> str:
    """A share as a percentage; one that is not quite all or nothing is not shown as such."""
    rounded = round(100 * share)
    if share and not rounded:
        return "<1%"
    return ">99%" if rounded == 100 and share < 1 else f"{rounded}%"
