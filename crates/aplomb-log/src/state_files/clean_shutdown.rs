//! `.kafka_cleanshutdown`: there if the last stop was clean, with the broker epoch of that run
//! (`org.apache.kafka.storage.internals.checkpoint.CleanShutdownFileHandler`).
//!
//! That the file exists is what counts: whatever it holds, the stop was clean. Older brokers wrote
//! it empty. A starting broker reads it and deletes it at once.

/// The broker epoch that a clean stop left behind, if it left one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CleanShutdown {
    /// Sent to the controller as the epoch of the run before; `None` if the file does not say.
    pub broker_epoch: Option<i64>,
}

impl CleanShutdown {
    /// The file's text for a run with that epoch. An epoch that was not held must never be written.
    #[must_use]
    pub fn encode(broker_epoch: i64) -> String {
        format!(r#"{{"version":0,"brokerEpoch":{broker_epoch}}}"#)
    }

    /// Reads the file. Anything that is not understood is a clean stop without an epoch, as in
    /// Apache Kafka.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Self {
        let content: Option<serde_json::Value> = serde_json::from_slice(bytes).ok();
        Self { broker_epoch: content.and_then(|content| content.get("brokerEpoch")?.as_i64()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_text_is_apache_kafkas() {
        assert_eq!(CleanShutdown::encode(4711), r#"{"version":0,"brokerEpoch":4711}"#);
    }

    #[test]
    fn an_empty_or_strange_file_has_no_epoch() {
        for text in ["", "{", "[]", "{}", r#"{"brokerEpoch":null}"#, r#"{"brokerEpoch":1e99}"#] {
            assert_eq!(CleanShutdown::parse(text.as_bytes()), CleanShutdown { broker_epoch: None }, "{text}");
        }
        let later = br#"{"version":7,"brokerEpoch":-1,"more":[1]}"#;
        assert_eq!(CleanShutdown::parse(later).broker_epoch, Some(-1));
    }

    proptest! {
        #[test]
        fn an_epoch_reads_back_as_it_was_written(epoch: i64) {
            let text = CleanShutdown::encode(epoch);
            prop_assert_eq!(CleanShutdown::parse(text.as_bytes()).broker_epoch, Some(epoch));
        }

        #[test]
        fn no_bytes_make_a_reader_panic(bytes: Vec<u8>) {
            let _ = CleanShutdown::parse(&bytes);
        }
    }
}
