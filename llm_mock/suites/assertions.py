"""Evaluation of assertions about outputs: public names of `llm_mock.checks`."""

from __future__ import annotations

from llm_mock.checks.base import RunContext as RunContext
from llm_mock.checks.evaluation import evaluate_assertion as evaluate_assertion
from llm_mock.checks.evaluation import evaluate_assertions as evaluate_assertions
