//! A quota of the broker's for a client, as an administrator sets one.

use aplomb_bench::Asker;
use aplomb_protocol::messages::alter_client_quotas_request::{EntityData, EntryData, OpData};
use aplomb_protocol::messages::{AlterClientQuotasRequest, AlterClientQuotasResponse};

use super::WorkloadError;

/// Which quota: bytes a second that producers of the client may send to a broker.
const KEY: &str = "producer_byte_rate";
const WHAT: &str = "setting a client's quota";

/// Lets clients of this id produce so many bytes a second, or, without a figure, as many as they
/// want.
///
/// # Errors
/// When the broker has gone or refuses.
pub(crate) fn set(address: &str, client: &str, bytes: Option<u64>) -> Result<(), WorkloadError> {
    let failed = |error| WorkloadError::Bench { what: WHAT, error };
    let mut asker = Asker::connect(address, "aplomb-lab").map_err(failed)?;
    let answer: AlterClientQuotasResponse = asker.ask(&request(client, bytes)).map_err(failed)?;
    match answer.entries.into_iter().find(|entry| entry.error_code != 0) {
        Some(entry) => {
            let why = entry.error_message.unwrap_or_else(|| format!("error {}", entry.error_code));
            Err(WorkloadError::System { what: WHAT, error: std::io::Error::other(why) })
        }
        None => Ok(()),
    }
}

fn request(client: &str, bytes: Option<u64>) -> AlterClientQuotasRequest {
    AlterClientQuotasRequest {
        entries: vec![EntryData {
            entity: vec![EntityData {
                entity_type: "client-id".to_owned(),
                entity_name: Some(client.to_owned()),
            }],
            ops: vec![OpData {
                key: KEY.to_owned(),
                value: bytes.map_or(0.0, |bytes| bytes as f64),
                remove: bytes.is_none(),
            }],
        }],
        validate_only: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_is_set_for_one_client_and_taken_away_from_it() {
        let (set, removed) = (request("c", Some(5)), request("c", None));
        let op = |request: &AlterClientQuotasRequest| {
            let OpData { key, value, remove } = &request.entries[0].ops[0];
            (key.clone(), *value, *remove)
        };
        assert_eq!(op(&set), (KEY.to_owned(), 5.0, false));
        assert_eq!(op(&removed), (KEY.to_owned(), 0.0, true));
        assert_eq!(set.entries[0].entity, removed.entries[0].entity);
    }
}
