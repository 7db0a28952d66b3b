"""Encode details that few replies have, for each API; imported only for such replies."""
