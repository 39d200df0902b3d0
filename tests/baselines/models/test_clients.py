"""Both SDKs against a server on this machine that speaks their wire formats, on good days and on bad ones."""

import json
import time

import pytest

from kgb_gym.baselines.models import (
    Endpoint,
    ModelClient,
    ModelRefused,
    ModelUnavailable,
    OutOfTime,
    RequestRejected,
    Retry,
    Sampling,
    connect,
    wire,
)
from kgb_gym.baselines.models.loopback import Answer, LoopbackServer, in_turn
from kgb_gym.envs.tokens import Usage, count

HELLO = [{"role": "user", "content": "Say hello."}]
PROVIDERS = ("openai", "anthropic")


@pytest.fixture
def serve():
    """`serve(*answers, **kwargs)`: a running server, closed at the end."""
    running = []

    def start(*answers, **kwargs):
        script = answers[0] if len(answers) == 1 and callable(answers[0]) else in_turn(*answers)
        running.append(LoopbackServer(script, **kwargs))
        return running[-1]

    yield start
    for server in running:
        server.close()


@pytest.fixture
def client():
    """`client(server, provider, **kwargs)`: a client that doesn't wait long, closed at the end."""
    made = []

    def make(server, provider="openai", **kwargs):
        url = server.url if provider == "openai" else server.root
        settings = {"model": "stand-in", "retry": Retry(tries=3, first_s=0.01), "timeout_s": 20.0, **kwargs}
        made.append(connect(Endpoint(provider=provider, base_url=url, **settings)))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_answer_with_its_usage(serve, client, provider):
    server = serve(Answer("Hello!", cached=3))
    reply = client(server, provider).complete(HELLO, Sampling(temperature=0.8, max_tokens=50, extra={"top_k": 7}))
    assert (reply.text, reply.usage_source, reply.model, reply.attempts) == ("Hello!", "reported", "stand-in", 1)
    assert reply.usage == Usage(count("Say hello."), count("Hello!"), 3)
    assert reply.finish_reason == {"openai": "stop", "anthropic": "end_turn"}[provider]
    body = server.requests[0].body
    assert (body["temperature"], body["max_tokens"], body["top_k"]) == (0.8, 50, 7)
    assert not body.get("stream"), "streaming is off"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_setting_that_is_none_is_not_sent(serve, client, provider):
    server = serve("ok")
    client(server, provider).complete(HELLO, Sampling(temperature=None))
    assert not {"temperature", "top_p", "seed"} & set(server.requests[0].body)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_truncated_answer_says_so(serve, client, provider):
    reply = client(serve(Answer("```python\nimport tri", finish_reason="length")), provider).complete(HELLO, Sampling())
    assert reply.finish_reason == {"openai": "length", "anthropic": "max_tokens"}[provider]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_missing_usage_is_counted_and_the_reply_says_so(serve, client, provider):
    reply = client(serve(Answer("Hello there!", usage=False)), provider).complete(HELLO, Sampling())
    assert reply.usage_source == "counted"
    assert reply.usage == Usage(count("Say hello."), count("Hello there!"), 0)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_reasoning_is_kept_apart(serve, client, provider):
    reply = client(serve(Answer("42", reasoning="hm")), provider).complete(HELLO, Sampling())
    assert (reply.text, reply.reasoning) == ("42", "hm")
    assert reply.completion == "<think>\nhm\n</think>\n42"


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_what_may_pass_is_tried_again(serve, client, provider, status):
    server = serve(Answer(status=status, error="busy"), Answer(status=status, error="busy"), Answer("ok"))
    reply = client(server, provider).complete(HELLO, Sampling())
    assert (reply.text, reply.attempts, len(server.requests)) == ("ok", 3, 3)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("status", [429, 500])
def test_after_all_tries_the_model_is_unavailable(serve, client, provider, status):
    server = serve(Answer(status=status, error="come back tomorrow"))
    with pytest.raises(ModelUnavailable, match=f"3 tries: the server answered {status}.*come back tomorrow"):
        client(server, provider).complete(HELLO, Sampling())
    assert len(server.requests) == 3


def test_retry_after_is_kept_to(serve):
    waits = []
    server = serve(
        Answer(status=429, error="slow", headers={"retry-after": "7"}),
        Answer(status=429, error="slow", headers={"retry-after-ms": "2500"}),
        Answer("ok"),
    )
    from kgb_gym.baselines.models.openai_chat import OpenAIChat

    transport = OpenAIChat("stand-in", base_url=server.url, api_key=None)
    ModelClient("stand-in", transport, sleep=waits.append).complete(HELLO, Sampling())
    transport.close()
    assert waits == [7.0, 2.5]


def test_a_wait_beyond_the_deadline_is_not_begun(serve, client):
    server = serve(Answer(status=429, error="slow", headers={"retry-after": "600"}))
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match="within the episode's wall budget"):
        client(server).complete(HELLO, Sampling(), deadline=began + 5)
    assert time.monotonic() - began < 5


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_wrong_key(serve, client, provider, monkeypatch):
    monkeypatch.setenv("KGB_TEST_KEY", "wrong")
    server = serve("ok", key="right")
    with pytest.raises(ModelRefused, match="key was refused .401.: check the variable that --api-key-env names"):
        client(server, provider, api_key_env="KGB_TEST_KEY").complete(HELLO, Sampling())
    monkeypatch.setenv("KGB_TEST_KEY", "right")
    assert client(server, provider, api_key_env="KGB_TEST_KEY").complete(HELLO, Sampling()).text == "ok"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_unknown_model(serve, client, provider):
    server = serve("ok")
    with pytest.raises(ModelRefused, match="no model 'gpt-99' there"):
        client(server, provider, model="gpt-99").complete(HELLO, Sampling())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_rejected_request_is_not_sent_again(serve, client, provider):
    server = serve(Answer(status=400, error="prompt is too long"))
    with pytest.raises(RequestRejected, match="400.*prompt is too long"):
        client(server, provider).complete(HELLO, Sampling())
    assert len(server.requests) == 1


def test_credit_that_is_used_up_is_no_passing_trouble(serve, client):
    body = json.dumps({"error": {"code": "insufficient_quota", "message": "You exceeded your quota"}}).encode()
    server = serve(Answer(status=429, body=body))
    with pytest.raises(ModelRefused, match="no credit"):
        client(server).complete(HELLO, Sampling())
    assert len(server.requests) == 1


def test_servers_that_want_the_other_name_of_the_limit_get_it(serve, client):
    refusal = Answer(status=400, error="Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    server = serve(lambda request: refusal if "max_tokens" in request.body else Answer("ok"))
    asking = client(server)
    assert asking.complete(HELLO, Sampling(max_tokens=9)).text == "ok"
    assert asking.complete(HELLO, Sampling(max_tokens=9)).text == "ok"
    assert [r.body.get("max_completion_tokens") for r in server.requests] == [None, 9, 9]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(body=b""), "no JSON"),
        (Answer(body=b"<html>gateway</html>"), "no JSON"),
        (Answer(body=b"[]"), "holds no"),
        (Answer(body=b'{"error": "overloaded"}'), "holds no"),
        (Answer("a long answer " * 50, cut_after=100), "connection"),
    ],
    ids=["empty", "html", "list", "error", "cut"],
)
def test_an_answer_that_is_none_is_tried_again(serve, client, provider, answer, message):
    with pytest.raises(ModelUnavailable, match=message):
        client(serve(answer), provider).complete(HELLO, Sampling())
    assert client(serve(answer, Answer("ok")), provider).complete(HELLO, Sampling()).text == "ok"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_hung_connection_ends(serve, client, provider):
    server = serve(Answer("late", delay_s=1.5))
    with pytest.raises(ModelUnavailable, match="took too long"):
        client(server, provider, timeout_s=0.2, retry=Retry(tries=2, first_s=0)).complete(HELLO, Sampling())
    assert len(server.requests) == 2


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_server_that_sends_a_byte_now_and_then_ends_too(serve, client, provider):
    """The limit is for the whole answer: each byte of this one comes well within it."""
    server = serve(Answer("late", drip_s=0.05))
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match="one try: the server took too long"):
        client(server, provider, timeout_s=0.4, retry=Retry(tries=1)).complete(HELLO, Sampling())
    assert 0.4 <= time.monotonic() - began < 3


def test_an_endless_answer_ends(serve, client, monkeypatch):
    monkeypatch.setattr(wire, "LONGEST", 1 << 20)
    with pytest.raises(ModelUnavailable, match="longer than 1 MiB"):
        client(serve("x" * (2 << 20)), retry=Retry(tries=1)).complete(HELLO, Sampling())


def test_the_deadline_ends_an_answer_in_the_making(serve, client):
    with pytest.raises(OutOfTime, match="wall budget ended while the model was writing"):
        client(serve(Answer("late", delay_s=1.5))).complete(HELLO, Sampling(), deadline=time.monotonic() + 0.3)
    with pytest.raises(OutOfTime, match="used up"):
        client(serve("ok")).complete(HELLO, Sampling(), deadline=time.monotonic() - 1)


def test_no_server_at_all(client):
    with LoopbackServer(in_turn("ok")) as gone:
        asking = client(gone)
    with pytest.raises(ModelUnavailable, match="connection failed"):
        asking.complete(HELLO, Sampling())


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("text", ["", "a\ud83d\ude00b", "x" * (2 << 20)], ids=["empty", "emoji", "2 MB"])
def test_any_text_arrives(serve, client, provider, text):
    assert client(serve(text), provider).complete(HELLO, Sampling()).text.encode("utf-16", "surrogatepass") == (
        text.encode("utf-16", "surrogatepass")
    )


def test_bytes_that_are_no_utf8(serve, client):
    body = b'{"choices": [{"message": {"content": "caf\xe9"}, "finish_reason": "stop"}]}'
    assert client(serve(Answer(body=body))).complete(HELLO, Sampling()).text == "caf\ufffd"


@pytest.mark.parametrize(
    "usage",
    ["null", "{}", '{"prompt_tokens": 0, "completion_tokens": 0}', '"many"', '{"prompt_tokens": null}'],
)
def test_usage_that_says_nothing_counts_as_missing(serve, client, usage):
    body = f'{{"choices": [{{"message": {{"content": "Hello!"}}}}], "usage": {usage}}}'.encode()
    reply = client(serve(Answer(body=body))).complete(HELLO, Sampling())
    assert (reply.usage_source, reply.usage.completion_tokens) == ("counted", count("Hello!"))


def test_token_ids_and_logprobs_where_a_server_gives_them(serve, client):
    content = [{"token": "token_id:11", "logprob": -0.5}, {"token": "token_id:7", "logprob": -1}]
    choice = {"message": {"content": "ab"}, "finish_reason": "stop", "logprobs": {"content": content}}
    body = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}).encode()
    reply = client(serve(Answer(body=body))).complete(HELLO, Sampling(extra={"logprobs": True}))
    assert (reply.token_ids, reply.logprobs) == ((11, 7), (-0.5, -1.0))


def test_system_messages_go_where_anthropic_wants_them(serve, client):
    server = serve("ok")
    client(server, "anthropic").complete([{"role": "system", "content": "Be brief."}, *HELLO], Sampling())
    body = server.requests[0].body
    assert body["system"] == "Be brief."
    assert [m["role"] for m in body["messages"]] == ["user"]


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [({}, None), ({"retry-after": "3"}, 3.0), ({"retry-after": "soon"}, None), ({"retry-after": "-4"}, 0.0)],
)
def test_retry_after(headers, seconds):
    assert wire.retry_after_s(headers) == seconds


def test_retry_after_as_a_date():
    assert wire.retry_after_s({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert wire.retry_after_s({"retry-after": "Wed, 21 Oct 2115 07:28:00 GMT"}) > 1e6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": ""}, "a model is needed"),
        ({"provider": "oracle"}, "unknown provider 'oracle': use one of openai, anthropic"),
        ({"base_url": "localhost:8000"}, "begins with http"),
        ({"base_url": "http://me:secret@host/v1"}, "must not hold a password"),
        ({"timeout_s": 0}, "time-out must be positive"),
    ],
)
def test_an_endpoint_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Endpoint(**{"model": "m", **change})


def test_keys(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(ModelRefused, match="OpenAI needs a key"):
        connect(Endpoint("m"))
    with pytest.raises(ModelRefused, match="KGB_NO_SUCH_KEY is not set"):
        connect(Endpoint("m", base_url="http://localhost/v1", api_key_env="KGB_NO_SUCH_KEY"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1\n")
    with pytest.raises(ModelRefused, match="was it copied whole"):
        connect(Endpoint("m"))


@pytest.mark.parametrize(
    ("change", "message"),
    [({"max_tokens": 0}, "max_tokens"), ({"temperature": 3}, "temperature"), ({"top_p": 0}, "top_p")],
)
def test_sampling_that_makes_no_sense_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Sampling(**change)
