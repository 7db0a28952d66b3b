"""An MCP server over stdio without the SDK, which starts at once and misbehaves as its options say.

Run as `python raw_server.py MARKER [OPTION …]`: MARKER is a word by which tests find it in the
process table, and in all processes that it starts.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time

FOR_EVER = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
NO_ARGUMENTS = {"type": "object", "properties": {}}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = {
    "echo": TEXT,
    "about": NO_ARGUMENTS,
    "die": NO_ARGUMENTS,
    "hang": NO_ARGUMENTS,
    "refuse": NO_ARGUMENTS,
    "break_protocol": NO_ARGUMENTS,
    "end_after_answer": NO_ARGUMENTS,
    "close_stdin": NO_ARGUMENTS,
    "break_result": NO_ARGUMENTS,
    "image": NO_ARGUMENTS,
}


class Server:
    """Answers one request after the other."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options

    def serve(self) -> None:
        for line in sys.stdin:
            request = json.loads(line)
            if "id" in request:
                answer = self.answer(request["method"], request.get("params") or {})
                sys.stdout.write(
                    json.dumps({"jsonrpc": "2.0", "id": request["id"], **answer}) + "\n"
                )
                sys.stdout.flush()
                self.after(request)

    def after(self, request: dict) -> None:
        tool = request["method"] == "tools/call" and request["params"]["name"]
        if tool == "end_after_answer":
            sys.exit("I have had enough.")
        if tool == "close_stdin":
            os.close(0)
            time.sleep(600)

    def answer(self, method: str, params: dict) -> dict:
        if method == "initialize":
            if self.options.refuse_version:
                return {"error": {"code": -32602, "message": "I am too old for this."}}
            server = {"name": "raw", "version": "1"}
            version = params["protocolVersion"]
            return {
                "result": {
                    "protocolVersion": version,
                    "capabilities": {"tools": {}},
                    "serverInfo": server,
                }
            }
        if method == "tools/list":
            if self.options.refuse_list:
                return {"error": {"code": -32603, "message": "The list is out."}}
            return {"result": self.tools(params.get("cursor"))}
        if method == "tools/call":
            return self.call(params["name"], params.get("arguments") or {})
        return {"error": {"code": -32601, "message": "Method not found"}}

    def tools(self, cursor: str | None) -> dict:
        """One tool a page."""
        if self.options.hang_at_list:
            time.sleep(600)
        if self.options.die_at_list:
            sys.exit("no tools today")
        names = [*TOOLS, "echo"] if self.options.twice else list(TOOLS)
        position = int(cursor or 0)
        page = {"tools": [{"name": names[position], "inputSchema": TOOLS[names[position]]}]}
        more = self.options.endless or position + 1 < len(names)
        return {**page, "nextCursor": str((position + 1) % len(names))} if more else page

    def call(self, name: str, arguments: dict) -> dict:
        if name == "die":
            print("I am dying: disk full", file=sys.stderr, flush=True)
            os._exit(7)
        if name == "hang":
            print("I am stuck in a loop", file=sys.stderr, flush=True)
            time.sleep(600)
        if name == "break_protocol":
            return {"error": {"code": -32603, "message": "Internal error: no such table"}}
        if name == "break_result":
            return {"result": {"content": "no list"}}
        if name == "image":
            empty = {"type": "image", "data": "", "mimeType": "image/png"}
            return {"result": {"content": [empty]}}
        if name == "about":
            about = {
                "environment": dict(os.environ),
                "folder": os.getcwd(),
                "arguments": sys.argv[1:],
                "pid": os.getpid(),
            }
            return _text(json.dumps(about))
        return {
            "result": {**_text(arguments.get("text", "no"))["result"], "isError": name == "refuse"}
        }


def _text(text: str) -> dict:
    return {"result": {"content": [{"type": "text", "text": text}]}}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("marker")
    for flag in (
        "stubborn",
        "hang",
        "hang-at-list",
        "die-at-list",
        "refuse-list",
        "refuse-version",
        "endless",
        "twice",
        "child",
        "detached-child",
        "banner",
    ):
        parser.add_argument(f"--{flag}", action="store_true")
    parser.add_argument("--cleaned", help="the file to write after the end of stdin, slowly")
    parser.add_argument("--flood", type=int, default=0, help="bytes written to stderr at the start")
    options = parser.parse_args()
    if options.stubborn:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for detached in [False] * options.child + [True] * options.detached_child:
        child = [sys.executable, "-c", FOR_EVER, options.marker]
        subprocess.Popen(child, start_new_session=detached, stdin=subprocess.DEVNULL)
    for number in range(options.flood // 100):
        print(f"{number:099}", file=sys.stderr)
    if options.banner:
        print("Welcome to the raw server!", flush=True)
    if options.hang:
        print("waiting for the database", file=sys.stderr, flush=True)
        time.sleep(600)
    Server(options).serve()
    if options.cleaned:
        time.sleep(0.2)
        with open(options.cleaned, "w") as file:
            file.write("cleaned")
    while options.stubborn:
        time.sleep(600)


if __name__ == "__main__":
    main()
