"""The share of other projects' tests that `llm-mock migrate` rewrites, as a Markdown table.

```
python benchmarks/migration_table.py ~/checkouts/mem0 ~/checkouts/dspy
```

It is a dry run: no test runs and no file changes. The command may still refuse a test when it
verifies it.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llm_mock.errors import InvalidFile
from llm_mock.migrate.file import FileResult, rewrite_file

PATTERNS = ("test_*.py", "*_test.py", "conftest.py")
HEADER = ("repository", "tests that mock", "rewritten", "share", "most frequent reason")
REASON_LENGTH = 70


@dataclass
class Figures:
    """The tests of a repository that mock a model.

    Attributes:
        rewritten: the number of those that are rewritten.
        reasons: the reasons why the others are left, by the advice that they have in common.
    """

    rewritten: int = 0
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def add(self, result: FileResult) -> None:
        """Add the tests of a file; fixtures and helpers do not count."""
        self.rewritten += sum(map(is_test, result.changed))
        for change in result.manual_changes:
            if is_test(change.name):
                self.reasons[change.advice].append(change.reason)

    def format_row(self, name: str) -> str:
        """Return the row of the table."""
        left = sum(map(len, self.reasons.values()))
        total = self.rewritten + left
        share = f"{self.rewritten / total:.0%}" if total else ""
        return format_row(name, str(total), str(self.rewritten), share, self._format_reason())

    def _format_reason(self) -> str:
        if not self.reasons:
            return ""
        # Reasons name the code of a test, so the advice tells which are of one kind.
        group = max(self.reasons.values(), key=len)
        reason = Counter(group).most_common(1)[0][0]
        reason = " ".join(reason.split()).replace("|", "\\|")
        if len(reason) > REASON_LENGTH:
            reason = f"{reason[:REASON_LENGTH].rstrip()}…"
        return f"{len(group)}: {reason}"


def is_test(name: str) -> bool:
    """Return whether a function, with the class that it is in, is a test."""
    return name.rpartition("::")[2].startswith("test")


def format_row(*cells: str) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def find_test_files(checkout: Path) -> Iterator[Path]:
    """Yield the test files of a checkout, each once."""
    for pattern in PATTERNS:
        yield from sorted(checkout.rglob(pattern))


def measure(checkout: Path) -> Figures:
    """Rewrite the tests of a checkout in memory."""
    figures = Figures()
    for path in find_test_files(checkout.resolve()):
        try:
            result = rewrite_file(path, path.read_bytes(), lambda test, target: (), str)
        except InvalidFile as error:
            print(error, file=sys.stderr)
        else:
            figures.add(result)
    return figures


def main(arguments: Sequence[str]) -> int:
    """Print the table of the checkouts whose paths are given."""
    if not arguments:
        print("Which checkouts? python benchmarks/migration_table.py PATH…", file=sys.stderr)
        return 2
    print(format_row(*HEADER))
    print(format_row("---", "---:", "---:", "---:", "---"))
    for argument in arguments:
        checkout = Path(argument)
        print(measure(checkout).format_row(checkout.name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
