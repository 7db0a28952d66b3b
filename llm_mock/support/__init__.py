"""What the rest stands on, and knows nothing of models.

PYTEST_DONT_REWRITE
"""
