"""The wire formats of the providers' APIs; `protocol.py` defines their interface."""
