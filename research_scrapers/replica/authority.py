"""A throw-away certificate authority, so that unmodified clients can speak https to the replica.

Keys live in memory only; the CA certificate is trusted by nobody but the client that is told to.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from OpenSSL import SSL
from twisted.internet.interfaces import IOpenSSLServerConnectionCreator
from zope.interface import implementer  # type: ignore[import-untyped]


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs,
        crl_sign=signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


@implementer(IOpenSSLServerConnectionCreator)
class _Context:
    """The one method that Twisted's startTLS needs."""

    def __init__(self, context: SSL.Context) -> None:
        self._context = context

    def serverConnectionForTLS(self, protocol: object) -> SSL.Connection:
        return SSL.Connection(self._context, None)


class Authority:
    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._contexts: dict[str, _Context] = {}
        name = _name("Replica test authority")
        self._cert = (
            self._builder(name, name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _builder(
        self, subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        own = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=7))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(own, critical=False)
        )

    @property
    def pem(self) -> bytes:
        return self._cert.public_bytes(serialization.Encoding.PEM)

    def write(self, path: str | Path) -> None:
        Path(path).write_bytes(self.pem)

    def context_for(self, host: str) -> _Context:
        """A TLS context factory for Twisted with a certificate for `host`."""
        if host not in self._contexts:
            key = ec.generate_private_key(ec.SECP256R1())
            usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
            names = x509.SubjectAlternativeName([x509.DNSName(host)])
            cert = (
                self._builder(_name(host), self._cert.subject, key.public_key())
                .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
                .add_extension(_usage(signs=False), critical=True)
                .add_extension(usage, critical=False)
                .add_extension(names, critical=False)
                .sign(self._key, hashes.SHA256())
            )
            context = SSL.Context(SSL.TLS_SERVER_METHOD)
            context.use_certificate(cert)
            context.use_privatekey(key)
            self._contexts[host] = _Context(context)
        return self._contexts[host]
