"""Parsers for recorded responses, one module per API; `protocols` writes the same formats."""
