//! Batches as text, in the form that the Java program of `tests/oracle-batches` writes too.
//!
//! One line for a batch, one for each of its records, "broken" where reading them ends.

use aplomb_model::batch::{BatchView, Batches, RecordRef, TimestampType, crc32c};

/// The most that a batch of these tests stands for, in bytes.
const LIMIT: usize = 64 << 20;

/// Says what is in the batches; sizes and checksums only if `exactly`.
pub(crate) fn describe(bytes: &[u8], exactly: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for batch in Batches::new(bytes).checked() {
        lines.push(head(&batch, exactly));
        let Ok(plain) = batch.uncompressed(LIMIT) else {
            lines.push("broken".to_owned());
            continue;
        };
        for record in batch.records(&plain) {
            match record {
                Ok(record) => lines.push(line(&batch, &record)),
                Err(_) => lines.push("broken".to_owned()),
            }
        }
    }
    lines
}

fn head(batch: &BatchView<'_>, exactly: bool) -> String {
    let header = &batch.header;
    let mut line = format!(
        "batch offsets={}..{} epoch={} codec={} time={} transactional={} control={} horizon={} base={} max={} \
         producer={} sequence={} count={}",
        header.base_offset(),
        header.last_offset(),
        header.leader_epoch().map_or("-1".to_owned(), |epoch| epoch.to_string()),
        header.codec().map_or("unknown", |codec| codec.name()),
        match header.timestamp_type() {
            TimestampType::CreateTime => "create",
            TimestampType::LogAppendTime => "append",
        },
        header.is_transactional(),
        header.is_control(),
        header.delete_horizon().map_or("none".to_owned(), |horizon| horizon.0.to_string()),
        header.base_timestamp().0,
        header.max_timestamp().0,
        header.producer().map_or("none".to_owned(), |producer| {
            format!("{}/{}/{}", producer.id.to_wire(), producer.epoch.0, producer.base_sequence)
        }),
        header.producer().and(header.last_sequence()).unwrap_or(-1),
        header.count(),
    );
    if exactly {
        line += &format!(" size={} crc={}", header.size(), header.crc());
    }
    line
}

fn line(batch: &BatchView<'_>, record: &RecordRef<'_>) -> String {
    // Java's header keys are strings, which cannot say what bytes they were if these are not UTF-8.
    let key = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(char::REPLACEMENT_CHARACTER) => hex(bytes),
        Ok(_) | Err(_) => "garbled".to_owned(),
    };
    let headers: Vec<String> =
        record.headers.iter().map(|h| format!("{}:{}", key(h.key), or_null(h.value))).collect();
    // Java's arithmetic, which wraps, so that even nonsense can be compared.
    let offset = batch.header.base_offset().to_wire().wrapping_add(i64::from(record.offset_delta));
    format!(
        "record offset={offset} time={} key={} value={} headers=[{}]",
        batch.header.record_timestamp(record.timestamp_delta).0,
        or_null(record.key),
        or_null(record.value),
        headers.join(",")
    )
}

fn or_null(bytes: Option<&[u8]>) -> String {
    match bytes {
        None => "null".to_owned(),
        Some(bytes) if bytes.len() <= 40 => hex(bytes),
        Some(bytes) => format!("{}#{}", bytes.len(), crc32c(bytes)),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// # Panics
/// If `text` is not what [`hex`] writes.
pub(crate) fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2) && text.is_ascii(), "pairs of digits");
    let pair = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal digits");
    (0..text.len()).step_by(2).map(pair).collect()
}
