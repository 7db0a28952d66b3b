"""The pytest plugin; the only package that imports pytest.

PYTEST_DONT_REWRITE
"""
