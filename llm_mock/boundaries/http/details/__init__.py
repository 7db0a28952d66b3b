"""Details of replies that few replies have, in the form of each API; imported only for them."""
