"""The command `llm-mock`: what each command takes. What it does is imported when it runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from llm_mock import __version__
from llm_mock.cassettes.record_modes import RECORD_MODES
from llm_mock.commands.errors import errors_told, tell
from llm_mock.commands.parameters import Finite, checked_models, checked_outputs, files_in, one_model, role_options
from llm_mock.errors import LLMMockError
from llm_mock.support.numbers import LONGEST, MOST_REPETITIONS, MOST_RETRIES
from llm_mock.support.redaction import KNOWN, redacted


@click.group(context_settings={"max_content_width": 100}, epilog="Documentation: docs/index.md of pytest-llm-mock.")
@click.version_option(__version__)
def main() -> None:
    """Test code that calls large language models.

    The plugin for pytest needs no command. Suites, roles, plain-language tests and migrate need an extra:

    \b
      test, run              pip install 'pytest-llm-mock[suites]'
      validate, schema, mcp  pip install 'pytest-llm-mock[suites,specs]'
      migrate                pip install 'pytest-llm-mock[migrate]'
    """
    KNOWN.ask(_stored_keys)


def _stored_keys() -> list[str]:
    from llm_mock.boundaries.llm.user_folder import USER_FOLDER_VARIABLE, stored_keys

    return stored_keys(os.environ.get(USER_FOLDER_VARIABLE))


@main.command(short_help="Run suites of prompts and check the answers.", epilog="Documentation: docs/suites.md.")
@role_options
@click.option(
    "--model",
    metavar="MODEL",
    multiple=True,
    callback=checked_models,
    help="Ask another model of llm than the role's; repeatable: several stand side by side.",
)
@click.argument("role", type=click.Path(), required=False)
@click.option("suite", "-s", "--suite", multiple=True, required=True, type=click.Path(), help="A suite; repeatable.")
@click.option("-v", "--verbose", is_flag=True, help="Show what came of each assertion.")
@click.option("tag", "--tag", multiple=True, help="Only cases with this tag; repeatable, any of them will do.")
@click.option("text", "-k", metavar="TEXT", help="Only cases with this in their name, in upper or lower case.")
@click.option("--repeat", type=click.IntRange(1, MOST_REPETITIONS), metavar="N", help="Run each case N times.")
@click.option("--threshold", type=Finite(0, 1, min_open=True), metavar="SHARE", help="How many must pass, at most 1.")
@click.option("-j", "--jobs", type=click.IntRange(1, 1_000), default=1, metavar="N", help="How many cases at once.")
@click.option(
    "--retry",
    type=click.IntRange(0, MOST_RETRIES),
    default=0,
    metavar="N",
    help="Run a failed case up to N times more.",
)
@click.option(
    "--max-cost", type=Finite(min=0), metavar="DOLLARS", help="Start no further case once this much is spent."
)
@click.option(
    "--timeout", type=Finite(0, LONGEST, min_open=True), metavar="SECONDS", help="End a run of a case after so long."
)
@click.option("--judge", metavar="MODEL", help="The model that judges, whatever the suite says.")
@click.option(
    "--min-score", type=Finite(0, 1, min_open=True), metavar="SCORE", help="The least score of a suite, at most 1."
)
@click.option("--cassette", is_flag=True, help="Record what models answer beside the suites, and replay what was.")
@click.option(
    "--record",
    type=click.Choice(RECORD_MODES),
    help="With --cassette: what is asked. By default new_episodes, what is not recorded; none, as in CI, asks nothing.",
)
@click.option(
    "output",
    "-o",
    "--output",
    multiple=True,
    metavar="FILE",
    callback=checked_outputs,
    help="Write the results to a file that ends in .json, .xml (JUnit), .md or .html; repeatable.",
)
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show what changed against an earlier result (-o FILE.json), and fail only where something is worse.",
)
@files_in
def test(**options: Any) -> None:
    """Run suites of prompts against the agent of a role file, or against the target that they name.

    \b
      llm-mock test role.yaml -s suites/greeting.yaml --dry-run
      llm-mock test -s suites/application.yaml --dry-run
      llm-mock test role.yaml -s greeting.yaml -s refunds.yaml -j 4 -o results.html
      llm-mock test role.yaml -s greeting.yaml --model gpt-5-mini --model gpt-5
      llm-mock test role.yaml -s greeting.yaml --cassette

    Needs pip install 'pytest-llm-mock[suites]'.

    Exit codes: 0, all cases passed; with --baseline, none broke and no new one failed. 1, one failed or was not run,
    or a file is wrong. 2, wrong usage. 130, Ctrl-C.
    """
    if options["cassette"] and options["dry_run"]:
        raise click.UsageError("--cassette records a real run, and --dry-run asks no model: give one of them.")
    if options["record"] and not options["cassette"]:
        raise click.UsageError("--record says what --cassette asks: give that, too.")
    with errors_told():
        from llm_mock.commands.test import Options, run_suites

        exit_code = run_suites(Options(**options))
    raise SystemExit(exit_code)


@main.command(epilog="Documentation: docs/suites.md.")
@role_options
@click.option(
    "--model", metavar="MODEL", multiple=True, callback=one_model, help="Ask another model of llm than the role's."
)
@click.argument("role", type=click.Path())
@click.option("-p", "--prompt", metavar="PROMPT", help="What is said to the agent; by default standard input.")
@click.option("-i", "--interactive", is_flag=True, help="Ask on at a prompt, until Ctrl-D, exit or quit.")
@click.option("--resume", is_flag=True, help="Go on with the last conversation of this role that llm logged.")
@click.option("--no-audit", is_flag=True, help="Do not log in llm's own log (llm logs).")
@click.option("-v", "--verbose", is_flag=True, help="Show the tool calls, on standard error.")
def run(**options: Any) -> None:
    """Run the agent of a role file and print its answer.

    \b
      llm-mock run role.yaml -p "When are you open?"
      llm-mock run role.yaml -i --model gpt-5-mini

    Needs pip install 'pytest-llm-mock[suites]'.

    What is said and answered is logged where llm logs: llm logs shows it, llm logs off ends it.
    """
    with errors_told():
        from llm_mock.commands.run import run_agent

        succeeded = run_agent(**options)
    raise SystemExit(0 if succeeded else 1)


@main.command(short_help="Print the JSON Schema of a kind of file.", epilog="Documentation: docs/suites.md.")
@click.argument("kind", type=click.Choice(["suite", "spec"]))
def schema(kind: str) -> None:
    """Print the JSON Schema of suite files, or of plain-language tests, for editors.

    \b
      llm-mock schema suite > suite.schema.json
    """
    import json

    from llm_mock.commands.validate import format_of

    click.echo(json.dumps(format_of(kind), indent=2, ensure_ascii=False))


@main.command(
    short_help="Check suites, roles and plain-language tests.",
    epilog="Documentation: docs/suites.md and docs/plain-language.md.",
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE...")
@files_in
def validate(files: tuple[Path, ...], files_in: Path | None) -> None:
    """Check suites, roles and plain-language tests without running them.

    \b
      llm-mock validate role.yaml suites/*.yaml

    The tools of plain-language tests are started with the plugins of their project, and none is called.

    Exit codes: 0, all are right. 1, one is wrong.
    """
    from llm_mock.commands.validate import validated

    wrong = False
    for path in files:
        try:
            click.echo(redacted(f"{path}: {validated(path, files_in)}"))
        except LLMMockError as error:
            wrong = True
            tell("Error", str(error))
    raise SystemExit(int(wrong))


@main.command(short_help="Answer SDKs of any language as a script says.", epilog="Documentation: docs/server.md.")
@click.argument("script", required=False)
@click.option("--host", help="Where to listen; by default 127.0.0.1, and only for requests whose Host is this machine.")
@click.option("--port", type=click.IntRange(0, 65_535), default=0, metavar="N", help="By default one that is free.")
@click.option(
    "--keep",
    type=click.IntRange(0),
    default=1_000,
    show_default=True,
    metavar="N",
    help="How many calls to keep in memory, the last ones; the others are counted.",
)
@click.option("--strict", is_flag=True, help="Refuse calls that no reply is scripted for.")
@click.option(
    "--record",
    type=click.Path(path_type=Path),
    metavar="CASSETTE",
    help="Ask the provider, with the client's key, what neither the script nor this cassette answers, and record it.",
)
def serve(script: str | None, host: str | None, port: int, keep: int, strict: bool, record: Path | None) -> None:
    """Answer OpenAI's, Anthropic's, Google's and Mistral's SDKs in any language as SCRIPT says, until Ctrl-C.

    \b
      llm-mock serve replies.yaml --port 8080

    SCRIPT is a YAML file of replies, or package.module:function, which is called with what configures the mock.
    Nothing checks who asks, so listen where only you can connect.
    """
    with errors_told():
        from llm_mock.commands.serve import serve as serve_script

        if strict and record is not None:
            raise click.UsageError("--strict refuses the calls that --record asks the provider: give one of them.")
        serve_script(script, host, port, strict, record, keep)


@main.command(
    short_help="Let a coding agent check and run tests, by MCP.", epilog="Documentation: docs/plain-language.md."
)
def mcp() -> None:
    """Serve MCP on stdio, in the folder of a project: an agent checks and runs its suites and plain-language tests.

    \b
      llm-mock mcp
      claude mcp add llm-mock -- llm-mock mcp
    """
    with errors_told():
        from llm_mock.commands.mcp_server import serve as serve_agent

        serve_agent()


@main.command(
    "import",
    short_help="Take over a file of promptfoo's or VCR's.",
    epilog="Documentation: docs/suites.md and docs/cassettes.md.",
)
@click.argument("source", type=click.Path(path_type=Path), metavar="FILE")
@click.option(
    "output", "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", help="The suite or cassette to write."
)
@click.option("hosts", "--host", multiple=True, metavar="HOST", help="VCR: a further host of a provider; repeatable.")
def import_file(source: Path, output: Path | None, hosts: tuple[str, ...]) -> None:
    """Make a suite of a configuration of promptfoo's, or a cassette of one that VCR or pytest-recording made.

    \b
      llm-mock import promptfooconfig.yaml
      llm-mock import tests/cassettes/test_greeting/test_hello.yaml

    It says line by line what has no counterpart. By default it writes beside FILE: promptfooconfig.suite.yaml and the
    role that it asks, or test_hello.llm.yaml, where its test finds it. No key gets into a cassette.
    """
    with errors_told():
        from llm_mock.commands.import_file import import_any

        import_any(source, output, hosts)


@main.command(short_help="Print the settings of pytest that we recommend.", epilog="Documentation: docs/reference.md.")
@click.option("--ini", is_flag=True, help="For pytest.ini, tox.ini or setup.cfg (there below [tool:pytest]).")
def config(ini: bool) -> None:
    """Print the settings of pytest that we recommend, for pyproject.toml.

    \b
      llm-mock config >> pyproject.toml
    """
    from llm_mock.commands.config import recommended

    click.echo(recommended(ini))


@main.command(short_help="Rewrite tests that mock llm by hand.", epilog="Documentation: docs/migration.md.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATHS")
@click.option("--check", is_flag=True, help="Only say what is to do; exit code 1 where something is.")
@click.option("--write", is_flag=True, help="Write the files, in place of showing what would change.")
@click.option("--learn", is_flag=True, help="Run the old tests once, to see which models they ask for.")
def migrate(paths: tuple[Path, ...], check: bool, write: bool, learn: bool) -> None:
    """Rewrite tests that mock llm by hand (unittest.mock, monkeypatch, pytest-mock) to tests with llm_mock.

    \b
      llm-mock migrate tests                    shows what would change
      llm-mock migrate --learn --write tests    runs the tests once for the ids of models, and rewrites them

    What it is sure of is rewritten; what it is not is printed: where, why, and what to write instead.

    Exit codes: 0. 1, a file is wrong, or with --check there is something to do. 2, wrong usage.
    """
    if check and write:
        raise click.UsageError("--check writes nothing: give --check or --write.")
    with errors_told():
        from llm_mock.commands.migrate import migrate as migrate_paths

        exit_code = migrate_paths(paths, check=check, write=write, learning=learn)
    raise SystemExit(exit_code)


@main.command(short_help="List what models do wrong.", epilog="Documentation: docs/misbehaviour.md.")
def misbehaviours() -> None:
    """List what models do wrong, for @pytest.mark.llm_mock_misbehaviour: name and description.

    \b
      llm-mock misbehaviours
    """
    from llm_mock.behaviour.catalogue import CATALOGUE

    width = max(map(len, CATALOGUE))
    for kind in CATALOGUE.values():
        click.echo(f"{kind.name:{width}}  {kind.description}")
