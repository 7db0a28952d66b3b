"""The commands of `llm-mock`.

PYTEST_DONT_REWRITE
"""
