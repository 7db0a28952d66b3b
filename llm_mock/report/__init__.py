"""What was asked and answered, as files: the document of a test run, the document of suites, and their renderings.

A rendering (JSON, the HTML page, JUnit XML, Markdown) reads its document and nothing else. Imported only where one of
these was asked for.
"""
