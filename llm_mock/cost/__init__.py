"""What calls cost, and budgets.

PYTEST_DONT_REWRITE
"""
