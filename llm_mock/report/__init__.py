"""Documents of test runs and of suites, and their renderings.

A rendering (JSON, the HTML page, JUnit XML, Markdown) reads its document and nothing else. The
package is only imported if a report is requested.
"""
