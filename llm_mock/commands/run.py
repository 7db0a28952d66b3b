"""What `llm-mock run` does: it runs the agent of a role, once or in a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click
import llm

from llm_mock.agents.run import aitest_run_sync
from llm_mock.agents.session import AgentSession
from llm_mock.boundaries.llm.log import is_logging, log_path, log_responses, logged_conversation
from llm_mock.commands.errors import tell
from llm_mock.commands.role import prepared_role
from llm_mock.errors import InvalidSession
from llm_mock.suites.case import create_dry_run_model
from llm_mock.suites.dry_run_hosts import refuse_remote_servers
from llm_mock.suites.role import Role
from llm_mock.support.text import escaped, shorten_name

ENDS = ("exit", "quit")


def run_agent(
    role: str, prompt: str | None, *, interactive: bool, model: str | None, dry_run: bool, **settings: bool
) -> bool:
    """Run the agent of a role file and print its answers; whether all its runs came to an end."""
    if prompt is None and not interactive:
        prompt = _from_standard_input()
    chat = _Chat(prepared_role(role, model, dry_run), dry_run, **settings)
    succeeded = [chat.say(text) for text in _prompts(prompt, interactive)]
    return all(succeeded)


def _from_standard_input() -> str:
    try:
        text = "" if sys.stdin.isatty() else sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"Standard input cannot be read: {error}.") from None
    if not text.strip():
        raise click.UsageError("Give a prompt with -p PROMPT, by standard input, or with -i at the keyboard.")
    return text


def _prompts(first: str | None, interactive: bool) -> Iterator[str]:
    """What the user says, one after the other."""
    if first is not None:
        yield first
    while interactive:
        try:
            text = input("> " if sys.stdin.isatty() else "").strip()
        except EOFError:
            if sys.stdin.isatty():
                click.echo()
            return
        if text.lower() in ENDS:
            return
        if text:
            yield text


class _Chat:
    """A conversation with the agent of a role."""

    def __init__(self, role: Role, dry_run: bool, resume: bool, no_audit: bool, verbose: bool, no_color: bool) -> None:
        self._agent = role.agent
        self._dry_run = dry_run
        self._name = f"llm-mock run {role.name}"
        """What the conversations of the role are called in the log."""
        self._session = AgentSession(role.agent, self._last_conversation(role.name) if resume else None)
        self._log = not no_audit and is_logging()
        self._verbose = verbose
        self._color = False if no_color else None

    def _model(self) -> Any:
        return create_dry_run_model(self._agent) if self._dry_run else llm.get_model(self._agent.asks.model)

    def _last_conversation(self, role: str) -> Any:
        name = shorten_name(role)
        try:
            conversation = logged_conversation(self._name, self._model())
        except Exception as error:  # such as a file that is no database, or what another version wrote
            problem = f"{type(error).__name__}: {error}"
            raise InvalidSession(f"The last conversation of {name} cannot be continued: {problem}") from None
        if conversation is None:
            raise InvalidSession(
                f"There is no logged conversation of {name} in {log_path()}. Run it once without --resume, and "
                "without --no-audit. `llm logs status` tells whether llm logs."
            )
        return conversation

    def say(self, prompt: str) -> bool:
        """Run the agent, and print its answer; whether it came to an end."""
        known = len(self._session.responses)
        try:
            if self._dry_run:
                refuse_remote_servers(self._agent.servers)
            result = aitest_run_sync(self._session, prompt, model_override=self._model())
        except (llm.NeedsKeyException, llm.UnknownModelError) as error:
            tell("Error", str(error.args[0] if error.args else error))
            return False
        self._log_new(self._session.responses[known:])
        for call in result.all_tool_calls if self._verbose else ():
            click.secho(str(call), err=True, dim=True, color=self._color)
        if not result.success:
            tell("Error", result.error or "")
            return False
        _print(result.final_response)
        return True

    def _log_new(self, responses: list[Any]) -> None:
        if not self._log or not responses:
            return
        try:
            log_responses(responses, self._name)
        except Exception as error:  # whatever the database is: the answer is there, and is shown
            self._log = False
            advice = "Leave the log out with --no-audit."
            tell("Warning", f"The answer could not be logged in {log_path()}: {error}. {advice}")


def _print(answer: str) -> None:
    """Print an answer: in a pipe as it is, on a terminal so that nothing in it acts on that."""
    if sys.stdout.isatty():
        answer = "\n".join(escaped(line.expandtabs(8)) for line in answer.splitlines())
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(answer.encode(encoding, "backslashreplace").decode(encoding), color=True)
