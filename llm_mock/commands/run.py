"""The command `llm-mock run`: runs the agent of a role, once or in a conversation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from llm_mock.commands.parts import errors_told, prepared_role, role_options, tell

if TYPE_CHECKING:
    from llm_mock.agents.result import AgentResult
    from llm_mock.suites.role import Role

ENDS = ("exit", "quit")


@click.command("run")
@role_options
@click.option("-p", "--prompt", metavar="PROMPT", help="What is said to the agent; by default standard input.")
@click.option("-i", "--interactive", is_flag=True, help="Ask on at a prompt, until Ctrl-D, exit or quit.")
@click.option("--resume", is_flag=True, help="Go on with the last conversation of this role that llm logged.")
@click.option("--no-audit", is_flag=True, help="Do not log in llm's own log (llm logs).")
@click.option("-v", "--verbose", is_flag=True, help="Show the tool calls, on standard error.")
def run(
    role: str,
    model: str | None,
    dry_run: bool,
    no_color: bool,
    prompt: str | None,
    interactive: bool,
    resume: bool,
    no_audit: bool,
    verbose: bool,
) -> None:
    """Run the agent of a role file and print its answer.

    What is said and answered is logged where llm logs: llm logs shows it, llm logs off ends it.
    """
    if prompt is None and not interactive:
        prompt = _from_standard_input()
    with errors_told():
        loaded = prepared_role(role, model, dry_run)
        chat = _Chat(loaded, dry_run, resume, log=not no_audit, verbose=verbose, color=not no_color)
        succeeded = [chat.say(text) for text in _prompts(prompt, interactive)]
    raise SystemExit(0 if all(succeeded) else 1)


def _from_standard_input() -> str:
    text = "" if sys.stdin.isatty() else sys.stdin.read()
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
    """A conversation with the agent of a role.

    Args:
        role: the role.
        dry_run: whether the model is simulated.
        resume: whether the last logged conversation goes on.
        log: whether what is said is logged, where the user lets `llm` log at all.
        verbose: whether tool calls are shown.
        color: whether they may be dimmed.

    Raises:
        InvalidSession: there is no conversation to go on with.
    """

    def __init__(self, role: Role, dry_run: bool, resume: bool, log: bool, verbose: bool, color: bool) -> None:
        from llm_mock.agents.session import AgentSession
        from llm_mock.boundaries.llm import boundary

        self._role = role
        self._dry_run = dry_run
        self._session = AgentSession(role.agent, _last_conversation(role, self._model()) if resume else None)
        self._log = log and boundary.is_logging()
        self._verbose = verbose
        self._color = color

    def _model(self) -> Any:
        import llm

        from llm_mock.suites.dry_run import dry_run_model

        return dry_run_model(self._role.agent) if self._dry_run else llm.get_model(self._role.agent.asks.model)

    def say(self, prompt: str) -> bool:
        """Run the agent, and print its answer. Returns whether it came to an end."""
        result = self._answer(prompt)
        if result is None:
            return False
        if self._verbose:
            self._show_calls(result)
        if not result.success:
            tell("Error", result.error or "")
            return False
        _print(result.final_response)
        return True

    def _answer(self, prompt: str) -> AgentResult | None:
        """The result; None where the agent could not be asked."""
        import llm

        from llm_mock.agents.run import aitest_run_sync

        known = {id(response) for response in self._session.responses}
        try:
            result = aitest_run_sync(self._session, prompt, model_override=self._model())
        except (llm.NeedsKeyException, llm.UnknownModelError) as error:
            tell("Error", str(error.args[0] if error.args else error))
            return None
        self._log_new([response for response in self._session.responses if id(response) not in known])
        return result

    def _log_new(self, responses: list[Any]) -> None:
        from llm_mock.boundaries.llm import boundary

        if not self._log or not responses:
            return
        try:
            boundary.log(responses, _logged_name(self._role))
        except Exception as error:  # whatever the database is: the answer is there, and is shown
            self._log = False
            advice = "Leave the log out with --no-audit."
            tell("Warning", f"The answer could not be logged in {boundary.log_path()}: {error}. {advice}")

    def _show_calls(self, result: AgentResult) -> None:
        for call in result.all_tool_calls:
            click.secho(str(call), err=True, dim=True, color=None if self._color else False)


def _logged_name(role: Role) -> str:
    """What the conversations of a role are called in the log."""
    return f"llm-mock run {role.name}"


def _last_conversation(role: Role, model: Any) -> Any:
    from llm_mock.boundaries.llm import boundary
    from llm_mock.errors import InvalidSession
    from llm_mock.support.text import shorten_name

    name = shorten_name(role.name)
    try:
        conversation = boundary.logged_conversation(_logged_name(role), model)
    except Exception as error:  # such as a file that is no database, or what another version wrote
        problem = f"{type(error).__name__}: {error}"
        raise InvalidSession(f"The last conversation of {name} cannot be continued: {problem}") from None
    if conversation is None:
        raise InvalidSession(
            f"There is no logged conversation of {name} in {boundary.log_path()}. Run it once without --resume, and "
            "without --no-audit. `llm logs status` tells whether llm logs."
        )
    return conversation


def _print(answer: str) -> None:
    """Print an answer: in a pipe as it is, on a terminal so that nothing in it acts on that."""
    from llm_mock.support.text import escaped

    if sys.stdout.isatty():
        answer = "\n".join(escaped(line.expandtabs(8)) for line in answer.splitlines())
    encoding = sys.stdout.encoding or "utf-8"
    click.echo(answer.encode(encoding, "backslashreplace").decode(encoding), color=True)
