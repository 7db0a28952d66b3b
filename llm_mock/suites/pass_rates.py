"""Statistics of several runs of a case: the pass rate with its interval, pass@k and pass^k."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

# The quantile of a normal distribution for an interval of 95 %.
Z95 = 1.959963984540054
_STEPS = (1, 2, 5)
"""The values of `k` for which pass@k and pass^k are reported: these, ten times these, and so on."""


@dataclass(frozen=True)
class PassRate:
    """The number of independent runs that passed."""

    passed: int
    runs: int
    """The number of runs; at least 1."""

    @property
    def share(self) -> float:
        """Return the share that passed, from 0 to 1. It equals pass@1."""
        return self.passed / self.runs

    @property
    def interval(self) -> tuple[float, float]:
        """Return the bounds of Wilson's score interval of 95 %, from 0 to 1.

        E. B. Wilson, "Probable Inference, the Law of Succession, and Statistical Inference",
        Journal of the American Statistical Association 22 (1927). Unlike the mean with its
        standard error it is useful for few runs, and if all or none passed.
        """
        runs = self.runs
        share = self.share
        squared = Z95**2
        center = share + squared / (2 * runs)
        variance = share * (1 - share) / runs
        correction = squared / (4 * runs**2)
        half = Z95 * math.sqrt(variance + correction)
        scale = 1 + squared / runs
        low = (center - half) / scale
        high = (center + half) / scale
        # The bounds at 0 and 1 are exact; rounding would miss them.
        if self.passed == 0:
            low = 0.0
        if self.passed == runs:
            high = 1.0
        return low, high

    def get_lead(self, other: PassRate) -> float:
        """Return the lower bound of the 95 % interval of the difference from another rate.

        If it is above 0, chance does not explain why this rate is higher. It is the hybrid score
        interval, made of Wilson's intervals of the two rates: R. G. Newcombe, "Interval Estimation
        for the Difference between Independent Proportions: Comparison of Eleven Methods",
        Statistics in Medicine 17 (1998), method 10.
        """
        low, _ = self.interval
        _, other_high = other.interval
        half = math.hypot(self.share - low, other_high - other.share)
        return self.share - other.share - half

    def pass_at(self, k: int) -> float:
        """Return the probability that at least one of `k` runs passes.

        It is 1 - C(n - c, k) / C(n, k) for c of n runs that passed: the unbiased estimator of
        M. Chen et al., "Evaluating Large Language Models Trained on Code", arXiv:2107.03374 (2021).

        Args:
            k: from 1 to the number of runs.
        """
        failed = self.runs - self.passed
        # As a product: the binomials of many runs exceed a float.
        product = 1.0
        for run in range(k):
            product *= (failed - run) / (self.runs - run)
        return 1.0 - product

    def pass_hat(self, k: int) -> float:
        """Return the probability that all of `k` runs pass: pass^k.

        It is C(c, k) / C(n, k) for c of n runs that passed: the unbiased estimator of S. Yao et
        al., "tau-bench: A Benchmark for Tool-Agent-User Interaction", arXiv:2406.12045 (2024).

        Args:
            k: from 1 to the number of runs.
        """
        if k > self.passed:
            return 0.0
        product = 1.0
        for run in range(k):
            product *= (self.passed - run) / (self.runs - run)
        return product

    @property
    def pass_at_k(self) -> dict[int, float]:
        """Return each reported pass@k for which there are enough runs."""
        values = {}
        for k in list_ks(self.runs):
            values[k] = self.pass_at(k)
        return values

    @property
    def pass_hat_k(self) -> dict[int, float]:
        """Return each reported pass^k for which there are enough runs."""
        values = {}
        for k in list_ks(self.runs):
            values[k] = self.pass_hat(k)
        return values

    def __str__(self) -> str:
        """Return a text such as `60% (3/5), 95% interval 23% to 88%, pass@2 90%, pass^2 30%`."""
        low, high = map(format_percent, self.interval)
        share = format_percent(self.share)
        parts = [f"{share} ({self.passed}/{self.runs})", f"95% interval {low} to {high}"]
        parts += format_pass_k(self.pass_at_k, self.pass_hat_k)
        return ", ".join(parts)


def list_ks(runs: int) -> list[int]:
    """Return 1, 2, 5, 10, 20, … up to the number of runs."""
    ks = []
    for power in range(len(str(runs))):
        for step in _STEPS:
            ks.append(10**power * step)
    return [k for k in ks if k <= runs]


def mean_pass_at_k(rates: Sequence[PassRate]) -> dict[int, float]:
    """Return the mean over several cases of each pass@k for which all have enough runs."""
    return _compute_means(rates, PassRate.pass_at)


def mean_pass_hat_k(rates: Sequence[PassRate]) -> dict[int, float]:
    """Return the mean over several cases of each pass^k for which all have enough runs."""
    return _compute_means(rates, PassRate.pass_hat)


def _compute_means(
    rates: Sequence[PassRate],
    estimate: Callable[[PassRate, int], float],
) -> dict[int, float]:
    if not rates:
        return {}
    least = min(rate.runs for rate in rates)
    means = {}
    for k in list_ks(least):
        total = math.fsum(estimate(rate, k) for rate in rates)
        means[k] = total / len(rates)
    return means


def format_pass_k(at_least_one: Mapping[int, float], all_of_them: Mapping[int, float]) -> list[str]:
    """Return texts such as `pass@2 90%` and `pass^2 30%`, without k = 1, which is the pass rate.

    Args:
        at_least_one: each pass@k.
        all_of_them: each pass^k, for the same k.
    """
    texts = []
    for k, value in at_least_one.items():
        if k > 1:
            texts.append(f"pass@{k} {format_percent(value)}")
            texts.append(f"pass^{k} {format_percent(all_of_them[k])}")
    return texts


def format_percent(share: float) -> str:
    """Return a share as a percentage; only exact shares become 0% and 100%."""
    rounded = round(100 * share)
    if share and not rounded:
        return "<1%"
    if rounded == 100 and share < 1:
        return ">99%"
    return f"{rounded}%"
