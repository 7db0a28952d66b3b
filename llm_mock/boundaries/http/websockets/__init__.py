"""Provider APIs over WebSockets; imported with the first intercepted connection."""
