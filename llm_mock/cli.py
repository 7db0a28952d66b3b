"""Command line of `llm-mock`: its commands and options; each command is imported when it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from llm_mock import __version__
from llm_mock.cassettes import RECORD_MODES
from llm_mock.commands.errors import print_message, report_errors
from llm_mock.commands.parameters import (
    FiniteNumber,
    WholeNumber,
    add_role_options,
    files_in,
    parse_model,
    parse_models,
    parse_outputs,
)
from llm_mock.errors import LLMMockError
from llm_mock.support.numbers import LONGEST, MOST_REPETITIONS, MOST_RETRIES
from llm_mock.support.redaction import redact
from llm_mock.support.secret_sources import SECRET_SOURCES
from llm_mock.support.strictness import EITHER_LEVEL, Strictness

# Above 0, because every case reaches 0.
SHARE = FiniteNumber("a number above 0 and at most 1, such as 0.8", 1, min_open=True)
DOLLARS = FiniteNumber("an amount in US dollars, such as 0.5", None, min_open=False)
TIMEOUT = FiniteNumber(
    f"a number of seconds above 0 and at most {LONGEST:,}, such as 60", LONGEST, min_open=True
)


@click.group(
    context_settings={"max_content_width": 100},
    epilog="Documentation: llm-mock docs.",
)
@click.version_option(__version__)
def main() -> None:
    """Test code that calls large language models.

    The plugin for pytest needs no command. Some commands need an extra:

    \b
      test, run              pip install 'pytest-llm-mock[suites]'
      validate, schema, mcp  pip install 'pytest-llm-mock[suites,specs]'
      migrate                pip install 'pytest-llm-mock[migrate]'
    """
    # No output may show a key. The keys are read when the first text is redacted, so most commands
    # never read them.
    SECRET_SOURCES.append(_get_stored_keys)


def _get_stored_keys() -> list[str]:
    """Return the keys that `llm` stores, so that no output shows them."""
    from llm_mock.boundaries.llm.user_folder import USER_FOLDER_VARIABLE, read_stored_keys

    return read_stored_keys(os.environ.get(USER_FOLDER_VARIABLE))


@main.command(
    short_help="Run suites of prompts and plain-language tests.",
    epilog="Documentation: llm-mock docs suites, llm-mock docs plain-language.",
)
@add_role_options
@click.option(
    "--model",
    metavar="MODEL",
    multiple=True,
    callback=parse_models,
    help="Use this model of llm instead of the role's. Repeat it to compare models.",
)
# Not `exists=True`: a file that cannot be read must not stop the others.
@click.argument("files", nargs=-1, type=click.Path(), metavar="[FILE...]")
@click.option(
    "suite",
    "-s",
    "--suite",
    multiple=True,
    type=click.Path(),
    help="Run this suite; repeatable. With it, a single FILE is the role.",
)
@click.option("-v", "--verbose", is_flag=True, help="Show the result of each assertion.")
@click.option(
    "tag",
    "--tag",
    multiple=True,
    help="Run only cases with this tag. Repeat it to run cases with any of several tags.",
)
@click.option(
    "text",
    "-k",
    metavar="TEXT",
    help="Run only cases whose name contains this text (case-insensitive).",
)
@click.option(
    "--repeat",
    type=WholeNumber(1, MOST_REPETITIONS),
    metavar="N",
    help="Run each case N times.",
)
@click.option(
    "--threshold",
    type=SHARE,
    metavar="SHARE",
    help="Pass a case if at least this share of its runs passes (above 0, at most 1).",
)
@click.option(
    "-j",
    "--jobs",
    type=WholeNumber(1, 1_000),
    default=1,
    metavar="N",
    help="Run N cases in parallel.",
)
@click.option(
    "--retry",
    type=WholeNumber(0, MOST_RETRIES),
    default=0,
    metavar="N",
    help="Retry a failed case up to N times.",
)
@click.option(
    "--max-cost",
    type=DOLLARS,
    metavar="DOLLARS",
    help="Start no more cases after this cost is reached.",
)
@click.option(
    "--timeout",
    type=TIMEOUT,
    metavar="SECONDS",
    help="Stop each run of a case after this time.",
)
@click.option(
    "--judge",
    metavar="MODEL",
    help="Use this model as the judge of suites and steps. Overrides ini llm_mock_judge.",
)
@click.option(
    "--min-score",
    type=SHARE,
    metavar="SCORE",
    help="Pass a suite if its score is at least this (at most 1).",
)
@click.option(
    "--cassette",
    is_flag=True,
    help="Record the models' answers in files beside the suites, and replay them.",
)
@click.option(
    "--record",
    type=click.Choice(RECORD_MODES),
    # No default here, because --record without --cassette is an error.
    help="With --cassette: set the record mode. The default is ini llm_mock_record, or else "
    "new_episodes, which records the calls that no cassette contains.",
)
@click.option(
    "output",
    "-o",
    "--output",
    multiple=True,
    metavar="FILE",
    callback=parse_outputs,
    help="Write the results to this .json, .xml (JUnit), .md or .html file; repeatable.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Compare with an earlier result (-o FILE.json), and fail only if something is worse.",
)
@click.option(
    "--update",
    is_flag=True,
    help="Save the outputs of passing cases as snapshots. Later runs must reproduce the outputs.",
)
@files_in
def test(**options: Any) -> None:
    """Run suites of prompts and plain-language tests, from files or folders.

    A suite runs against the agent of a role file, or against the target that the suite names.

    \b
      llm-mock test tests --dry-run
      llm-mock test tests/llm/test_todo.yaml --dry-run --repeat 5
      llm-mock test role.yaml -s suites/greeting.yaml --dry-run
      llm-mock test -s suites/application.yaml --dry-run
      llm-mock test role.yaml -s greeting.yaml -s refunds.yaml -j 4 -o results.html
      llm-mock test role.yaml -s greeting.yaml --model gpt-5-mini --model gpt-5
      llm-mock test role.yaml -s greeting.yaml --cassette

    Needs pip install 'pytest-llm-mock[suites]', plain-language tests [suites,specs].

    Exit codes: 0, all cases passed (with --baseline: no case broke and no new case failed). 1, a
    case failed or was not run, or a file is invalid. 2, wrong usage. 130, Ctrl-C.
    """
    if options["cassette"] and options["dry_run"]:
        problem = "--cassette records a real run, but --dry-run calls no model"
        raise click.UsageError(f"{problem}: use only one of them.")
    if options["update"] and options["dry_run"]:
        problem = "--update saves the outputs of a real run, but --dry-run simulates the model"
        raise click.UsageError(f"{problem}: use only one of them.")
    if options["record"] and not options["cassette"]:
        raise click.UsageError("--record needs --cassette: use both.")
    # Imported within the context, because the import of a missing extra raises an error.
    with report_errors():
        from llm_mock.commands.test import RunOptions, run_suites

        exit_code = run_suites(RunOptions(**options))
    raise SystemExit(exit_code)


@main.command(epilog="Documentation: llm-mock docs suites.")
@add_role_options
@click.option(
    "--model",
    metavar="MODEL",
    # `parse_model` refuses a second model; click would silently use the last one.
    multiple=True,
    callback=parse_model,
    help="Use this model of llm instead of the role's.",
)
@click.argument("role", type=click.Path())
@click.option(
    "-p",
    "--prompt",
    metavar="PROMPT",
    help="Send this prompt to the agent. The default is standard input.",
)
@click.option(
    "-i",
    "--interactive",
    is_flag=True,
    help="Ask for further prompts, until Ctrl-D, exit or quit.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue the last conversation of this role that llm logged.",
)
@click.option("--no-audit", is_flag=True, help="Do not write to llm's log (llm logs).")
@click.option("-v", "--verbose", is_flag=True, help="Show the tool calls, on standard error.")
def run(**options: Any) -> None:
    """Run the agent of a role file and print its answer.

    \b
      llm-mock run role.yaml -p "When are you open?"
      llm-mock run role.yaml -i --model gpt-5-mini

    Needs pip install 'pytest-llm-mock[suites]'.

    The command writes prompts and answers to llm's log. llm logs shows them, and llm logs off
    switches the log off.
    """
    with report_errors():
        from llm_mock.commands.run import run_agent

        succeeded = run_agent(**options)
    raise SystemExit(0 if succeeded else 1)


@main.command(
    short_help="Print the JSON Schema of a kind of file.",
    epilog="Documentation: llm-mock docs suites.",
)
@click.argument("kind", type=click.Choice(["suite", "spec"]))
def schema(kind: str) -> None:
    """Print the JSON Schema of suite files, or of plain-language tests, for editors.

    \b
      llm-mock schema suite > suite.schema.json
    """
    # Imported here, like the commands themselves: `--help` must be fast.
    import json

    from llm_mock.commands.validate import get_json_schema

    click.echo(json.dumps(get_json_schema(kind), indent=2, ensure_ascii=False))


@main.command(
    short_help="Check suites, roles and plain-language tests.",
    epilog="Documentation: llm-mock docs suites and llm-mock docs plain-language.",
)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE...",
)
@files_in
def validate(files: tuple[Path, ...], files_in: Path | None) -> None:
    """Check suites, roles and plain-language tests without running them.

    \b
      llm-mock validate role.yaml suites/*.yaml

    The tools of plain-language tests are started with the plugins of their project; none is called.

    Exit codes: 0, all files are valid. 1, a file is invalid.
    """
    from llm_mock.commands.validate import describe_file

    exit_code = 0
    for path in files:
        try:
            click.echo(redact(f"{path}: {describe_file(path, files_in)}"))
        except LLMMockError as error:
            # The other files are checked, too.
            exit_code = 1
            print_message("Error", str(error))
    raise SystemExit(exit_code)


@main.command(
    short_help="Serve scripted replies to SDKs of any language.",
    epilog="Documentation: llm-mock docs server.",
)
# Optional, because --record needs no script. Not a path, because it may name a function.
@click.argument("script", required=False)
@click.option(
    "--host",
    help="Listen on this address. The default is 127.0.0.1, where the Host header must name this "
    "machine.",
)
@click.option(
    "--port",
    type=WholeNumber(0, 65_535),
    default=0,
    metavar="N",
    help="Listen on this port. The default is a free port.",
)
@click.option(
    "--keep",
    type=WholeNumber(0),
    default=1_000,
    show_default=True,
    metavar="N",
    help="Keep the last N calls in memory, and only count earlier calls.",
)
@click.option(
    "--strict",
    type=click.Choice(EITHER_LEVEL),
    default="off",
    help="Set the reaction to calls without a matching reply: off (default) sends the default "
    "reply, error refuses the call.",
)
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="CASSETTE",
    help="Record to this cassette: send calls that neither the script nor the cassette answers to "
    "the provider, with the client's key.",
)
@click.option(
    "--upstream",
    "upstreams",
    multiple=True,
    metavar="NAME=URL",
    help="With --record, forward requests to http://…/NAME to this server, such as a gateway or "
    "a local model; repeatable.",
)
@click.option(
    "--disabled-rule",
    "disabled_rules",
    multiple=True,
    metavar="NAME",
    help="Disable this rule of providers; repeatable.",
)
@click.option(
    "--control-token",
    metavar="TOKEN",
    envvar="LLM_MOCK_CONTROL_TOKEN",
    show_envvar=True,
    help="Let programs on other machines use the control API if they send this token: "
    "Authorization: Bearer TOKEN. Programs on this machine need no token.",
)
def serve(
    script: str | None,
    host: str | None,
    port: int,
    keep: int,
    strict: Strictness,
    record: Path | None,
    upstreams: tuple[str, ...],
    disabled_rules: tuple[str, ...],
    control_token: str | None,
) -> None:
    """Run a server that answers SDKs of OpenAI, Anthropic, Google and Mistral, until Ctrl-C.

    \b
      llm-mock serve replies.yaml --port 8080

    SCRIPT is a YAML file of replies, or package.module:function, a function that configures the
    mock, which is its argument. The server accepts all connections, so listen only where you trust
    all programs.

    Tests in any language control the server over HTTP. JSON bodies have the form of the YAML file:

    \b
      POST /_llm_mock/replies    set replies
      POST /_llm_mock/misbehave  make models misbehave
      GET  /_llm_mock/calls      the calls
      GET  /_llm_mock/unused     the replies that no call used
      GET  /_llm_mock/verdict    whether the test passes
      POST /_llm_mock/reset      forget the test's calls and replies
      GET  /_llm_mock/health     whether the server is up

    Each test has its own replies and calls. A request names its test by a base URL such as
    http://127.0.0.1:8080/t/test-7/openai/v1, or by the header X-Test-Id.
    """
    with report_errors():
        from llm_mock.commands.serve import serve as serve_script

        if strict == "error" and record is not None:
            problem = "--strict error refuses the calls that --record sends to the provider"
            raise click.UsageError(f"{problem}: use only one of them.")
        if upstreams and record is None:
            raise click.UsageError("--upstream needs --record CASSETTE: use both.")
        serve_script(
            script, host, port, strict, record, keep, disabled_rules, control_token, upstreams
        )


@main.command(
    short_help="Let a coding agent check and run tests over MCP.",
    epilog="Documentation: llm-mock docs plain-language.",
)
def mcp() -> None:
    """Let a coding agent check and run suites and plain-language tests: serve MCP on stdio.

    \b
      llm-mock mcp
      claude mcp add llm-mock -- llm-mock mcp

    The agent works in the folder where you start the command.
    """
    with report_errors():
        from llm_mock.commands.mcp_server import serve as serve_agent

        serve_agent()


@main.command(
    "import",
    short_help="Convert a file of promptfoo or VCR.",
    epilog="Documentation: llm-mock docs suites and llm-mock docs cassettes.",
)
@click.argument("source", type=click.Path(path_type=Path), metavar="FILE")
@click.option(
    "output",
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the suite or cassette to this file.",
)
@click.option(
    "hosts",
    "--host",
    multiple=True,
    metavar="HOST",
    help="VCR: also treat this host as a provider; repeatable.",
)
@click.option(
    "strict",
    "--strict",
    is_flag=True,
    help="Exit with 1 if something has no counterpart. The files are still written.",
)
def import_file(source: Path, output: Path | None, hosts: tuple[str, ...], strict: bool) -> None:
    """Convert a promptfoo configuration to a suite, or a VCR cassette to a cassette.

    \b
      llm-mock import promptfooconfig.yaml
      llm-mock import tests/cassettes/test_greeting/test_hello.yaml

    Each line of the output names something that cannot be converted. An assertion without a
    counterpart becomes a skipped assertion with the reason. By default, the result is written
    beside FILE: promptfooconfig.suite.yaml and its role, or test_hello.llm.yaml, where the test
    looks for it. A cassette never contains a key.
    """
    with report_errors():
        from llm_mock.commands.import_file import import_file as convert_file

        is_whole = convert_file(source, output, hosts)
    if strict and not is_whole:
        print_message("Error", "--strict: the parts in the lines above have no counterpart.")
        raise SystemExit(1)


@main.command(
    short_help="Print the documentation, or search it.",
    epilog="Documentation: llm-mock docs index.",
)
@click.argument("words", nargs=-1, metavar="[WORD]...")
def docs(words: tuple[str, ...]) -> None:
    """Print the list of pages, one page, or the sections that contain the words.

    \b
      llm-mock docs
      llm-mock docs replies
      llm-mock docs rate limit
    """
    with report_errors():
        from llm_mock.commands.docs import print_documentation

        print_documentation(words)


@main.command(
    short_help="Rewrite tests that mock llm by hand.",
    epilog="Documentation: llm-mock docs migration.",
)
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATHS",
)
@click.option("--check", is_flag=True, help="Only list the changes. Exit with 1 if there are any.")
@click.option("--write", is_flag=True, help="Write the files instead of showing the changes.")
@click.option("--learn", is_flag=True, help="Run the old tests once, to learn their models.")
@click.option("--no-verify", is_flag=True, help="Write without running the tests.")
@click.option(
    "--partial",
    is_flag=True,
    help="Keep an assertion that is not understood as a comment, below a TODO.",
)
def migrate(
    paths: tuple[Path, ...], check: bool, write: bool, learn: bool, no_verify: bool, partial: bool
) -> None:
    """Rewrite tests that mock llm by hand (unittest.mock, monkeypatch, pytest-mock).

    \b
      llm-mock migrate tests                    shows the changes
      llm-mock migrate --learn --write tests    rewrites, with the ids of models

    With --write, the command runs the old tests and then the new ones. It rewrites a test only if
    both pass. For other tests, the output shows the line, the reason and the fix.

    Exit codes: 0, success. 1, a file is invalid, or --check found changes. 2, wrong usage.
    """
    if check and write:
        raise click.UsageError("--check writes nothing: use only one of --check and --write.")
    if no_verify and not write:
        raise click.UsageError("--no-verify needs --write: use both.")
    with report_errors():
        from llm_mock.commands.migrate import migrate as migrate_paths

        exit_code = migrate_paths(
            paths,
            check=check,
            write=write,
            learning=learn,
            verifying=not no_verify,
            is_partial=partial,
        )
    raise SystemExit(exit_code)


@main.command(
    short_help="List the misbehaviours of models.",
    epilog="Documentation: llm-mock docs misbehaviour.",
)
def misbehaviours() -> None:
    """List the misbehaviours for @pytest.mark.llm_mock_misbehaviour: name and description.

    \b
      llm-mock misbehaviours
    """
    from llm_mock.behaviour.catalogue import CATALOGUE

    names = list(CATALOGUE)
    width = max(map(len, names))
    for kind in CATALOGUE.values():
        name = kind.name.ljust(width)
        click.echo(f"{name}  {kind.description}")
