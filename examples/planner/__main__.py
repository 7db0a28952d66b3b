"""`python -m planner`."""

from planner.cli import main

main(prog_name="planner")
