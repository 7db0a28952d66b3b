"""Conversion of promptfoo's configurations into suites."""
