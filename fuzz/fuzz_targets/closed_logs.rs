//! Reads bytes as what a clean stop noted of all logs, whose checksum is made to fit, and as what
//! it says of one.

#![no_main]

use aplomb_log::closed::ClosedLog;
use aplomb_log::state_files::ClosedLogs;
use aplomb_model::batch::crc32c;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Some(log) = ClosedLog::parse(data) {
        let written = log.encode();
        let again = ClosedLog::parse(&written).expect("it was just written");
        assert_eq!(again.encode(), written);
    }
    let mut bytes = data.to_vec();
    if let Some(end) = bytes.len().checked_sub(4) {
        let crc = crc32c(&bytes[..end]);
        bytes[end..].copy_from_slice(&crc.to_be_bytes());
    }
    let Ok(logs) = ClosedLogs::parse(bytes.into()) else { return };
    for name in ["orders-0", "orders-1", "\u{1f980}-0", ""] {
        if let Some(log) = logs.find(name) {
            let one = [(name, &log)].into_iter();
            let written = ClosedLogs::encode(logs.broker_epoch(), one);
            let again = ClosedLogs::parse(written.into()).expect("it was just written");
            assert_eq!(again.find(name), Some(log));
        }
    }
});
