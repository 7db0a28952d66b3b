"""The command `llm-mock run`: run the agent of a role, once or in a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click
import llm

from llm_mock.agents.run import aitest_run_sync
from llm_mock.agents.session import AgentSession
from llm_mock.boundaries.dry_run_hosts import refuse_remote_servers
from llm_mock.boundaries.llm.log import (
    get_log_path,
    is_logging,
    load_logged_conversation,
    log_responses,
)
from llm_mock.commands.errors import print_message
from llm_mock.commands.role import prepare_role
from llm_mock.errors import InvalidSession
from llm_mock.suites.case import DryRunModel
from llm_mock.suites.role import Role
from llm_mock.support.text import escape_unprintable, shorten_name

EXIT_WORDS = ("exit", "quit")


def run_agent(
    role: str,
    prompt: str | None,
    *,
    interactive: bool,
    model: str | None,
    dry_run: bool,
    **settings: bool,
) -> bool:
    """Run the agent of a role file, print its answers, and return whether all runs succeeded.

    Args:
        role: the role file.
        prompt: the first prompt; None to read it from standard input.
        interactive: whether to ask for further prompts.
        model: the model to use instead of the role's.
        dry_run: whether to simulate the model.
        settings: the other options of the command: see `_Chat`.
    """
    if prompt is None and not interactive:
        prompt = _read_standard_input()
    chat = _Chat(prepare_role(role, model, dry_run), dry_run, **settings)
    has_succeeded = True
    for text in _read_prompts(prompt, interactive):
        # An error ends one run, not the conversation.
        has_succeeded = chat.run(text) and has_succeeded
    return has_succeeded


def _read_standard_input() -> str:
    try:
        if sys.stdin.isatty():
            text = ""
        else:
            text = sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"Standard input cannot be read: {error}.") from None
    if not text.strip():
        raise click.UsageError(
            "Missing prompt: pass -p PROMPT, use standard input, or pass -i to type prompts."
        )
    return text


def _read_prompts(first: str | None, interactive: bool) -> Iterator[str]:
    """Yield the user's prompts until the input ends or is one of `EXIT_WORDS`."""
    if first is not None:
        yield first
    while interactive:
        # Without a terminal, the "> " would be part of the output.
        is_terminal = sys.stdin.isatty()
        try:
            text = input("> " if is_terminal else "").strip()
        except EOFError:
            if is_terminal:
                click.echo()
            return
        if text.lower() in EXIT_WORDS:
            return
        if text:
            yield text


class _Chat:
    """A conversation with the agent of a role.

    Args:
        role: the role.
        dry_run: whether to simulate the model.
        resume: whether to continue the last conversation in the log of `llm`.
        no_audit: whether to write nothing to that log.
        verbose: whether to print the tool calls.
        no_color: whether to print them without colors.
    """

    def __init__(
        self,
        role: Role,
        dry_run: bool,
        resume: bool,
        no_audit: bool,
        verbose: bool,
        no_color: bool,
    ) -> None:
        self._agent = role.agent
        self._dry_run = dry_run
        # The name of the role's conversations in the log.
        self._log_name = f"llm-mock run {role.name}"
        if resume:
            conversation = self._load_conversation(role.name)
        else:
            conversation = None
        self._session = AgentSession(role.agent, conversation)
        self._is_logging = not no_audit and is_logging()
        self._verbose = verbose
        # None lets click decide by the terminal.
        self._color = False if no_color else None

    def _create_model(self) -> Any:
        if self._dry_run:
            return DryRunModel(self._agent.asks.model)
        return llm.get_model(self._agent.asks.model)

    def _load_conversation(self, role_name: str) -> Any:
        """Return the last logged conversation of the role.

        Raises:
            InvalidSession: there is none, or it cannot be read.
        """
        name = shorten_name(role_name)
        try:
            conversation = load_logged_conversation(self._log_name, self._create_model())
        except Exception as error:
            # For example, the file is not a database, or one of another version of `llm`.
            reason = f"{type(error).__name__}: {error}"
            problem = f"The last conversation of {name} cannot be continued"
            raise InvalidSession(f"{problem}: {reason}") from None
        if conversation is None:
            raise InvalidSession(
                f"No conversation of {name} is logged in {get_log_path()}. Run the command once "
                "without --resume and --no-audit. To see whether llm logs conversations, run "
                "`llm logs status`."
            )
        return conversation

    def run(self, prompt: str) -> bool:
        """Run the agent, print its answer, and return whether it succeeded."""
        logged = len(self._session.responses)
        try:
            if self._dry_run:
                refuse_remote_servers(self._agent.servers)
            result = aitest_run_sync(self._session, prompt, model_override=self._create_model())
        except (llm.NeedsKeyException, llm.UnknownModelError) as error:
            # Their text would be that of the tuple of arguments.
            if error.args:
                message = error.args[0]
            else:
                message = error
            print_message("Error", str(message))
            return False
        # Also those of a run that failed: they were paid for.
        self._log(self._session.responses[logged:])
        if self._verbose:
            for call in result.all_tool_calls:
                click.secho(str(call), err=True, dim=True, color=self._color)
        if not result.success:
            print_message("Error", result.error or "")
            return False
        _print_answer(result.final_response)
        return True

    def _log(self, responses: list[Any]) -> None:
        if not self._is_logging or not responses:
            return
        try:
            log_responses(responses, self._log_name)
        except Exception as error:
            # The answer is there and must be shown, whatever is wrong with the database.
            self._is_logging = False
            problem = f"The answer could not be logged in {get_log_path()}: {error}."
            print_message("Warning", f"{problem} To turn off the log, pass --no-audit.")


def _print_answer(answer: str) -> None:
    """Print an answer; on a terminal, without characters that control it."""
    if sys.stdout.isatty():
        lines = [escape_unprintable(line.expandtabs(8)) for line in answer.splitlines()]
        answer = "\n".join(lines)
    # An encoding such as ASCII must not end the run with an error.
    encoding = sys.stdout.encoding or "utf-8"
    printable = answer.encode(encoding, "backslashreplace").decode(encoding)
    # `color=True` keeps click from stripping what looks like a color.
    click.echo(printable, color=True)
