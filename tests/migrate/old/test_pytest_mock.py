import reviews
from reviews import chat, streamed, summarize, tokens


def test_a_text(mocker):
    get_model = mocker.patch("reviews.get_model")
    get_model.return_value.prompt.return_value.text.return_value = "Short"
    assert summarize("a long text") == "Short"
    get_model.return_value.prompt.assert_called_once()


def test_an_object(mocker):
    model = mocker.Mock()
    model.prompt.return_value.text.return_value = "Short"
    mocker.patch.object(reviews, "get_model", return_value=model)
    assert summarize("a long text") == "Short"
    assert model.prompt.call_args.args[0] == "Summarize: a long text"


def test_a_magic_mock(mocker):
    response = mocker.MagicMock()
    response.text.return_value = "Short"
    mocker.patch(
        "reviews.get_model",
        return_value=mocker.MagicMock(prompt=mocker.MagicMock(return_value=response)),
    )
    assert summarize("a long text") == "Short"


def test_a_stream(mocker):
    get_model = mocker.patch("reviews.get_model")
    get_model.return_value.prompt.return_value.__iter__.return_value = iter(["Hel", "lo"])
    assert streamed("a text") == ["Hel", "lo"]


def test_a_stream_in_place_of_a_response(mocker):
    get_model = mocker.patch("reviews.get_model")
    get_model.return_value.prompt.return_value = ["Hel", "lo"]
    assert streamed("a text") == ["Hel", "lo"]


def test_a_stream_by_a_lambda(mocker):
    get_model = mocker.patch("reviews.get_model")
    get_model.return_value.prompt.return_value.__iter__ = lambda self: iter(["Hel", "lo"])
    assert "".join(streamed("a text")) == "Hello"


def test_a_conversation(mocker):
    get_model = mocker.patch("reviews.get_model")
    get_model.return_value.conversation.return_value.prompt.return_value.text.return_value = (
        "I see."
    )
    assert chat("Hello", "And?") == ["I see.", "I see."]


def test_a_conversation_with_replies(mocker):
    get_model = mocker.patch("reviews.get_model")
    conversation = get_model.return_value.conversation.return_value
    first = mocker.Mock(**{"text.return_value": "First"})
    second = mocker.Mock(**{"text.return_value": "Second"})
    conversation.prompt.side_effect = [first, second]
    assert chat("Hello", "And?") == ["First", "Second"]
    assert conversation.prompt.call_count == 2


def test_usage(mocker):
    get_model = mocker.patch("reviews.get_model")
    response = get_model.return_value.prompt.return_value
    response.text.return_value = "Short"
    response.usage.return_value = mocker.Mock(input=10, output=5)
    assert tokens("a text") == 15


def test_beside_another_patch(mocker):
    mocker.patch("reviews.as_json", return_value="{}")
    get_model = mocker.patch("reviews.get_model")
    get_model.return_value.prompt.return_value.text.return_value = "Short"
    assert summarize(reviews.as_json(1)) == "Short"
