"""Shared utilities with no knowledge of models."""
