"""Intercept each HTTP library at its lowest layer, so that a test's own mocks take precedence."""
