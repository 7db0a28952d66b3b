"""The HTTP boundary, under every SDK."""
