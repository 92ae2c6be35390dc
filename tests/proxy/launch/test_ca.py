"""The CA and the files of roots."""

import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography import x509

from spanlore.settings import Paths
from spanlore_proxy.launch.ca import certificates, ensure_ca, ensure_trust, system_bundle


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> Paths:
    folder = tmp_path_factory.mktemp("ca")
    return Paths(config_dir=folder / "config", state_dir=folder / "state")


@pytest.fixture(scope="module")
def other_ca(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA that the system doesn't know, as a company has."""
    folder = tmp_path_factory.mktemp("other")
    return ensure_ca(Paths(config_dir=folder / "config", state_dir=folder / "state"))


def test_key_is_private_and_made_once(paths: Paths) -> None:
    """The key is 0600 in a 0700 directory, named after spanlore, and a second call leaves it as it is."""
    certificate = ensure_ca(paths)
    key = paths.ca_dir / "mitmproxy-ca.pem"
    before = key.read_bytes()

    assert ensure_ca(paths) == certificate == paths.ca_cert
    assert key.read_bytes() == before
    assert key.stat().st_mode & 0o777 == 0o600
    assert paths.ca_dir.stat().st_mode & 0o777 == 0o700
    assert "spanlore" in x509.load_pem_x509_certificate(certificate.read_bytes()).subject.rfc4514_string()
    assert b"PRIVATE KEY" not in certificate.read_bytes()


def test_a_key_others_could_read_is_closed(paths: Paths) -> None:
    """A key file whose mode was widened is put back to 0600."""
    ensure_ca(paths)
    key = paths.ca_dir / "mitmproxy-ca.pem"
    key.chmod(0o644)

    ensure_ca(paths)

    assert key.stat().st_mode & 0o777 == 0o600


def test_two_processes_make_one_ca(tmp_path: Path) -> None:
    """Of two that start at once, both get the same CA."""
    script = (
        "import sys; from pathlib import Path; from spanlore.settings import Paths;"
        "from spanlore_proxy.launch.ca import ensure_ca;"
        "sys.stdout.write(ensure_ca(Paths(Path(sys.argv[1]), Path(sys.argv[2]))).read_text())"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "config"), str(tmp_path / "state")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    told = [process.communicate(timeout=300)[0] for process in both]

    assert told[0] == told[1] != b""


def test_bundle_is_the_systems_roots_and_ours(paths: Paths) -> None:
    """Without variables of the caller: bundle.pem, every root of the system, ours last; OpenSSL can load it."""
    usual = system_bundle()
    assert usual is not None
    trust = ensure_trust(paths, {})

    blocks = certificates(trust.bundle.read_bytes())

    assert trust.bundle == paths.ca_bundle
    assert trust.extra == trust.ca
    assert set(certificates(usual.read_bytes())) < set(blocks)
    assert blocks[-1:] == certificates(trust.ca.read_bytes())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(trust.bundle)
    assert context.cert_store_stats()["x509_ca"] > 10


def test_callers_own_cas_are_kept(paths: Paths, other_ca: Path) -> None:
    """What the caller's variables named goes on being trusted, in a file of its own name."""
    theirs = certificates(other_ca.read_bytes())
    trust = ensure_trust(paths, {"REQUESTS_CA_BUNDLE": str(other_ca), "NODE_EXTRA_CA_CERTS": str(other_ca)})

    assert set(theirs) < set(certificates(trust.bundle.read_bytes()))
    assert certificates(trust.extra.read_bytes()) == [*theirs, *certificates(trust.ca.read_bytes())]
    assert trust.bundle != paths.ca_bundle
    assert not set(theirs) & set(certificates(ensure_trust(paths, {}).bundle.read_bytes()))


def test_ssl_cert_file_replaces_the_systems_roots(paths: Paths, other_ca: Path) -> None:
    """A caller that trusts only its own CA still trusts no other, but ours."""
    trust = ensure_trust(paths, {"SSL_CERT_FILE": str(other_ca)})

    assert certificates(trust.bundle.read_bytes()) == [
        *certificates(other_ca.read_bytes()),
        *certificates(trust.ca.read_bytes()),
    ]


def test_inside_our_own_environment(paths: Paths, other_ca: Path) -> None:
    """`spanlore run` in a shell that has `spanlore env`: the same bundle, nothing twice, nothing lost."""
    first = ensure_trust(paths, {"SSL_CERT_FILE": str(other_ca)})
    again = ensure_trust(paths, {"SSL_CERT_FILE": str(first.bundle), "NODE_EXTRA_CA_CERTS": str(first.extra)})

    assert again.bundle.read_bytes() == first.bundle.read_bytes()
    assert again.extra == first.extra


@pytest.mark.parametrize("name", ["missing.pem", ".", "empty.pem"])
def test_variable_that_leads_nowhere(paths: Paths, tmp_path: Path, name: str) -> None:
    """A file that is missing, empty or no certificate falls back to the system's roots."""
    (tmp_path / "empty.pem").touch()

    trust = ensure_trust(paths, {"SSL_CERT_FILE": str(tmp_path / name), "NODE_EXTRA_CA_CERTS": str(tmp_path / name)})

    assert trust.bundle == paths.ca_bundle
    assert trust.extra == trust.ca


def test_directory_of_certificates(paths: Paths, other_ca: Path, tmp_path: Path) -> None:
    """REQUESTS_CA_BUNDLE may name a directory."""
    (tmp_path / "company.crt").write_bytes(other_ca.read_bytes())

    trust = ensure_trust(paths, {"REQUESTS_CA_BUNDLE": str(tmp_path)})

    assert set(certificates(other_ca.read_bytes())) < set(certificates(trust.bundle.read_bytes()))
