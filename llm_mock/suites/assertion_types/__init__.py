"""Types of assertions: a class each, with its fields, its check and its messages."""
