"""An agent that serves the customers of a small shop, and its prompt suites."""
