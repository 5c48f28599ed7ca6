//! Whether a server's certificate is trusted, by libpq's rules, and a reason in words if it is not.

use std::net::IpAddr;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature_with_raw_key};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{
    CertificateDer, CertificateRevocationListDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::{CertificateError, DigitallySignedStruct, OtherError, RootCertStore, SignatureScheme};
use sha2::{Digest, Sha256, Sha384, Sha512};
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;
use x509_parser::x509::X509Version;

use crate::pem::{certificates, read};
use crate::tls_parameters::{Authorities, Check, Tls};

/// Checks as much of a certificate as is asked for.
#[derive(Debug)]
pub(crate) struct Verifier {
    check: Check,
    /// The name that was given, which the certificate must contain.
    host: String,
    trust: Option<Trust>,
    provider: Arc<CryptoProvider>,
}

/// The trusted authorities.
#[derive(Debug)]
struct Trust {
    authorities: Arc<WebPkiServerVerifier>,
    /// Certificates that are trusted as they are.
    pinned: Vec<CertificateDer<'static>>,
}

/// Why a certificate is not trusted.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Words(String);

impl Verifier {
    pub(crate) fn new(
        tls: &Tls,
        host: &str,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let trust = match tls.check {
            Check::Nothing => None,
            Check::Authority | Check::Host => Some(Trust::new(tls, provider)?),
        };
        Ok(Verifier { check: tls.check, host: host.to_string(), trust, provider: provider.clone() })
    }

    fn verify(
        &self,
        trust: &Trust,
        given: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        now: UnixTime,
    ) -> Result<(), String> {
        let parsed = parse(given).ok_or("it cannot be read")?;
        // A certificate that is itself in the file of trusted ones is the server's: no chain could
        // say more, and the handshake proves that the server has its key. Only this rule trusts an
        // authority's own certificate, which handmade setups often use for the server too, and one
        // of version 1.
        if trust.pinned.iter().any(|pinned| pinned == given) {
            in_time(&parsed, now)?;
        } else {
            match trust.authorities.verify_server_cert(given, intermediates, host, &[], now) {
                Ok(_) => {}
                // The name is checked last, after everything else, and by this module.
                Err(rustls::Error::InvalidCertificate(
                    CertificateError::NotValidForName
                    | CertificateError::NotValidForNameContext { .. },
                )) => {}
                Err(error) => {
                    // A wrong date is reported even where webpki found another error first.
                    in_time(&parsed, now)?;
                    return Err(chain_words(&error, &parsed));
                }
            }
        }
        match self.check {
            Check::Host => is_for(&parsed, &self.host),
            Check::Nothing | Check::Authority => Ok(()),
        }
    }
}

impl Trust {
    fn new(tls: &Tls, provider: &Arc<CryptoProvider>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let pinned = match &tls.authorities {
            Authorities::System => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                Vec::new()
            }
            Authorities::File(file) => {
                let found = certificates(file)?;
                let shown = file.display();
                for certificate in &found {
                    roots
                        .add(certificate.clone())
                        .map_err(|_| format!("'{shown}' has a certificate that cannot be read"))?;
                }
                // A revocation list applies to chains: with one, nothing is trusted without a
                // chain.
                if tls.revoked.is_empty() { found } else { Vec::new() }
            }
        };
        let mut builder =
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        if !tls.revoked.is_empty() {
            let mut lists = Vec::new();
            for file in &tls.revoked {
                let text = read(file)?;
                let found: Result<Vec<_>, _> =
                    CertificateRevocationListDer::pem_slice_iter(&text).collect();
                let wrong =
                    |_| format!("'{}' is not a certificate revocation list in PEM", file.display());
                lists.extend(found.map_err(wrong)?);
            }
            builder = builder.with_crls(lists).enforce_revocation_expiration();
        }
        let authorities = builder.build().map_err(|error| error.to_string())?;
        Ok(Trust { authorities, pinned })
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        host: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(trust) = &self.trust {
            self.verify(trust, certificate, intermediates, host, now).map_err(|words| {
                let error = OtherError(Arc::new(Words(words)));
                rustls::Error::InvalidCertificate(CertificateError::Other(error))
            })?;
        }
        Ok(ServerCertVerified::assertion())
    }

    /// The signature is checked in any case. webpki does not read certificates of version 1;
    /// another parser does, and only its key is used.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let parsed = parse(certificate).ok_or(CertificateError::BadEncoding)?;
        if parsed.version() == X509Version::V3 {
            return verify_tls12_signature(message, certificate, signature, algorithms);
        }
        let key = &parsed.public_key().subject_public_key.data;
        let scheme = signature.scheme;
        let known = algorithms.mapping.iter().find(|(known, _)| *known == scheme);
        // A scheme of TLS 1.2 leaves the curve open: every curve of such keys is tried.
        let is_signed = known.is_some_and(|(_, algorithms)| {
            algorithms.iter().any(|algorithm| {
                let is_of_key = contents(parsed.public_key().raw)
                    .and_then(contents)
                    .is_some_and(|id| id == algorithm.public_key_alg_id().as_ref());
                is_of_key && algorithm.verify_signature(key, message, signature.signature()).is_ok()
            })
        });
        match is_signed {
            true => Ok(HandshakeSignatureValid::assertion()),
            false => Err(CertificateError::BadSignature.into()),
        }
    }

    /// Checks a signature by the key only, which is taken from certificates of any version.
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        let parsed = parse(certificate).ok_or(CertificateError::BadEncoding)?;
        let key = SubjectPublicKeyInfoDer::from(parsed.public_key().raw);
        verify_tls13_signature_with_raw_key(message, &key, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// The certificate, if nothing follows it.
fn parse<'a>(certificate: &'a CertificateDer<'_>) -> Option<X509Certificate<'a>> {
    let (rest, parsed) = X509Certificate::from_der(certificate).ok()?;
    rest.is_empty().then_some(parsed)
}

/// The contents of an element of DER, without its tag and length.
fn contents(element: &[u8]) -> Option<&[u8]> {
    match *element.get(1)? {
        short @ 0..0x80 => element.get(2..2 + usize::from(short)),
        long => element.get(2 + usize::from(long & 0x7f)..),
    }
}

fn in_time(certificate: &X509Certificate<'_>, now: UnixTime) -> Result<(), String> {
    let (now, validity) = (now.as_secs() as i64, certificate.validity());
    let (by, whose) = (issuer(certificate), hosts(certificate));
    if now > validity.not_after.timestamp() {
        let date = date(validity.not_after);
        return Err(format!("it expired on {date} (it is for {whose}, issued by '{by}')"));
    }
    if now < validity.not_before.timestamp() {
        let date = date(validity.not_before);
        return Err(format!("it is not valid before {date}. Check the clock of this machine"));
    }
    Ok(())
}

fn date(time: ASN1Time) -> String {
    let time = time.to_datetime();
    let (hour, minute) = (time.hour(), time.minute());
    format!("{} {hour:02}:{minute:02} UTC", time.date())
}

fn issuer(certificate: &X509Certificate<'_>) -> String {
    certificate.issuer().to_string()
}

/// Why there is no chain of trust to it.
fn chain_words(error: &rustls::Error, certificate: &X509Certificate<'_>) -> String {
    use CertificateError as Wrong;
    let by = issuer(certificate);
    let rustls::Error::InvalidCertificate(wrong) = error else { return error.to_string() };
    match wrong {
        // The signature is bad where an authority of the same name is trusted, since that of every
        // MySQL server has the same name.
        Wrong::UnknownIssuer | Wrong::BadSignature => {
            format!("no trusted authority has signed it (it is issued by '{by}')")
        }
        Wrong::Revoked => format!("its authority '{by}' has revoked it"),
        Wrong::UnknownRevocationStatus => {
            format!("there is no revocation list of its authority '{by}'")
        }
        Wrong::ExpiredRevocationList | Wrong::ExpiredRevocationListContext { .. } => {
            format!("the revocation list of '{by}' is out of date")
        }
        Wrong::InvalidPurpose | Wrong::InvalidPurposeContext { .. } => {
            "it is not for servers (its extended key usage)".to_string()
        }
        Wrong::UnhandledCriticalExtension => {
            "it has a critical extension that rqps does not know".to_string()
        }
        _ if certificate.version() != X509Version::V3 => {
            "it is X.509 version 1, for which rqps follows no chain. Name this certificate itself as \
             trusted, or create one of version 3"
                .to_string()
        }
        _ if certificate.is_ca() => {
            "it is the certificate of an authority that is not trusted".to_string()
        }
        _ => format!("rqps does not support the form of it or of its authority's ('{by}')"),
    }
}

/// Whether a certificate is for a host: one of its alternative names, or its common name if it has
/// no alternative one of a host's kind (libpq's rule, RFC 6125 sections 6.4 and B.2).
fn is_for(certificate: &X509Certificate<'_>, host: &str) -> Result<(), String> {
    let address: Option<IpAddr> = host.parse().ok();
    let named = names(certificate).iter().any(|name| match (name, address) {
        (Name::Host(name), None) => matches(name, host),
        // Before alternative names for addresses existed, addresses were written as hosts.
        (Name::Host(name), Some(_)) => name.eq_ignore_ascii_case(host),
        (Name::Address(name), Some(address)) => *name == address,
        (Name::Address(_), None) => false,
    });
    match named {
        true => Ok(()),
        false => Err(format!("it is for another host: {}, not for {host}", hosts(certificate))),
    }
}

/// The names in a certificate.
enum Name {
    Host(String),
    Address(IpAddr),
}

fn names(certificate: &X509Certificate<'_>) -> Vec<Name> {
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let mut names: Vec<Name> = Vec::new();
    for name in alternative.iter().flat_map(|extension| &extension.value.general_names) {
        match name {
            GeneralName::DNSName(name) => names.push(Name::Host((*name).to_string())),
            GeneralName::IPAddress(bytes) => {
                let v4 = <[u8; 4]>::try_from(*bytes).map(IpAddr::from).ok();
                let address = v4.or_else(|| <[u8; 16]>::try_from(*bytes).map(IpAddr::from).ok());
                names.extend(address.map(Name::Address));
            }
            _ => {}
        }
    }
    if names.is_empty() {
        let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        names.extend(common.map(|name| Name::Host(name.to_string())));
    }
    names
}

/// A name of a certificate may have a star in place of its first label, and of that alone.
fn matches(name: &str, host: &str) -> bool {
    let host = host.trim_end_matches('.');
    match name.strip_prefix("*.") {
        None => name.eq_ignore_ascii_case(host),
        Some(domain) => host
            .split_once('.')
            .is_some_and(|(label, rest)| !label.is_empty() && rest.eq_ignore_ascii_case(domain)),
    }
}

fn hosts(certificate: &X509Certificate<'_>) -> String {
    let names: Vec<String> = names(certificate)
        .into_iter()
        .map(|name| match name {
            Name::Host(name) => name,
            Name::Address(address) => address.to_string(),
        })
        .collect();
    if names.is_empty() { "no host".to_string() } else { names.join(", ") }
}

/// The hash of a certificate that binds a login to its TLS connection: by the hash of its
/// signature, at least SHA-256 (RFC 5929, section 4.1). None where the signature has no hash of its
/// own.
pub(crate) fn end_point(certificate: &CertificateDer<'_>) -> Option<Vec<u8>> {
    let parsed = parse(certificate)?;
    let hash = match parsed.signature_algorithm.algorithm.to_id_string().as_str() {
        // MD5, SHA-1 and SHA-256 with RSA; SHA-1 and SHA-256 with ECDSA.
        "1.2.840.113549.1.1.4"
        | "1.2.840.113549.1.1.5"
        | "1.2.840.113549.1.1.11"
        | "1.2.840.10045.4.1"
        | "1.2.840.10045.4.3.2" => Sha256::digest(certificate).to_vec(),
        "1.2.840.113549.1.1.12" | "1.2.840.10045.4.3.3" => Sha384::digest(certificate).to_vec(),
        "1.2.840.113549.1.1.13" | "1.2.840.10045.4.3.4" => Sha512::digest(certificate).to_vec(),
        _ => return None,
    };
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_label() {
        for (name, host, expected) in [
            ("db.example", "db.example", true),
            ("DB.example", "db.EXAMPLE", true),
            ("*.example", "db.example", true),
            ("*.example", "a.db.example", false),
            ("*.example", "example", false),
            ("*.example", ".example", false),
            ("d*.example", "db.example", false),
            ("db.example", "other.example", false),
        ] {
            assert_eq!(matches(name, host), expected, "{name} {host}");
        }
    }
}
