"""Rewrite tests that mock `llm` by hand into tests that use `llm_mock`.

A test is rewritten as a whole or left as it is, so that a half-understood test never changes.
"""
