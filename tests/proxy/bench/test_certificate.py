"""The benchmark's certificate."""

import datetime
import ssl
from pathlib import Path

from spanlore_proxy.bench.certificate import write_certificate


def test_certificate_serves_and_vouches_for_localhost(tmp_path: Path) -> None:
    """One file is both the server's chain and the client's root."""
    file = tmp_path / "c.pem"
    write_certificate(file, datetime.datetime.now(datetime.UTC))

    ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file)
    assert ssl.create_default_context(cafile=str(file)).get_ca_certs()
    assert file.stat().st_mode & 0o077 == 0
