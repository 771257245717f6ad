//! Changing passwords for SCRAM (`ScramControlManager`).

use aplomb_protocol::MetadataRecord;
use aplomb_protocol::messages as m;
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
    /// What a change of a user's password is in the log.
    ///
    /// # Errors
    /// When the name, the mechanism, the number of iterations or the password is none, or there is
    /// none to take away.
    pub fn scram_record(&self, user: &str, change: ScramChange<'_>) -> Result<MetadataRecord, AdminError> {
        let (ScramChange::Delete { mechanism } | ScramChange::Set { mechanism, .. }) = change;
        if user.is_empty() {
            return Err(AdminError::Scram("Username must not be empty"));
        }
        let hash = ScramHash::from_wire(mechanism).ok_or(AdminError::ScramMechanism)?;
        let record = match change {
            ScramChange::Delete { .. } => {
                if !self.image().security.scram.contains_key(&(user.to_owned(), mechanism)) {
                    return Err(AdminError::NoScram);
                }
                m::RemoveUserScramCredentialRecord { name: user.to_owned(), mechanism }.into()
            }
            ScramChange::Set { iterations, .. } if iterations > MAX_ITERATIONS => {
                return Err(AdminError::Scram("Too many iterations"));
            }
            ScramChange::Set { iterations, .. } if iterations < MIN_ITERATIONS => {
                return Err(AdminError::Scram("Too few iterations"));
            }
            ScramChange::Set { salted_password, .. } if salted_password.is_empty() => {
                return Err(AdminError::Scram("Empty salted password"));
            }
            ScramChange::Set { iterations, salt, salted_password, .. } => {
                hash.credential(user, salt.clone(), salted_password, iterations).into()
            }
        };
        Ok(record)
    }

    /// Drafts such a change.
    ///
    /// # Errors
    /// When there are too many.
    pub fn alter_scram(&mut self, record: MetadataRecord) -> Result<(), AdminError> {
        self.check_room(1)?;
        self.push(vec![record]);
        Ok(())
    }
}
