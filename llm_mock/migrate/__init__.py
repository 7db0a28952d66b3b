"""Rewrites tests that mock `llm` by hand to tests with `llm_mock`, where it is sure of what they mean."""
