"""Bytecode of the package that notes which of its blocks run.

The calls that note a block are in the bytecode alone, so that sources, lines and tracebacks stay as
they are. Coverage would trace each call of each library, which doubles the time of the tests.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Iterator
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path

import mutation_hits
from _pytest.assertion.rewrite import PYC_TAIL

LOAD_HITS = f"""\
if not hasattr(__import__("builtins"), "note_block"):
    __hits__ = __import__("types").ModuleType("mutation_hits")
    __hits__.__file__ = {mutation_hits.__file__!r}
    # Registered, so that the pytest plugin imports this one.
    __import__("sys").modules["mutation_hits"] = __hits__
    exec(compile(open(__hits__.__file__).read(), "mutation_hits", "exec"), vars(__hits__))
__note_block__ = __import__("builtins").note_block
"""
"""What each module runs first. At the end of a process, builtins are gone before modules."""
CHECKED_HASH = (3).to_bytes(4, "little")
"""The flags of bytecode with a hash of its source (PEP 552); pytest takes no other since 9.2."""


def write_bytecode(folder: Path) -> dict[str, dict[int, int]]:
    """Write bytecode that notes blocks for the files of a package, until they change.

    Returns:
        The blocks of the lines within functions, by the path from the folder of the package.
    """
    marker = BlockMarker()
    blocks: dict[str, dict[int, int]] = {}
    for path in sorted(folder.rglob("*.py")):
        source = path.read_bytes()
        module, lines = marker.mark(source)
        blocks[str(path.relative_to(folder.parent))] = lines
        code = compile(module, str(path), "exec", dont_inherit=True)
        head = MAGIC_NUMBER + CHECKED_HASH + source_hash(source)
        for file in bytecode_files(path):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(head + marshal.dumps(code))
    return blocks


def remove_bytecode(folder: Path) -> None:
    """Let Python compile the files of a package again."""
    for path in folder.rglob("*.py"):
        for file in bytecode_files(path):
            file.unlink(missing_ok=True)


def bytecode_files(path: Path) -> list[Path]:
    """Return the files in which Python and pytest, which rewrites assertions, keep bytecode."""
    file = Path(cache_from_source(str(path)))
    return [file, file.with_name(path.stem + PYC_TAIL)]


class BlockMarker:
    """Numbers the blocks of files, and adds a call to each.

    A block is a run of statements of a function that one condition guards.
    """

    def __init__(self) -> None:
        self.last = 0
        self.lines: dict[int, int] = {}

    def mark(self, source: bytes) -> tuple[ast.Module, dict[int, int]]:
        """Return the module of a source with its calls, and the block of each line."""
        self.lines = {}
        module = ast.parse(source)
        self.mark_functions(module)
        start = 0
        while start < len(module.body) and is_first(module.body[start]):
            start += 1
        module.body[start:start] = ast.parse(LOAD_HITS).body
        return module, self.lines

    def mark_functions(self, node: ast.AST) -> None:
        """Mark the functions within a module, a class or a statement outside of functions."""
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                child.body = self.mark_body(child.body)
            else:
                self.mark_functions(child)

    def mark_body(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return statements with a call before the first, and before the first after a body."""
        marked: list[ast.stmt] = []
        is_new = True
        for statement in body:
            if is_new and not is_first(statement):
                self.last += 1
                marked.append(make_call(self.last, statement))
                is_new = False
            lines = range(statement.lineno, (statement.end_lineno or 0) + 1)
            self.lines.update(dict.fromkeys(lines, self.last))
            for owner, name in find_bodies(statement):
                setattr(owner, name, self.mark_body(getattr(owner, name)))
                is_new = True
            marked.append(statement)
        return marked


def is_first(statement: ast.stmt) -> bool:
    """Return whether a statement has to stay the first: a docstring, or an import of it."""
    if isinstance(statement, ast.ImportFrom):
        return statement.module == "__future__"
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def find_bodies(statement: ast.stmt) -> Iterator[tuple[ast.AST, str]]:
    """Return the nodes and fields with the inner statements of one."""
    parts = [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]
    for owner in (statement, *parts):
        for name in ("body", "orelse", "finalbody"):
            if getattr(owner, name, None):
                yield owner, name


def make_call(block: int, statement: ast.stmt) -> ast.stmt:
    """Return the call that notes a block, on the line of its first statement."""
    call = ast.parse(f"__note_block__({block})").body[0]
    for node in ast.walk(call):
        ast.copy_location(node, statement)
    return call
