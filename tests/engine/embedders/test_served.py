"""An embedder behind a server: what is asked, what is retried, what a changed model looks like."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.embedders.registry import open_embedder
from mage_es.engine.embedders.served import BATCH, ServedEmbedder
from mage_es.engine.embedders.vectors import PROBES
from mage_es.engine.models.retrying import RetryPolicy
from mage_es.engine.providers.embeddings import EmbeddingsEndpoint
from mage_es.engine.seams.faults import ModelFault
from mage_es.engine.seams.metering import EmbeddingAttempt
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.seams.spec import parse_spec
from mage_es.events.errors import BudgetReached, PrerequisiteError
from tests.engine.providers.provider import Provider, provider
from tests.hostile.server import Reply, Said, embedding, hostile

QUICK = RetryPolicy(attempts=3, first_wait_s=0.001, longest_wait_s=0.002)
CANARY = "sk-canary-0123456789abcdef"


def served(server: Provider, options: str = "") -> ServedEmbedder:
    embedder = open_embedder(f"openai/embed?base_url={server.openai_url}{options}", retry_policy=QUICK)
    assert isinstance(embedder, ServedEmbedder)
    return embedder


def test_vectors_are_the_servers_at_length_one_whatever_their_order_in_the_reply() -> None:
    texts = ["one apple", "two pears and a plum", "three"]
    with provider() as server:
        embedder = served(server)
        vectors = embedder.encode(texts)
    assert np.allclose(vectors, HashEmbedder().encode(texts), atol=1e-6)
    assert embedder.dimension == 128
    assert embedder.name == f"openai/embed?base_url={server.openai_url}"
    assert server.asked[-1].path == "/v1/embeddings" and server.asked[-1].body["encoding_format"] == "float"


def test_probes_go_one_by_one_and_texts_in_batches_each_once() -> None:
    texts = [f"text number {'x' * at}" for at in range(BATCH + 3)]
    with provider() as server:
        embedder = served(server)
        embedder.encode(texts)
        embedder.encode(texts)
    sizes = [len(asked.body["input"]) for asked in server.asked]
    assert sizes == [1] * len(PROBES) + [BATCH, 3]


def test_the_dimension_that_the_spec_asks_for_is_asked_of_the_server() -> None:
    with provider() as server:
        served(server, "&dimensions=64")
    assert {asked.body["dimensions"] for asked in server.asked} == {64}


@pytest.mark.parametrize("fault", ["429", "500", "503", "reset", "truncated", "shape"])
def test_what_may_pass_is_tried_again(fault: str) -> None:
    with provider(faults=[fault, fault]) as server:
        served(server)
    assert len(server.asked) == len(PROBES) + 2


@pytest.mark.parametrize(("fault", "told"), [("echo 401", r"the provider says Bearer \[key\]"), ("404", "says 404")])
def test_what_cannot_pass_ends_at_once_with_the_remedy_and_without_the_key(
    fault: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMBED_KEY", CANARY)
    with provider(faults=[fault]) as server, pytest.raises(PrerequisiteError, match=told) as raised:
        served(server, "&key_env=EMBED_KEY")
    assert len(server.asked) == 1 and server.asked[0].headers["authorization"] == f"Bearer {CANARY}"
    assert "mage-es doctor" in str(raised.value) and CANARY not in str(raised.value)


def test_a_server_that_goes_on_failing_is_given_up() -> None:
    with provider(faults=["500"] * 9) as server, pytest.raises(PrerequisiteError, match="resume the run"):
        served(server)
    assert len(server.asked) == QUICK.attempts


@pytest.mark.parametrize("numbers", [[float("nan")] * 4, [], ["a", "b"]])
def test_a_vector_that_is_none_is_malformed(numbers: list[float]) -> None:
    with provider() as server:
        server.embed = lambda texts: [numbers for _ in texts]
        with pytest.raises(PrerequisiteError, match="embedding"):
            served(server)


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ([1.0] * 127 + [float("inf")], "holds numbers that are not finite"),
        ([], "is empty"),
        ([1.0] * 127, "has 127 numbers and not 128"),
    ],
)
def test_the_text_whose_vector_is_none_is_named_by_its_number(second: list[float], problem: str) -> None:
    with provider() as server:
        embedder = served(server)
        server.embed = lambda texts: [[1.0] * 128, second, [1.0] * 128]
        told = f"embedder openai/embed.* failed: the embedding of text 2 of 3 {problem}.* run the command again"
        with pytest.raises(PrerequisiteError, match=told):
            embedder.encode(["a", "b", "c"])


def test_a_server_that_asks_for_more_than_an_hour_ends_the_command_with_the_time_that_it_names() -> None:
    heard, purse = list[EmbeddingAttempt](), Purse()
    with provider() as server:
        embedder = served(server)
        embedder.meter.connect(heard.append, purse)
        before, server.plan, server.error_headers = len(heard), lambda number: "429", {"retry-after": "7200"}
        with pytest.raises(PrerequisiteError, match=r"embedder openai/\S+ takes no calls before \S+ \S+ UTC: .*429\."):
            embedder.encode(["a"])
    assert len(server.asked) == len(PROBES) + 1
    failed = [attempt.failed for attempt in heard[before:]]
    assert [each and each.is_lost for each in failed] == [True]


def test_vectors_that_change_their_length_on_the_way_are_refused() -> None:
    with provider() as server:
        embedder = served(server)
        server.embed = lambda texts: [[1.0] * 127 for _ in texts]
        with pytest.raises(PrerequisiteError, match="127 numbers and not 128"):
            embedder.encode(["a"])


def test_another_model_behind_the_same_name_has_another_hash_and_noise_has_not() -> None:
    rng = np.random.default_rng(7)

    def noisy(texts: list[str]) -> list[list[float]]:
        return [[float(x) for x in v + rng.normal(size=128) * 1e-8] for v in HashEmbedder().encode(texts)]

    with provider() as server:
        embedders = [served(server)]
        server.embed = noisy
        embedders.append(served(server))
        server.embed = lambda texts: [[float(len(text)), *range(127)] for text in texts]
        embedders.append(served(server))
    plain, shaken, other = (embedder.sha256 for embedder in embedders)
    assert plain == shaken != other


def test_without_a_key_openais_own_server_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(PrerequisiteError, match="export OPENAI_API_KEY="):
        open_embedder("openai/text-embedding-3-small")


class Purse:
    """A spending guard that counts what it is asked and told, and refuses after so many attempts."""

    def __init__(self, most: int = 10**6) -> None:
        self.asked, self.paid, self.told, self._most = 0, 0, list[Completion | None](), most

    async def room(self, model: str, request: Request) -> bool:
        return False

    @contextmanager
    def holding(
        self, model: str, request: Request, *, in_batch: bool = False
    ) -> Iterator[Callable[[Completion], None]]:
        if self.asked == self._most:
            raise BudgetReached("no more")
        self.asked += 1

        def pay(completion: Completion) -> None:
            self.paid += completion.input_tokens

        yield pay

    def count(self, model: str, completion: Completion | None) -> None:
        self.told.append(completion)


def test_every_attempt_is_metered_also_what_was_made_before_anybody_listened() -> None:
    heard, purse = list[EmbeddingAttempt](), Purse()
    with provider(faults=["429", *[""] * len(PROBES), "reset", "500"]) as server:
        embedder = served(server)
        embedder.meter.connect(heard.append, purse)
        before = len(heard)
        embedder.encode([f"text number {'x' * at}" for at in range(BATCH + 1)])
    assert len(heard) == len(server.asked) == len(PROBES) + 1 + 4
    replies = [attempt for attempt in heard if not attempt.failed]
    assert [attempt.purpose for attempt in replies] == ["fingerprint"] * len(PROBES) + ["vectors"] * 2
    assert (len(replies), sum(a.texts for a in replies)) == (server.embedded, server.embedded_texts)
    assert sum(attempt.input_tokens for attempt in replies) == server.embedded_tokens > 0
    assert [a.failed.fault.kind for a in heard if a.failed] == ["busy", "connection", "server"]
    assert len(purse.told) == before == len(PROBES) + 1 and purse.told[0] is None
    assert purse.asked == 4 and purse.paid == sum(attempt.input_tokens for attempt in replies[len(PROBES) :])


def test_the_attempt_with_which_a_call_is_given_up_is_metered_as_its_last() -> None:
    heard = list[EmbeddingAttempt]()
    with provider() as server:
        embedder = served(server)
        embedder.meter.connect(heard.append, Purse())
        heard.clear()
        server.plan = lambda number: "500"
        with pytest.raises(PrerequisiteError):
            embedder.encode(["a"])
        server.plan = lambda number: "401"
        with pytest.raises(PrerequisiteError):
            embedder.encode(["a"])
    lost = [attempt.failed.is_lost for attempt in heard if attempt.failed]
    assert lost == [False] * (QUICK.attempts - 1) + [True, True]
    waits = [attempt.failed.wait_s > 0 for attempt in heard if attempt.failed]
    assert waits == [not is_lost for is_lost in lost]


def test_a_toll_that_refuses_ends_the_command_and_nobody_is_asked() -> None:
    with provider() as server:
        embedder = served(server)
        embedder.meter.connect(lambda attempt: None, Purse(most=1))
        embedder.encode(["a"])
        with pytest.raises(BudgetReached):
            embedder.encode(["b"])
        embedder.encode(["a"])
    assert len(server.asked) == len(PROBES) + 1


def test_a_server_that_tells_no_tokens_is_metered_with_none() -> None:
    heard = list[EmbeddingAttempt]()
    with provider() as server:
        server.tells_tokens = False
        served(server).meter.connect(heard.append, Purse())
    assert [(attempt.texts, attempt.input_tokens) for attempt in heard] == [(1, 0)] * len(PROBES)


@pytest.mark.parametrize("tokens", [True, 2**63, 10**30, -1, "many"])
def test_a_count_of_tokens_that_no_ledger_can_add_up_is_malformed(tokens: object) -> None:
    def respond(said: Said) -> Reply:
        return Reply(200, embedding(said.body["input"]).body | {"usage": {"prompt_tokens": tokens, "total_tokens": 1}})

    with (
        hostile(respond) as url,
        pytest.raises(ModelFault, match="field usage of the reply is not a count of tokens"),
    ):
        EmbeddingsEndpoint(parse_spec(f"openai/m?base_url={url}/v1")).embed(["a"])
