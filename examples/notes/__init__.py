"""A small HTTP service that keeps notes, and the plain-language tests of it."""
