"""Where applications obtain and execute models.

PYTEST_DONT_REWRITE
"""
