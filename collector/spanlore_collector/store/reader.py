"""Reads the store from another process: rows over ClickHouse's HTTP interface, whoever serves it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self
from urllib.parse import urlsplit

import clickhouse_connect
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import DatabaseError, Error

from spanlore_collector.store.client import DATABASE, StoreUnavailableError, not_answering

__all__ = ["QueryFailedError", "Reader", "StoreUnavailableError"]


class QueryFailedError(ValueError):
    """The store does not understand the query, or does not allow it."""


class Reader:
    """Rows by SQL. Connects at the first query; not for use by two threads at once."""

    def __init__(self, url: str, token: str = "") -> None:
        """`url` is `http(s)://[user:password@]host:port[/database]`; `token` the collector's, '' for a server."""
        self._url = url
        self._token = token
        self._client: Client | None = None
        self.rows_read = 0
        """By the store, for all queries so far: what a query costs, on any machine."""

    def rows(self, sql: str, parameters: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """The rows as dictionaries. `parameters` are values of `{name:Type}` in the query.

        Raises:
            StoreUnavailableError: nobody answers there. The message says what to do.
            QueryFailedError: the store refuses the query.
        """
        try:
            result = self._connected().query(sql, parameters=parameters)
            self.rows_read += int(result.summary.get("read_rows", 0))
            return list(result.named_results())
        except DatabaseError as error:
            if error.code:
                raise QueryFailedError(str(error)) from error
            raise self._unavailable(error) from error
        except (Error, OSError) as error:
            raise self._unavailable(error) from error

    def each(self, asked: Sequence[tuple[str, dict[str, Any]]]) -> list[list[dict[str, Any]]]:
        """The rows of several queries that run beside each other, in the order asked. Raises as `rows` does."""
        self._connected()  # here, so that the threads find it
        with ThreadPoolExecutor(max(len(asked), 1), thread_name_prefix="reader") as threads:
            return list(threads.map(lambda one: self.rows(*one), asked))

    def close(self) -> None:
        """Closes the connection; another query opens it again."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _connected(self) -> Client:
        if self._client is None:
            parts = urlsplit(self._url)
            self._client = clickhouse_connect.get_client(
                host=parts.hostname or "127.0.0.1",
                port=parts.port or (8443 if parts.scheme == "https" else 8123),
                secure=parts.scheme == "https",
                username=parts.username or "spanlore",
                password=self._token or parts.password or "",
                database=parts.path.strip("/") or DATABASE,
                compress=False,
                autogenerate_session_id=False,
                query_retries=0,
            )
        return self._client

    def _unavailable(self, error: Exception) -> StoreUnavailableError:
        parts = urlsplit(self._url)
        return not_answering("the store", f"{parts.scheme}://{parts.hostname}:{parts.port}", error)
