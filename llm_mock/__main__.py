"""`python -m llm_mock`: the command `llm-mock`."""

from llm_mock.cli import main

main(prog_name="llm-mock")
