"""Who is connected to by address must still show the certificate of the name."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from outbound import Failed, Guarded, HostPort, Policy
from tests.kit.site import Book, Site, answer


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of secure.test, signed by itself, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "secure.test")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("secure.test")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "secure.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


async def test_the_name_and_not_the_address_must_be_certified(certificate: Path) -> None:
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    serving.load_cert_chain(certificate)
    trusting = ssl.create_default_context(cafile=certificate)
    book = Book(secure_test="127.0.0.1", other_test="127.0.0.1")
    async with Site.opened(tls=serving) as site:
        site.pages["/"] = answer(200, "secure")
        allowed = (HostPort("secure.test", site.port), HostPort("other.test", site.port))
        guarded = Guarded(Policy(allowed), names=book, tls=trusting)
        assert (await guarded.fetch(f"https://secure.test:{site.port}/")).body == b"secure"
        with pytest.raises(Failed) as failed:
            await guarded.fetch(f"https://other.test:{site.port}/")
        assert failed.value.code == "tls"
        untrusting = Guarded(Policy(allowed), names=book)
        with pytest.raises(Failed) as failed:
            await untrusting.fetch(f"https://secure.test:{site.port}/")
        assert failed.value.code == "tls"
        assert len(site.asked) == 1
