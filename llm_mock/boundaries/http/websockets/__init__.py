"""APIs of providers over WebSockets; imported with the first intercepted connection."""
