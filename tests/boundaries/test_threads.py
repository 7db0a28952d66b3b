"""Other libraries may patch the threads that the mock tracks."""

from __future__ import annotations

import threading

import pytest

from llm_mock.boundaries import threads


def test_threads_start_after_the_tracking_through_the_patch_of_another_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)  # restored at the end
    monkeypatch.setattr(threads._State, "undo", None)  # as before a run
    stop = threads.follow_threads()
    tracked = threading.Thread.start
    started = []

    def start(thread: threading.Thread) -> None:
        started.append(thread)
        tracked(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    stop()
    done = threading.Event()
    thread = threading.Thread(target=done.set)
    thread.start()
    thread.join()
    assert started == [thread]
    assert done.is_set()
