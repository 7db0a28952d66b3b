"""The tests of `old` are what is rewritten; pytest runs them within the tests of this folder."""

collect_ignore = ["old", "expected", "left"]
