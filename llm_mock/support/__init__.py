"""What the rest stands on, and knows nothing of models."""
