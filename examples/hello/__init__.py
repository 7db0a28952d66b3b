"""The smallest application that asks a model, and its tests."""
