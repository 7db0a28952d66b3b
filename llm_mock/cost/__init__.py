"""Costs of calls, and budgets."""
