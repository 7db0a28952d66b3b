"""`python -m llm_mock`: the command `llm-mock`."""

from llm_mock.cli import main

# Without `prog_name`, the usage line would begin with `__main__.py`.
main(prog_name="llm-mock")
