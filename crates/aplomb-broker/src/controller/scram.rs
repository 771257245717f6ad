//! Changing passwords for SCRAM (`ScramControlManager`).

use aplomb_protocol::{MetadataRecord, messages as m};
use bytes::Bytes;

use super::draft::Draft;
use super::error::AdminError;
use crate::scram::{MAX_ITERATIONS, MIN_ITERATIONS, ScramHash};

/// What becomes of a user's password.
#[derive(Clone, Copy)]
pub enum ScramChange<'a> {
    /// It is taken away.
    Delete {
        /// Which mechanism's, as on the wire.
        mechanism: i8,
    },
    /// It is this one.
    Set {
        /// Which mechanism's, as on the wire.
        mechanism: i8,
        /// How often it was hashed.
        iterations: i32,
        /// What it was salted with.
        salt: &'a Bytes,
        /// What came of that.
        salted_password: &'a Bytes,
    },
}

impl Draft {
    /// What is written for a change of a user's password.
    ///
    /// # Errors
    /// When the name, the mechanism or the number of iterations is none, or there is no password to
    /// take away or none to set.
    pub fn scram_change(&self, user: &str, change: ScramChange<'_>) -> Result<MetadataRecord, AdminError> {
        let (ScramChange::Delete { mechanism } | ScramChange::Set { mechanism, .. }) = change;
        if user.is_empty() {
            return Err(AdminError::Scram("Username must not be empty"));
        }
        let hash = ScramHash::from_wire(mechanism).ok_or(AdminError::ScramMechanism)?;
        match change {
            ScramChange::Delete { .. } => {
                if !self.image().security.scram.contains_key(&(user.to_owned(), mechanism)) {
                    return Err(AdminError::NoScram);
                }
                Ok(m::RemoveUserScramCredentialRecord { name: user.to_owned(), mechanism }.into())
            }
            ScramChange::Set { iterations, .. } if iterations > MAX_ITERATIONS => {
                Err(AdminError::Scram("Too many iterations"))
            }
            ScramChange::Set { iterations, .. } if iterations < MIN_ITERATIONS => {
                Err(AdminError::Scram("Too few iterations"))
            }
            // Java makes no key of nothing.
            ScramChange::Set { salted_password, .. } if salted_password.is_empty() => {
                Err(AdminError::EmptyScram)
            }
            ScramChange::Set { iterations, salt, salted_password, .. } => {
                Ok(hash.credential(user, salt.clone(), salted_password, iterations).into())
            }
        }
    }

    /// Drafts a change of [`Self::scram_change`].
    ///
    /// # Errors
    /// When the decision has as many records as it may; the draft is as before then.
    pub fn alter_scram(&mut self, change: MetadataRecord) -> Result<(), AdminError> {
        self.check_room(1)?;
        self.push(vec![change]);
        Ok(())
    }
}
