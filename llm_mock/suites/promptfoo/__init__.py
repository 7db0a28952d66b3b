"""Makes suites of promptfoo's configurations."""
