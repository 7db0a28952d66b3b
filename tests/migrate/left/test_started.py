"""Patches that a test starts itself, and whose meaning is uncertain."""

from unittest.mock import patch

from reviews import summarize


def test_a_patch_that_is_never_started():
    patcher = patch("reviews.get_model")
    assert patcher is not None


def test_a_patch_without_a_start():
    patch("reviews.get_model")
    assert summarize("a long text")


def test_a_call_after_the_end():
    patcher = patch("reviews.get_model")
    get_model = patcher.start()
    get_model.return_value.prompt.return_value.text.return_value = "Short"
    patcher.stop()
    assert summarize("a long text") == "Short"


def test_a_call_after_the_end_of_something_else(timer):
    patcher = patch("reviews.get_model")
    get_model = patcher.start()
    get_model.return_value.prompt.return_value.text.return_value = "Short"
    patcher.stop()
    timer.stop()
    assert summarize("a long text") == "Short"


def test_an_end_in_any_case():
    patcher = patch("reviews.get_model")
    get_model = patcher.start()
    get_model.return_value.prompt.return_value.text.return_value = "Short"
    try:
        assert summarize("a long text") == "Short"
    finally:
        patcher.stop()


def test_a_start_under_a_condition(is_patched):
    patcher = patch("reviews.get_model")
    if is_patched:
        patcher.start()
    assert summarize("a long text")


def test_a_list_of_patches():
    patcher = patch("reviews.get_model")
    patcher.start()
    patchers = [patcher]
    assert summarize("a long text")
    patchers[0].stop()


def test_no_end():
    get_model = patch("reviews.get_model").start()
    get_model.return_value.prompt.return_value.text.return_value = "Short"
    assert summarize("a long text") == "Short"


def test_two_names():
    first = second = patch("reviews.get_model")
    first.start()
    assert summarize("a long text")
    second.stop()
