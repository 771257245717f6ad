//! Our half of `tests/oracle-batches`: the commands of its Java program, answered by this crate.
//!
//! `build` writes batches as `name, hex`; `read` says what is in them; `validate` reads `name, hex,
//! rules...` and says what a leader does with the batch. Lines come in by standard input.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a test program: standard streams are all it has, and no request waits for it"
)]

#[path = "../../tests/batches/describe.rs"]
mod describe;
mod sample;

use std::io::{self, BufRead, Write};

use aplomb_model::batch::{
    Codec, Compression, CompressionRule, ProduceRules, TimestampType, validate_produced,
};
use aplomb_model::{ErrorCode, Timestamp};
use bytes::Bytes;

use describe::{describe, hex, unhex};

fn main() -> io::Result<()> {
    let command = std::env::args().nth(1).unwrap_or_default();
    let mut out = io::BufWriter::new(io::stdout().lock());
    match command.as_str() {
        "build" => {
            for (name, batch) in sample::all() {
                writeln!(out, "{name}\t{}", hex(&batch))?;
            }
        }
        "read" => {
            for line in io::stdin().lock().lines() {
                let line = line?;
                let fields: Vec<&str> = line.split('\t').collect();
                writeln!(out, "# {}", fields[0])?;
                for line in describe(&unhex(fields[1]), true) {
                    writeln!(out, "{line}")?;
                }
            }
        }
        "validate" => {
            for line in io::stdin().lock().lines() {
                let line = line?;
                let fields: Vec<&str> = line.split('\t').collect();
                writeln!(out, "# {}", fields[0])?;
                let (rules, now) = rules(&fields[2..]);
                for line in validate(&unhex(fields[1]).into(), &rules, now) {
                    writeln!(out, "{line}")?;
                }
            }
        }
        other => {
            eprintln!("build, read or validate, not {other:?}");
            std::process::exit(2);
        }
    }
    out.flush()
}

fn validate(batch: &Bytes, rules: &ProduceRules, now: Timestamp) -> Vec<String> {
    match validate_produced(batch, rules, now) {
        Ok(valid) => {
            let bytes = [&valid.append.header.as_bytes()[..], &valid.append.records].concat();
            let mut lines = vec![format!("accepted rebuilt={} max={}", valid.rebuilt, valid.max_timestamp.0)];
            lines.extend(describe(&bytes, !valid.rebuilt));
            lines
        }
        Err(rejection) => {
            let records: Vec<String> = rejection.records().iter().map(|r| r.index.to_string()).collect();
            let refusal = format!("refused {} records={}", ErrorCode::from(&rejection), records.join(","));
            vec![refusal, format!("because {rejection}")]
        }
    }
}

/// The fields behind name and bytes, in the order of the Java program's `Rules`.
fn rules(fields: &[&str]) -> (ProduceRules, Timestamp) {
    let number = |at: usize| fields[at].parse::<i64>().expect("a number");
    let millis = |at: usize| (number(at) != i64::MAX).then(|| number(at).unsigned_abs());
    let rules = ProduceRules {
        timestamp_type: match fields[1] {
            "append" => TimestampType::LogAppendTime,
            _ => TimestampType::CreateTime,
        },
        before_max_ms: millis(2),
        after_max_ms: millis(3),
        compaction: fields[4] == "compact",
        compression: match fields[5] {
            "producer" => CompressionRule::KeepProducers,
            name => CompressionRule::Recompress(Compression::from(Codec::from_name(name).expect("a codec"))),
        },
        max_message_bytes: number(6) as usize,
        max_decompressed_message_bytes: number(7) as usize,
        ..ProduceRules::default()
    };
    (rules, Timestamp(number(0)))
}
