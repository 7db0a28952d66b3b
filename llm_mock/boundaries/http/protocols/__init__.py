"""What the providers' APIs say on the wire, a file for each. See `protocol.py` for what they have in common."""
