"""Markers that are written wrong: each mistake fails its test, and nothing else."""

from __future__ import annotations

import pytest

MISTAKES = (
    ("llm_live('slow')", "It takes no arguments. Write @pytest.mark.llm_live"),
    (
        "llm_mock_strict(levl='off')",
        "It has no parameter levl; did you mean 'level'? "
        "Write @pytest.mark.llm_mock_strict(level='off')",
    ),
    ("llm_mock_strict(level='no')", "Unknown level 'no'. It must be off, warn or error. Write *"),
    ("llm_mock_strict(True)", "Unknown level True. It must be off, warn or error. Write *"),
    ("llm_mock_strict('off', level='off')", "It got level twice. Write *"),
    (
        "llm_mock_budget()",
        "It must limit the cost, the tokens or both. "
        "Write @pytest.mark.llm_mock_budget(cost=0.01, tokens=5000)",
    ),
    ("llm_mock_budget(0.01)", "It takes no positional arguments. Write *"),
    ("llm_mock_budget(token=10)", "It has no parameter token; did you mean 'tokens'? Write *"),
    ("llm_mock_budget(cost=-1)", "Invalid amount of US dollars: -1, *"),
    ("llm_mock_budget(tokens=1.5)", "Invalid number of tokens: 1.5, *"),
    (
        "llm_mock_cassette(mode='once')",
        "It has no parameter mode; did you mean 'record'? "
        "Write @pytest.mark.llm_mock_cassette(record='once')",
    ),
    (
        "llm_mock_cassette('capitals', mode='once')",
        "It has no parameter mode; did you mean 'record'? "
        "Write @pytest.mark.llm_mock_cassette('capitals', record='once')",
    ),
    (
        "llm_mock_cassette('capitals', mode='on')",
        "* Write @pytest.mark.llm_mock_cassette('capitals', record='once')",
    ),
    (
        "llm_mock_cassette('capitals', zzz=1)",
        "It has no parameter zzz. Write @pytest.mark.llm_mock_cassette('capitals', record='once')",
    ),
    (
        "llm_mock_cassette(zzz=1)",
        "It has no parameter zzz. Write @pytest.mark.llm_mock_cassette('greeting', record='once')",
    ),
    (
        "llm_mock_cassette('a', 'all')",
        "It takes one positional argument. Write @pytest.mark.llm_mock_cassette('a', record='all')",
    ),
    (
        "llm_mock_cassette('a', name='b')",
        "It got name twice. Write @pytest.mark.llm_mock_cassette('a')",
    ),
    (
        "llm_mock_repeat(5, pass_rate=0.8)",
        "It has no parameter pass_rate; did you mean 'threshold'? "
        "Write @pytest.mark.llm_mock_repeat(5, threshold=0.8)",
    ),
    (
        "llm_mock_repeat(5, pass_rate=-8)",
        "* Write @pytest.mark.llm_mock_repeat(5, threshold=0.8)",
    ),
    (
        "llm_mock_misbehaviour('fenced_json')",
        "Unknown misbehaviour 'fenced_json'. Did you mean 'fenced-json'? *",
    ),
    ("llm_mock_misbehaviour(['refusal'])", "Unknown misbehaviour *. Did you mean 'refusal'? *"),
    (
        "llm_mock_misbehaviour('refusal', time=1)",
        "It has no parameter time; did you mean 'times'? Write *",
    ),
    (
        "llm_mock_misbehaviour(times=0)",
        "times is 0; it must be a whole number of calls from 1. Omit it to change every call. *",
    ),
    (
        "llm_mock_misbehaviour('refusal', times='3')",
        "times is '3'; * Write @pytest.mark.llm_mock_misbehaviour('refusal', times=3)",
    ),
    (
        "llm_mock_misbehaviour(['refusal', 'brokn-stream'])",
        "* Write @pytest.mark.llm_mock_misbehaviour('refusal', 'broken-stream')",
    ),
    (
        "llm_mock_misbehaviour('refusal', 'zzz')",
        "Unknown misbehaviour 'zzz'. The command * Write *('rate-limit', *",
    ),
    (
        "llm_mock_strict('WARM')",
        "Unknown level 'WARM'. * Write @pytest.mark.llm_mock_strict('warn')",
    ),
    ("llm_mock_strict(False)", "Unknown level False. * Write @pytest.mark.llm_mock_strict('off')"),
    ("llm_mock_strict(level='x')", "* Write @pytest.mark.llm_mock_strict('error')"),
    (
        "llm_mock_repeat('3', threshold='0.8')",
        "times is '3'; it must be * Write @pytest.mark.llm_mock_repeat(3, threshold=0.8)",
    ),
    (
        "llm_mock_repeat(3.0, threshold=75)",
        "times is 3.0; it must be * Write @pytest.mark.llm_mock_repeat(3, threshold=0.75)",
    ),
    (
        "llm_mock_repeat(2, threshold=1.5)",
        "threshold is 1.5; it must be * Write @pytest.mark.llm_mock_repeat(5, threshold=0.8)",
    ),
    (
        "llm_mock_repeat([3])",
        "times is [3]; it must be * Write @pytest.mark.llm_mock_repeat(5, threshold=0.8)",
    ),
    (
        "llm_mock_repeat('many')",
        "times is 'many'; it must be * Write @pytest.mark.llm_mock_repeat(5, threshold=0.8)",
    ),
    (
        "llm_mock_cassette(record='onec')",
        "Unknown record mode 'onec'; did you mean 'once'? It must be one of none, once, "
        "new_episodes, all, rewrite. Write @pytest.mark.llm_mock_cassette(record='once')",
    ),
    (
        "llm_mock_cassette('a', record=7)",
        "Unknown record mode 7. * Write @pytest.mark.llm_mock_cassette('a', record='once')",
    ),
    (
        "llm_mock_cassette('../a')",
        "'../a' is not a relative path below the folder `cassettes` beside the test. "
        "Write @pytest.mark.llm_mock_cassette('greeting', record='once')",
    ),
)


@pytest.mark.parametrize("arguments", [(), ("-n1",)], ids=["here", "xdist"])
def test_each_mistake_fails_its_test_alone(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    tests = [
        f"@pytest.mark.{marker}\ndef test_{number}(): ...\n"
        for number, (marker, _) in enumerate(MISTAKES)
    ]
    pytester.makepyfile("\n".join(["import pytest", *tests, "def test_right(): ..."]))
    result = pytester.runpytest("--strict-markers", "-Werror", "-p", "no:randomly", *arguments)
    result.assert_outcomes(errors=len(MISTAKES), passed=1)
    for marker, message in MISTAKES:
        expected = f"@pytest.mark.{marker}: {message}*.py:*)".replace("[", "[[]")
        result.stdout.fnmatch_lines([expected])


def test_an_unknown_marker_of_our_prefix_fails_its_test_and_names_the_right_one(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nmarkers =\n    llm_mock_ours(x): of the project\n    llm_mocked")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.llm_mock_misbehavior("refusal")
        def test_american(): ...

        @pytest.mark.llm_mock_record
        class TestUnknown:
            @pytest.mark.llm_mock_strict(level=1)
            def test_two_mistakes(self): ...

        @pytest.mark.llm_mock_ours(1)
        @pytest.mark.llm_mocked
        @pytest.mark.llm_other
        def test_of_the_project(): ...
        """
    )
    result = pytester.runpytest("-p", "no:randomly", "-Wignore")
    result.assert_outcomes(errors=2, passed=1)
    result.stdout.fnmatch_lines(
        [
            "Unknown marker llm_mock_misbehavior; did you mean 'llm_mock_misbehaviour'?  (*.py:3)",
            "@pytest.mark.llm_mock_strict(level=1): Unknown level 1. It must be off, warn *",
            "Unknown marker llm_mock_record; known are llm_mock_strict, *  (*.py:8)",
        ]
    )


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        ("'strict'", "llm_mock_strict(level='error')"),
        ("strict='eror'", "llm_mock_strict(level='error')"),
        ("strict=True", "llm_mock_strict(level='error')"),
        ("misbehavior='brokn-stream'", "llm_mock_misbehaviour('broken-stream')"),
        ("misbehaviour=['refusal']", "llm_mock_misbehaviour('refusal')"),
        ("repeat='3'", "llm_mock_repeat(times=3)"),
        ("record='onec'", "llm_mock_cassette(record='once')"),
        (
            "strict='warn', cost=0.1, tokens=9",
            "llm_mock_strict(level='warn') and @pytest.mark.llm_mock_budget(cost=0.1, tokens=9)",
        ),
        ("cassette=True", "llm_mock_cassette('greeting', record='once')"),
    ],
)
def test_a_marker_for_all_settings_is_answered_with_those_that_exist(
    arguments: str, meant: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.llm_mock({arguments})\ndef test_it(): ...")
    result = pytester.runpytest("-Wignore")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "Unknown marker llm_mock. Each setting has its own marker. Write "
            f"@pytest.mark.{meant}  (*.py:2)"
        ]
    )


@pytest.mark.parametrize("arguments", ["", "'gpt-4o'", "'on'", "strict='warn', model='gpt-4o'"])
def test_a_marker_of_unclear_meaning_is_answered_with_all_markers(
    arguments: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.llm_mock({arguments})\ndef test_it(): ...")
    result = pytester.runpytest("-Wignore")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["Unknown marker llm_mock. Markers cannot configure replies: * Markers: llm_live, *"]
    )
    result.stdout.no_fnmatch_line("*of its own*")
