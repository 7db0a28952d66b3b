"""The types of assertions, by what they look at: each is a class with its fields, its check and its words."""
