"""Interception of HTTP libraries, each at its lowest layer: mocks of a test above it win."""
