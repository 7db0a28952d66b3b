"""An agent that serves the customers of a small shop, and the suites of prompts that it is tested with."""
