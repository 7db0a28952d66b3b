"""The commands of `llm-mock`."""
