"""The HTTP boundary, which intercepts the requests of all SDKs."""
