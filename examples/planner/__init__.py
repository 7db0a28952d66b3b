"""Plan a workflow from a request: reuse a known one, or have a model generate it."""
