"""Where HTTP libraries send requests: the lowest place of each, so that what a test itself mocks above it wins."""
