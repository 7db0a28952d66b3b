"""Parsers for recorded responses, one module per API; `protocols` encodes the same formats."""
