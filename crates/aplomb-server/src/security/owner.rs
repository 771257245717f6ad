//! Whose a key store is. Another owner's is not taken for it where that may be a mistake
//! (`SslFactory.CertificateEntries`).

use std::collections::BTreeSet;

use super::der::{Broken, Der, EXPLICIT_0, OCTETS, OID, SEQUENCE};
use super::names::distinguished_name;

/// Tags of what may stand between a certificate's key and its extensions, and around these.
const UNIQUE_IDS: [u8; 2] = [0x81, 0x82];
const EXTENSIONS: u8 = 0xa3;
const BOOLEAN: u8 = 0x01;
/// `subjectAltName`
const ALTERNATIVE_NAMES: &[u8] = &[0x55, 0x1d, 17];

/// Names that a store may have or must have, compared with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerRules {
    /// It may be another owner's (`ssl.allow.dn.changes`).
    pub allows_other_owner: bool,
    /// It may lack alternative names (`ssl.allow.san.changes`).
    pub allows_fewer_names: bool,
}

/// Who a certificate is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    name: String,
    /// As they are in it.
    alternatives: BTreeSet<Vec<u8>>,
}

impl Owner {
    pub(super) fn of(certificate: &[u8]) -> Option<Self> {
        let alternatives = alternatives(certificate).ok()?;
        Some(Self { name: distinguished_name(certificate)?, alternatives })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// Why these cannot follow those, by the rules; `None` if they can.
pub(super) fn difference(old: &[Owner], new: &[Owner], rules: OwnerRules) -> Option<String> {
    if rules.allows_other_owner && rules.allows_fewer_names {
        return None;
    }
    if old.len() != new.len() {
        return Some(format!("there are {} keys in it, and {} in the one before", new.len(), old.len()));
    }
    old.iter().zip(new).find_map(|(old, new)| {
        if !rules.allows_other_owner && !old.name.eq_ignore_ascii_case(&new.name) {
            return Some(format!(
                "it is of {}, and the one before of {} (ssl.allow.dn.changes)",
                new.name, old.name
            ));
        }
        let lacks = !rules.allows_fewer_names && !old.alternatives.is_subset(&new.alternatives);
        lacks.then(|| "it lacks alternative names that the one before has (ssl.allow.san.changes)".to_owned())
    })
}

/// The alternative names in a certificate.
fn alternatives(certificate: &[u8]) -> Result<BTreeSet<Vec<u8>>, Broken> {
    let mut parts = Der::new(certificate).inside(SEQUENCE)?.inside(SEQUENCE)?;
    parts.optional(EXPLICIT_0)?; // version
    for _ in ["serial number", "algorithm", "issuer", "validity", "subject", "key"] {
        parts.value()?;
    }
    for tag in UNIQUE_IDS {
        parts.optional(tag)?;
    }
    let Some(extensions) = parts.optional(EXTENSIONS)? else { return Ok(BTreeSet::new()) };
    let mut extensions = Der::new(extensions).inside(SEQUENCE)?;
    while !extensions.is_empty() {
        let mut extension = extensions.inside(SEQUENCE)?;
        let kind = extension.expect(OID)?;
        extension.optional(BOOLEAN)?; // whether it is critical
        if kind == ALTERNATIVE_NAMES {
            let mut names = Der::new(extension.expect(OCTETS)?).inside(SEQUENCE)?;
            let mut found = BTreeSet::new();
            while !names.is_empty() {
                found.insert(names.value()?.2.to_vec());
            }
            return Ok(found);
        }
    }
    Ok(BTreeSet::new())
}

#[cfg(test)]
mod tests {
    use super::super::der::wrap;
    use super::super::golden::{ALICE, BOB};
    use super::*;

    const STRICT: OwnerRules = OwnerRules { allows_other_owner: false, allows_fewer_names: false };

    fn owner(name: &str, alternatives: &[&[u8]]) -> Owner {
        let alternatives = alternatives.iter().map(|name| name.to_vec()).collect();
        Owner { name: name.to_owned(), alternatives }
    }

    #[test]
    fn an_owner_and_its_names_may_change_only_where_that_is_allowed() {
        let old = [owner("CN=a", &[b"one", b"two"])];
        let (more, fewer) = ([owner("cn=A", &[b"one", b"two", b"three"])], [owner("CN=a", &[b"one"])]);
        let other = [owner("CN=b", &[b"one", b"two"])];
        assert_eq!(difference(&old, &more, STRICT), None);
        assert!(difference(&old, &fewer, STRICT).is_some_and(|why| why.contains("ssl.allow.san.changes")));
        assert!(difference(&old, &other, STRICT).is_some_and(|why| why.contains("ssl.allow.dn.changes")));
        assert!(difference(&old, &[], STRICT).is_some_and(|why| why.contains("0 keys")));
        let other_owner = OwnerRules { allows_other_owner: true, ..STRICT };
        let fewer_names = OwnerRules { allows_fewer_names: true, ..STRICT };
        assert_eq!(difference(&old, &other, other_owner), None);
        assert!(difference(&old, &fewer, other_owner).is_some());
        assert_eq!(difference(&old, &fewer, fewer_names), None);
        assert!(difference(&old, &other, fewer_names).is_some());
        let both = OwnerRules { allows_other_owner: true, allows_fewer_names: true };
        assert_eq!(difference(&old, &[], both), None);
    }

    #[test]
    fn an_owner_is_read_from_a_certificate() {
        let (alice, bob) = (Owner::of(ALICE).expect("alice"), Owner::of(BOB).expect("bob"));
        assert_ne!(alice.name, bob.name);
        assert!(Owner::of(&ALICE[..ALICE.len() - 1]).is_none() && Owner::of(b"").is_none());
        let name = |text: &[u8]| wrap(0x82, text);
        let names = [name(b"localhost"), name(b"broker")].concat();
        let extension = |kind: &[u8], more: &[u8], content: &[u8]| {
            wrap(SEQUENCE, &[&wrap(OID, kind), more, &wrap(OCTETS, content)].concat())
        };
        let critical = wrap(BOOLEAN, &[0xff]);
        let extensions = [
            extension(&[0x55, 0x1d, 19], &critical, &wrap(SEQUENCE, &[])),
            extension(ALTERNATIVE_NAMES, &[], &wrap(SEQUENCE, &names)),
        ];
        let others: Vec<u8> = (0..6).flat_map(|n| wrap(SEQUENCE, &[0; 3][..n % 3])).collect();
        let of = |extensions: &[u8]| {
            let parts = [&wrap(EXPLICIT_0, &[2]), &others[..], &wrap(0x81, &[0]), extensions].concat();
            alternatives(&wrap(SEQUENCE, &wrap(SEQUENCE, &parts)))
        };
        let both = of(&wrap(EXTENSIONS, &wrap(SEQUENCE, &extensions.concat())));
        assert_eq!(both, Ok(BTreeSet::from([name(b"localhost"), name(b"broker")])));
        assert_eq!(of(&[]), Ok(BTreeSet::new()));
    }
}
