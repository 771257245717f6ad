//! A SCRAM client's side of one exchange.

use std::num::NonZeroU32;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use subtle::ConstantTimeEq as _;

use super::credentials::ScramPassword;
use super::error::LoginError;
use crate::scram::{
    MIN_ITERATIONS, MOST_ITERATIONS, ServerFinal, ServerFirst, client_final, client_first_bare,
};

/// What has been said.
#[derive(Debug)]
pub(super) struct ScramClient {
    password: Arc<ScramPassword>,
    nonce: String,
    bare: String,
}

/// What a server has to show.
#[derive(Debug)]
pub(super) struct Expected {
    signature: Bytes,
}

impl ScramClient {
    /// A client with this nonce, and its first message.
    pub(super) fn begin(password: &Arc<ScramPassword>, nonce: String) -> (Self, Bytes) {
        let bare = client_first_bare(&password.user, &nonce, password.by_token);
        let message = format!("n,,{bare}").into();
        (Self { password: Arc::clone(password), nonce, bare }, message)
    }

    /// Answers the server's first message.
    pub(super) fn prove(self, message: &[u8]) -> Result<(Expected, Bytes), LoginError> {
        let first = ServerFirst::parse(message)
            .ok_or(LoginError::Form("the first message of its SCRAM is not one"))?;
        // One that is not longer than ours would be of no chance but ours.
        if !first.nonce.starts_with(&self.nonce) || first.nonce.len() == self.nonce.len() {
            return Err(LoginError::Nonce);
        }
        if first.iterations < MIN_ITERATIONS.unsigned_abs() || first.iterations > MOST_ITERATIONS {
            return Err(LoginError::Iterations(first.iterations));
        }
        let iterations = NonZeroU32::new(first.iterations).ok_or(LoginError::Iterations(0))?;
        let hash = self.password.hash;
        let salted = self.password.salted(&first.salt, iterations);
        let without_proof = client_final(first.nonce);
        // What was parsed as text is text.
        let said = format!("{},{},{without_proof}", self.bare, String::from_utf8_lossy(message));
        let client_key = hash.client_key(&salted);
        let signature = hash.hmac(&hash.hash(&client_key), said.as_bytes());
        let proof: Vec<u8> = client_key.iter().zip(&signature).map(|(left, right)| left ^ right).collect();
        let expected = hash.hmac(&hash.server_key(&salted), said.as_bytes());
        let answer = format!("{without_proof},p={}", STANDARD.encode(proof));
        Ok((Expected { signature: expected }, answer.into()))
    }
}

impl Expected {
    /// Whether the server knows the password, too.
    pub(super) fn check(&self, message: &[u8]) -> Result<(), LoginError> {
        match ServerFinal::parse(message) {
            Some(ServerFinal::Signature(shown)) => {
                let is_right: bool = shown.ct_eq(&self.signature).into();
                if is_right { Ok(()) } else { Err(LoginError::Signature) }
            }
            Some(ServerFinal::Error(error)) => Err(LoginError::Refused(error.to_owned())),
            None => Err(LoginError::Form("the final message of its SCRAM is not one")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;
    use crate::scram::ScramHash;

    fn client(password: &str, nonce: &str) -> ScramClient {
        let password =
            ScramPassword::new(ScramHash::Sha256, "user".to_owned(), Secret::new(password.to_owned()), false);
        let (client, first) = ScramClient::begin(&Arc::new(password), nonce.to_owned());
        assert_eq!(first, format!("n,,n=user,r={nonce}"));
        client
    }

    const CHALLENGE: &[u8] =
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";

    #[test]
    fn the_exchange_of_the_standard_is_ours() {
        let (expected, proof) = client("pencil", "rOprNGfwEbeRWgbNEkqO").prove(CHALLENGE).expect("a proof");
        assert_eq!(
            proof,
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        assert_eq!(expected.check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="), Ok(()));
    }

    #[test]
    fn a_server_that_does_not_know_the_password_is_found_out() {
        let prove = || client("pencil", "rOprNGfwEbeRWgbNEkqO").prove(CHALLENGE).expect("a proof").0;
        for wrong in [
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=",
            "v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
            "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl9",
            "v=",
        ] {
            let error = prove().check(wrong.as_bytes()).expect_err(wrong);
            assert!(matches!(error, LoginError::Signature | LoginError::Form(_)), "{wrong}: {error}");
        }
        assert_eq!(prove().check(b"e=other-error"), Err(LoginError::Refused("other-error".to_owned())));
        assert!(matches!(prove().check(b""), Err(LoginError::Form(_))));
    }

    #[test]
    fn a_challenge_of_another_exchange_and_one_that_is_cheap_or_dear_gets_no_proof() {
        let prove = |challenge: &str| client("pencil", "abc").prove(challenge.as_bytes()).map(|_| ());
        assert_eq!(prove("r=abcdef,s=AAEC,i=4096"), Ok(()));
        for nonce in ["abc", "ab", "abdef", "xabcdef"] {
            assert_eq!(prove(&format!("r={nonce},s=AAEC,i=4096")), Err(LoginError::Nonce), "{nonce}");
        }
        for iterations in [1, 4095, MOST_ITERATIONS + 1, u32::MAX] {
            let wrong = prove(&format!("r=abcdef,s=AAEC,i={iterations}"));
            assert_eq!(wrong, Err(LoginError::Iterations(iterations)));
        }
        assert!(matches!(prove("e=no"), Err(LoginError::Form(_))));
    }

    #[test]
    fn the_same_salt_is_worked_through_once_and_another_anew() {
        let password = ScramPassword::new(ScramHash::Sha512, "u".into(), Secret::new("p".into()), false);
        let salted = |salt: &[u8], count| password.salted(salt, NonZeroU32::new(count).expect("not zero"));
        let derived = |salt: &[u8], count| {
            ScramHash::Sha512.salt_password("p", salt, NonZeroU32::new(count).expect("not zero"))
        };
        for (salt, count) in [(b"a", 1), (b"a", 1), (b"b", 1), (b"b", 2), (b"a", 1)] {
            assert_eq!(salted(salt, count)[..], derived(salt, count)[..]);
        }
    }
}
