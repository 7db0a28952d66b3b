"""How models behave badly, and what generated answers look like.

PYTEST_DONT_REWRITE
"""
