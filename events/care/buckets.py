"""Objects in a bucket of S3, or of anything that speaks its protocol.

Endpoint, region and credentials are the standard AWS_* environment variables, read by obstore. Why obstore: it can
create with `If-None-Match: *`, which pyarrow's file system silently ignores.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from mage_es.events.care.objects import Listed
from mage_es.events.errors import PrerequisiteError, redacted

SCHEME = "s3://"


class S3Objects:
    """Objects under `s3://bucket/prefix`. Raises `PrerequisiteError` if obstore is not installed."""

    def __init__(self, url: str) -> None:
        try:
            from obstore.store import from_url
        except ImportError as error:
            raise PrerequisiteError(f"{url} needs the package obstore: python -m pip install 'mage-es[s3]'") from error
        self.place = url
        with self._refusals():
            self._store = from_url(url)

    def names(self) -> list[str]:
        return sorted(self.listed())

    def listed(self) -> dict[str, Listed]:
        import obstore

        # The entity tag of what was stored in one part is its MD5, unless the bucket encrypts with keys of its own.
        with self._refusals():
            entries = [entry for page in obstore.list(self._store) for entry in page]
        return {each["path"]: Listed(each["size"], (each["e_tag"] or "").strip('"')) for each in entries}

    def read(self, name: str) -> bytes:
        import obstore

        with self._refusals():
            return bytes(obstore.get(self._store, name).bytes())

    def create(self, name: str, data: bytes) -> None:
        # The service itself refuses a second object of the same name, so no lock is needed.
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._refusals():
            try:
                # mode=create sends If-None-Match: the service compares and writes in one step; multipart cannot.
                obstore.put(self._store, name, data, mode="create", use_multipart=False)
            except AlreadyExistsError as error:
                raise FileExistsError(f"{self.place}/{name} exists") from error
            # What obstore raises for a bucket that does not exist.
            except FileNotFoundError as error:
                raise self._refusal(error) from error

    def replace(self, name: str, data: bytes) -> None:
        import obstore

        with self._refusals():
            obstore.put(self._store, name, data, use_multipart=False)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except BaseError as error:
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> PrerequisiteError:
        said = redacted(str(error).split("\n", maxsplit=1)[0])
        return PrerequisiteError(
            f"{self.place} cannot be used: {said}. Check that the bucket exists, and AWS_ENDPOINT_URL, AWS_REGION, "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (an http:// endpoint needs AWS_ALLOW_HTTP=true)."
        )
