"""Calls and tokens add up; latency is shown and never compared."""

import msgspec
import pytest

from mage_es.events.vocabulary import CallFailed, EmbeddingCalled, ModelCalled, Tier
from mage_es.projections.ledger import Ledger, Usage
from tests.kit.stages import round_trip


def called(tier: Tier, k: int = 0, *, purpose: str = "fresh", tokens: int = 10, latency_us: int = 5) -> ModelCalled:
    return ModelCalled(
        iteration=k,
        tier=tier,
        agent="learner",
        purpose=purpose,
        about="q",
        attempt=0,
        request_sha256="",
        model="m",
        text="",
        stop_reason="end",
        input_tokens=tokens,
        output_tokens=2 * tokens,
        cached_tokens=3,
        thinking_tokens=4,
        latency_us=latency_us,
    )


def test_a_tier_is_totalled_over_accounts_or_within_an_iteration() -> None:
    ledger = Ledger()
    for event in (called("execution"), called("execution", 1, purpose="anchor"), called("execution", 1)):
        ledger.apply(event)

    assert ledger.total("execution") == Usage(3, 30, 60, 9, 12, 15)
    assert ledger.total("execution", iteration=1) == Usage(2, 20, 40, 6, 8, 10)
    assert ledger.total("guidance") == Usage()
    assert [account.purpose for account, _ in ledger.accounts()] == ["anchor", "fresh", "fresh"]


def test_latency_enters_no_digest_and_tokens_do() -> None:
    one, slower, dearer = Ledger(), Ledger(), Ledger()
    one.apply(called("judge"))
    slower.apply(called("judge", latency_us=999))
    dearer.apply(called("judge", tokens=11))

    assert one.digest() == slower.digest() != dearer.digest()


def failed(k: int = 0, *, final: bool = False) -> CallFailed:
    return CallFailed(
        iteration=k,
        tier="execution",
        agent="learner",
        purpose="fresh",
        about="q",
        attempt=0,
        tries=1,
        request_sha256="",
        model="m",
        fault="busy",
        status=429,
        problem="later",
        final=final,
        latency_us=7,
    )


def test_failed_attempts_stand_beside_the_calls_and_change_no_digest() -> None:
    calm, stormy = Ledger(), Ledger()
    for ledger in (calm, stormy):
        ledger.apply(called("execution"))
    for event in (failed(), failed(), failed(1, final=True)):
        stormy.apply(event)

    total = stormy.total("execution")
    assert (total.calls, total.failures, total.retries, total.latency_us) == (1, 3, 2, 26)
    assert stormy.digest() == calm.digest()
    loaded = Ledger()
    loaded.load(round_trip(stormy.dump()))
    assert loaded.accounts() == stormy.accounts()


@pytest.mark.paper("section 3.3, EVOLVE")
def test_batched_calls_are_an_account_of_their_own_and_neither_they_nor_cache_writes_enter_the_digest() -> None:
    alone, batched = Ledger(), Ledger()
    events = [called("guidance"), called("guidance"), called("guidance")]
    for event in events:
        alone.apply(event)
    for event, changed in zip(events, ({}, {"batched": True}, {"cache_write_tokens": 2}), strict=True):
        batched.apply(msgspec.structs.replace(event, **changed))
    assert [(account.batched, use.calls) for account, use in batched.accounts()] == [(False, 2), (True, 1)]
    assert batched.total("guidance") == alone.total("guidance")._replace(cache_write_tokens=2)
    assert batched.digest() == alone.digest()


def test_calls_that_another_model_served_are_an_account_of_their_own_and_change_no_digest() -> None:
    plain, moved = Ledger(), Ledger()
    for name in ("", "m-2026-01", "m-2026-05", "m-2026-05"):
        plain.apply(called("execution"))
        moved.apply(msgspec.structs.replace(called("execution"), served_by=name))
    assert [(account.served_by, use.calls) for account, use in moved.accounts()] == [
        ("", 1),
        ("m-2026-01", 1),
        ("m-2026-05", 2),
    ]
    assert moved.total("execution") == plain.total("execution") and moved.digest() == plain.digest()
    loaded = Ledger()
    loaded.load(round_trip(moved.dump()))
    assert loaded.accounts() == moved.accounts()


def embedded(k: int = 0, *, purpose: str = "vectors") -> EmbeddingCalled:
    return EmbeddingCalled(
        iteration=k,
        purpose=purpose,
        number=1,
        texts=64,
        tries=1,
        request_sha256="",
        model="openai/e",
        input_tokens=900,
        latency_us=3,
    )


def test_calls_of_the_embedder_are_a_tier_of_their_own_and_change_no_digest() -> None:
    plain, served = Ledger(), Ledger()
    for ledger in (plain, served):
        ledger.apply(called("execution"))
    missed = msgspec.structs.replace(failed(), tier="embedder", agent="", purpose="vectors", model="openai/e")
    for event in (embedded(-1, purpose="fingerprint"), embedded(), embedded(), missed):
        served.apply(event)

    assert served.total("embedder") == Usage(calls=3, input_tokens=2700, latency_us=16, failures=1, retries=1)
    assert served.total("execution") == plain.total("execution")
    assert [(a.agent, a.purpose, use.calls) for a, use in served.accounts() if a.tier == "embedder"] == [
        ("", "fingerprint", 1),
        ("", "vectors", 2),
    ]
    assert served.digest() == plain.digest()
    loaded = Ledger()
    loaded.load(round_trip(served.dump()))
    assert loaded.accounts() == served.accounts()
