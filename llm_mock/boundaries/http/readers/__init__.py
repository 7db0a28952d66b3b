"""What providers answer, read: a file for each API, beside `protocols`, which write it. See `reader.py`."""
