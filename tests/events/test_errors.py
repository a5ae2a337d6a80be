"""No secret is in a message, whoever wrote the text that it repeats."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.errors import redacted

SECRETS = st.text(string.ascii_letters + string.digits + "_-", min_size=12, max_size=60)
FORMS = [
    *(
        "https://me:{}@host/path",
        "http://{}@proxy:3128",
        "?apikey={}&x=1",
        "?q=1&api_key={}",
        "token={}",
        "password: {}",
    ),
    *("Proxy-Authorization: Basic {}", "{{'authorization': 'Bearer {}'}}", '{{"access_token": "{}"}}', "X-Secret={}"),
    *("x-amz-security-token: {}", "&X-Amz-Signature={}&", "aws_secret_access_key={}", "{}"),
]


@given(secret=SECRETS, form=st.sampled_from(FORMS), around=st.text(max_size=20))
def test_a_secret_is_taken_out_however_it_is_given(secret: str, form: str, around: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if form == "{}":
            patch.setenv("AWS_SESSION_TOKEN", secret)
        assert secret not in redacted(f"{form.format(secret)} {around.replace(secret, '')}")


@pytest.mark.parametrize(
    "text",
    [
        "max_tokens: 40960 is more than the 32768 tokens=8192 that are left",
        "openai/m?base_url=http://localhost:8000/v1&key_env=MY_KEY",
        "Check the key in the environment: export OPENAI_API_KEY=...",
        "https://host/a@b is no address",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redacted(text) == text
