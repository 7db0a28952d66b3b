"""The boundary of the `llm` library; the only package that knows its internals."""
