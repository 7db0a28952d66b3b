"""Plan a workflow from a request in plain language: reuse a known one, or have a model generate it."""
