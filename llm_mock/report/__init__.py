"""The report of a run: every test's calls as one HTML page, as JSON, and as properties of pytest's JUnit file.

Imported only where one of these was asked for.

PYTEST_DONT_REWRITE
"""
