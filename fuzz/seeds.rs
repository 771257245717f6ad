//! Writes the corpora that fuzzing starts from: `seeds GOLDEN.tsv STORES CORPUS`.
//!
//! Batches come from the golden file that Java wrote, one `name, hex` a line, and stores of keys
//! from a folder that keytool and openssl filled; the rest is made here.
//!
//! Built as targets are, and so with libFuzzer: as an ordinary program, all that it needs would be
//! compiled once more.

#![no_main]

mod security;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use aplomb_log::index::{
    AbortedTransaction, OffsetIndexBuilder, OffsetPosition, TimeIndexBuilder, TimestampOffset,
};
use aplomb_model::batch::{Batches, Codec, decompress};
use aplomb_model::{BrokerId, DirectoryId, Offset, ProducerId, Timestamp, Uuid};
use aplomb_protocol::ApiKey;
use libfuzzer_sys::fuzz_target;

// Nothing is fuzzed: what libFuzzer does first is all that is wanted of it.
fuzz_target!(init: run(), |_data: &[u8]| ());

/// Writes them as the arguments say, and exits.
fn run() {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let written = match &args[..] {
        [golden, stores, corpus] => write(golden, stores, corpus),
        _ => Err("usage: seeds GOLDEN.tsv STORES CORPUS".into()),
    };
    if let Err(why) = &written {
        eprintln!("seeds: {why}");
    }
    std::process::exit(i32::from(written.is_err()));
}

fn write(golden: &Path, stores: &Path, corpus: &Path) -> Result<(), Box<dyn Error>> {
    for line in fs::read_to_string(golden)?.lines() {
        let (name, hex) = line.split_once('\t').ok_or("a line has a name and bytes")?;
        batch(corpus, name, &unhex(hex)?)?;
    }
    messages(corpus)?;
    groups(corpus)?;
    tokens(corpus)?;
    transactions(corpus)?;
    recordings(corpus)?;
    jvm(corpus)?;
    security::seeds(corpus, stores)?;
    files(corpus)
}

fn put(corpus: &Path, target: &str, name: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    let directory = corpus.join(target);
    fs::create_dir_all(&directory)?;
    Ok(fs::write(directory.join(name), bytes)?)
}

fn batch(corpus: &Path, name: &str, bytes: &[u8]) -> Result<(), Box<dyn Error>> {
    put(corpus, "batches", name, bytes)?;
    let view = Batches::new(bytes).next().ok_or("a golden batch")?;
    let (codec, packed) = (view.header.codec()?, view.record_bytes());
    if codec != Codec::None {
        put(corpus, &format!("decompress_{codec}"), name, &packed)?;
    }
    let plain = decompress(codec, &packed, 1 << 24)?;
    if plain.len() < 4096 {
        put(corpus, "records", name, &[&[view.header.count() as u8], &plain[..]].concat())?;
    }
    for rules in [[0, 9], [28, 4], [32, 3], [4, 0]] {
        let mut produced = [&rules[..], bytes].concat();
        produced[2..10].fill(0);
        put(corpus, "validate_produced", &format!("{name}-{}-{}", rules[0], rules[1]), &produced)?;
    }
    Ok(())
}

/// A token's header and claims, and sets of keys of every kind.
fn tokens(corpus: &Path) -> Result<(), Box<dyn Error>> {
    let claims = r#"{"sub":"alice","aud":["kafka"],"iss":"idp","iat":1799999990,"exp":1800003600,"nbf":1.8e9,"scope":["a","b"],"jti":"1"}"#;
    for (name, header) in
        [("signed", r#"{"alg":"EdDSA","kid":"k","typ":"JWT"}"#), ("unsigned", r#"{"alg":"none"}"#)]
    {
        put(corpus, "tokens", name, format!("{header}\0{claims}").as_bytes())?;
    }
    let [short, long] = [43, 342].map(|length| "A".repeat(length).replacen('A', "B", 1));
    let keys = [
        format!(r#"{{"kty":"RSA","kid":"a","use":"sig","alg":"RS256","n":"{long}","e":"AQAB"}}"#),
        format!(r#"{{"kty":"EC","kid":"b","crv":"P-256","x":"{short}","y":"{short}","key_ops":["verify"]}}"#),
        format!(r#"{{"kty":"OKP","kid":"c","crv":"Ed25519","x":"{short}","x5t":"t","x5t#S256":"u"}}"#),
        r#"{"kty":"oct","kid":"d","k":"AAAA"}"#.to_owned(),
    ];
    put(corpus, "key_sets", "all", format!(r#"{{"keys":[{}]}}"#, keys.join(",")).as_bytes())
}

/// Every API in every version, with bodies of zeros and of small numbers, which are empty and short
/// arrays.
fn messages(corpus: &Path) -> Result<(), Box<dyn Error>> {
    for api in ApiKey::ALL {
        for version in api.versions().iter() {
            let head = [api.key().to_be_bytes(), version.to_be_bytes()].concat();
            for (filling, body) in [("zeros", [0; 160]), ("ones", [1; 160]), ("twos", [2; 160])] {
                let name = format!("{}-{version}-{filling}", api.name());
                for target in ["requests", "responses"] {
                    put(corpus, target, &name, &[&head[..], &body].concat())?;
                }
            }
            let frame = [&[0, 0, 0, 14][..], &head, &7i32.to_be_bytes(), &[0, 2, b'm', b'e', 0, 0]].concat();
            put(
                corpus,
                "frames",
                &format!("{}-{version}", api.name()),
                &[&[3][..], &frame, &frame].concat(),
            )?;
        }
    }
    for key in 0..30 {
        for filling in 0..3 {
            let value = [&[1, key, 0][..], &[filling; 60]].concat();
            put(corpus, "metadata_records", &format!("{key}-{filling}"), &value)?;
        }
    }
    Ok(())
}

/// Records of groups and what members send, with bodies of small numbers; and patterns.
fn groups(corpus: &Path) -> Result<(), Box<dyn Error>> {
    for filling in 0..3u8 {
        for kind in 0..25u8 {
            let key = [&[2 + 20, 0, kind][..], &[filling; 20]].concat();
            put(corpus, "group_records", &format!("{kind}-{filling}-tombstone"), &key)?;
            for version in 0..5u8 {
                let record = [&key[..], &[0, version], &[filling; 60]].concat();
                put(corpus, "group_records", &format!("{kind}-{filling}-{version}"), &record)?;
            }
        }
        for version in 0..4u8 {
            let said = [&[0, version][..], &[filling; 60]].concat();
            put(corpus, "group_members", &format!("{version}-{filling}"), &said)?;
        }
    }
    let patterns = [
        "orders|payments",
        "(?i)a[[:^alpha:]\\pL-]{2,}",
        "(?P<n>\\Qa*\\E)+?",
        "[^]\\x{4b}a-\\07]",
        "(?s-i:.)|^\\bx$",
        "((a{31}){31})*",
        "\\p{^Greek}\\D*",
        "x*(?i)*(?m)+",
        "[a&&b]\\z\0a",
    ];
    for (number, pattern) in patterns.iter().enumerate() {
        put(corpus, "group_expressions", &format!("{number}"), pattern.as_bytes())?;
    }
    Ok(())
}

/// Records of transactions, in each state, without partitions and with some.
fn transactions(corpus: &Path) -> Result<(), Box<dyn Error>> {
    let key = [6, 0, 0, 0, 2, b't', b'x'];
    put(corpus, "txn_records", "tombstone", &key)?;
    for status in 0..8u8 {
        let fixed = [&[0; 7][..], &[9, 0, 3, 0, 0, 200, 0, status]].concat();
        let none = [&key[..], &[0, 0], &fixed, &[0xff; 4], &[1; 16]].concat();
        put(corpus, "txn_records", &format!("{status}-0"), &none)?;
        let some = [2, 3, b'o', b'r', 2, 0, 0, 0, 1, 0];
        let some = [&key[..], &[0, 1], &fixed, &some, &[1; 16], &[0]].concat();
        put(corpus, "txn_records", &format!("{status}-1"), &some)?;
    }
    Ok(())
}

/// A recording of JFR with a wait, its thread and its stack; finished, unfinished, and twice.
fn recordings(corpus: &Path) -> Result<(), Box<dyn Error>> {
    let texts = [
        "root",
        "metadata",
        "class",
        "field",
        "name",
        "id",
        "constantPool",
        "true",
        "dimension",
        "1",
        "startTime",
        "sampledThread",
        "stackTrace",
        "frames",
        "method",
        "osThreadId",
        "type",
        "state",
        "10",
        "long",
        "13",
        "java.lang.String",
        "20",
        "java.lang.Thread",
        "22",
        "java.lang.Class",
        "23",
        "jdk.types.Method",
        "24",
        "jdk.types.StackFrame",
        "25",
        "jdk.types.StackTrace",
        "26",
        "jdk.types.ThreadState",
        "30",
        "profiler.WallClockSample",
    ];
    let number = |text: &str| texts.iter().position(|each| *each == text).map(|at| at as u8).ok_or("a text");
    // A type: its number, and its fields: name, type, and whether it is pooled or an array.
    type Fields = &'static [(&'static str, &'static str, &'static str)];
    let types: [(&str, Fields); 9] = [
        ("10", &[]),
        ("13", &[]),
        ("20", &[("name", "13", ""), ("osThreadId", "10", "")]),
        ("22", &[("name", "13", "")]),
        ("23", &[("type", "22", "constantPool"), ("name", "13", "")]),
        ("24", &[("method", "23", "constantPool")]),
        ("25", &[("frames", "24", "dimension")]),
        ("26", &[("name", "13", "")]),
        (
            "30",
            &[
                ("startTime", "10", ""),
                ("sampledThread", "20", "constantPool"),
                ("stackTrace", "25", "constantPool"),
                ("state", "26", "constantPool"),
            ],
        ),
    ];
    let mut metadata = vec![0, 0, 0, 0, texts.len() as u8];
    for text in texts {
        metadata.extend([3, text.len() as u8]);
        metadata.extend(text.bytes());
    }
    metadata.extend([number("root")?, 0, 1, number("metadata")?, 0, types.len() as u8]);
    for (id, fields) in types {
        let name = number(id)? + 1;
        metadata.extend([number("class")?, 2, number("id")?, number(id)?, number("name")?, name]);
        metadata.push(fields.len() as u8);
        for (name, of, how) in fields {
            let pairs = [number("name")?, number(name)?, number("class")?, number(of)?];
            metadata.extend([number("field")?, if how.is_empty() { 2 } else { 3 }]);
            metadata.extend(pairs);
            if !how.is_empty() {
                metadata.extend([number(how)?, number(if *how == "dimension" { "1" } else { "true" })?]);
            }
            metadata.push(0);
        }
    }
    let event = |body: &[u8]| {
        let size = body.len() + 2;
        [&[size as u8 | 0x80, (size >> 7) as u8][..], body].concat()
    };
    let mut constants = vec![1, 0, 0, 0, 0, 5];
    constants.extend([20, 1, 1, 3, 1, b't', 77, 22, 1, 1, 3, 1, b'C', 23, 1, 1, 1, 3, 6]);
    constants.extend(b"write0");
    constants.extend([25, 1, 1, 1, 1, 26, 1, 1, 3, 14]);
    constants.extend(b"STATE_RUNNABLE");
    let samples = [event(&[30, 1, 1, 1, 1]), event(&[30, 0x80, 0x80, 0x80, 0x80, 8, 1, 1, 1])].concat();
    let body = [event(&metadata), samples].concat();
    let chunk = |size: usize, constants_at: usize, rest: &[u8]| {
        let mut chunk = b"FLR\0\x00\x02\x00\x01".to_vec();
        for word in [size as u64, constants_at as u64, 68, 1 << 60, 1 << 30, 0, 1_000_000_000] {
            chunk.extend(word.to_be_bytes());
        }
        [&chunk[..], &[0, 0, 0, 1], rest].concat()
    };
    let whole = [&body[..], &event(&constants)].concat();
    let finished = chunk(68 + whole.len(), 68 + body.len(), &whole);
    put(corpus, "jfr", "finished", &finished)?;
    put(corpus, "jfr", "unfinished", &chunk(1 << 30, 0, &body))?;
    put(corpus, "jfr", "twice", &[&finished[..], &finished].concat())
}

/// What JVMs say of themselves: a line or two of each kind, and a file of two counters.
fn jvm(corpus: &Path) -> Result<(), Box<dyn Error>> {
    for (name, text) in [
        (
            "safepoint-8",
            "2017-01-06T20:53:02.802+0900: 60.898: Total time for which application threads were stopped: 2.3 seconds, Stopping threads took: 2.2 seconds\n",
        ),
        (
            "table-8",
            "vmop [threads: total initially_running wait_to_block] [time: spin block sync cleanup vmop] page_trap_count\n0.234: RevokeBias [ 12 0 1 ] [ 0 0 0 0 5 ] 0\n",
        ),
        (
            "safepoint-11",
            "[0.1s][info][safepoint ] Entering safepoint region: G1CollectForAllocation\n[0.1s][info][safepoint ] Total time for which application threads were stopped: 0.1 seconds, Stopping threads took: 0.0 seconds\n",
        ),
        (
            "safepoint-25",
            "[2000000000ns][safepoint] Safepoint \"G1PauseRemark\", Time since last: 9 ns, Reaching safepoint: 4000 ns, At safepoint: 2000000 ns, Leaving safepoint: 1000 ns, Total: 2005000 ns, Threads: 0 runnable, 10 total\n",
        ),
        (
            "gc-17",
            "[0.5s][gc,start] GC(3) Pause Young (Normal)\n[0.5s][gc,phases] GC(3)   Other: 107.0ms\n[0.6s][gc] GC(3) Pause Young (Normal) 56M->3M(96M) 110.188ms\n[0.6s][gc,cpu] GC(3) User=0.01s Sys=0.02s Real=0.11s\n",
        ),
        (
            "gc-8",
            "60.898: [GC pause (G1 Evacuation Pause) (young), 0.0234567 secs]\n   [Other: 2.9 ms]\n   [Eden: 24.0M(24.0M)->0.0B(13.0M) Survivors: 0.0B->3072.0K Heap: 24.0M(256.0M)->19.5M(256.0M)]\n [Times: user=0.08 sys=0.01, real=0.02 secs]\n",
        ),
        (
            "parallel-8",
            "1.000: [GC (Allocation Failure) [PSYoungGen: 65536K->10720K(76288K)] 65536K->12288K(251392K), 0.0123456 secs] [Times: user=0.05 sys=0.01, real=0.01 secs]\n",
        ),
        (
            "threads",
            "\"a\" #12 daemon prio=5 tid=0x7f nid=0x1f3 waiting for monitor entry\n   java.lang.Thread.State: BLOCKED (on object monitor)\n\tat a.B.c(B.java:1)\n\t- waiting to lock <0xc0> (a A)\n\n\"b\" nid=7 runnable\n\tat a.B.d(B.java:2)\n\t- locked <0xc0> (a A)\n",
        ),
        (
            "flags",
            "java\0-Xmx1G\0-Xlog:gc*,safepoint=debug:file=\"/a:b/%p-%t.log\":time,tags\0-XX:+UseG1GC\0kafka.Kafka\0server.properties\0--override\0a=b\0",
        ),
    ] {
        put(corpus, "jvm_logs", name, text.as_bytes())?;
    }
    let head = [
        0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1, 136, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32, 0, 0, 0, 2,
        0, 0, 0,
    ];
    let number = [
        &[56, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, b'J', 0, 4, 2, 48, 0, 0, 0][..],
        b"sun.os.hrt.frequency\0\0\0\0\0\0\0\0",
        &[0, 1, 0, 0, 0, 0, 0, 0],
    ]
    .concat();
    let text = [
        &[48, 0, 0, 0, 20, 0, 0, 0, 4, 0, 0, 0, b'B', 0, 5, 2, 40, 0, 0, 0][..],
        b"sun.rt.javaCommand\0\0",
        b"java\0\0\0\0",
    ]
    .concat();
    put(corpus, "perf_data", "two", &[&head[..], &number, &text].concat())
}

fn files(corpus: &Path) -> Result<(), Box<dyn Error>> {
    let base = Offset::new(1);
    let mut offsets = OffsetIndexBuilder::new(base, 1000);
    let mut times = TimeIndexBuilder::new(base, 1000);
    for n in 1..20u32 {
        offsets.push(OffsetPosition { offset: base.plus(u64::from(n) * 9), position: n * 4100 });
        times.push(TimestampOffset {
            timestamp: Timestamp(i64::from(n) * 100),
            offset: base.plus(u64::from(n) * 9),
        });
    }
    for (name, unwritten) in [("offsets", offsets.take_unwritten()), ("times", times.take_unwritten())] {
        let (_, bytes) = unwritten.ok_or("entries that were just pushed")?;
        put(corpus, "indexes", name, &[&[0][..], &bytes].concat())?;
        put(corpus, "indexes", &format!("{name}-reserved"), &[&[1][..], &bytes, &[0; 24]].concat())?;
    }
    let aborted = AbortedTransaction {
        producer: ProducerId::from_wire(5).ok_or("an id")?,
        first_offset: base.plus(3),
        last_offset: base.plus(9),
        last_stable_offset: base.plus(10),
    };
    put(corpus, "indexes", "aborted", &[&[0][..], &aborted.encode()].concat())?;

    let mut snapshot = vec![0, 1, 0, 0, 0, 0, 0, 0, 0, 2];
    for id in 1..=2u8 {
        snapshot.extend([0, 0, 0, 0, 0, 0, 0, id, 0, 3, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 99, 0, 0, 0, 4]);
        snapshot.extend([0, 0, 1, 0x8b, 0xcf, 0xe5, 0x68, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50]);
    }
    put(corpus, "producer_snapshots", "two", &snapshot)?;
    put(corpus, "checkpoints", "offsets", b"0\n2\nweather 0 17\nweather.raw-2 1 9223372036854775807\n")?;
    put(corpus, "checkpoints", "epochs", b"0\n3\n0 0\n1 50\n7 2000\n")?;

    let directory: DirectoryId = Uuid([9; 16]);
    let meta = aplomb_log::state_files::MetaProperties::new("MkU3OEVBNTcwNTJENDM2Qg", BrokerId(3), directory);
    let quorum = br#"{"leaderId":1,"leaderEpoch":2,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}"#;
    for (name, bytes) in [
        ("meta.properties", &meta.encode()[..]),
        ("java.properties", b"#\n#Mon Nov 20\ncluster.id=x\\u00e9\\:y\nversion=1\nnode.id=3\n"),
        ("partition.metadata", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ"),
        ("quorum-state", quorum),
        ("clean", br#"{"version":0,"brokerEpoch":42}"#),
        ("segment", b"00000000000000368769.index.deleted"),
        ("directory", b"weather-raw-12.5c1f0a2b3c4d5e6f708192a3b4c5d6e7-delete"),
    ] {
        put(corpus, "meta_files", name, bytes)?;
    }
    let said = closed_log();
    put(corpus, "closed_logs", "log", &said)?;
    let header = [&b"AplmLogs"[..], &[0, 1], &7i64.to_be_bytes(), &[0, 0, 0, 1], &[0, 8], b"orders-0"].concat();
    let len = (said.len() as u32).to_be_bytes();
    put(corpus, "closed_logs", "file", &[&header[..], &[0; 64], &len, &said, &[0; 4]].concat())?;
    put(corpus, "tail", "untouched", &[])?;
    put(corpus, "tail", "one-patch", &[0x10, 0, 1])
}

/// What is said of a log of 100 records in a closed and an active segment.
fn closed_log() -> Vec<u8> {
    let longs = |numbers: &[i64]| numbers.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
    let ints = |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_be_bytes()).collect::<Vec<u8>>();
    let epochs = b"0\n2\n3 0\n5 40\n";
    [
        vec![1; 16],
        longs(&[100]),
        ints(&[epochs.len() as u32]),
        epochs.to_vec(),
        ints(&[1]),
        longs(&[0, 5000, 8, 24, 1_700_000_000_000]),
        ints(&[0]),
        longs(&[60, 6000]),
        vec![1],
        longs(&[1000, 16, 90]),
        ints(&[4500]),
        longs(&[12, 1000, 85, 1500, 1001, 99]),
        ints(&[0]),
        vec![1],
        ints(&[1]),
        longs(&[100]),
        // A producer with a batch.
        ints(&[60, 1]),
        longs(&[9]),
        vec![0, 2],
        ints(&[4]),
        longs(&[1000, -1]),
        vec![1],
        ints(&[7]),
        longs(&[99]),
        ints(&[4]),
        longs(&[1000]),
    ]
    .concat()
}

fn unhex(text: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let digits: Vec<u32> =
        text.chars().map(|c| c.to_digit(16).ok_or("a hexadecimal digit")).collect::<Result<_, _>>()?;
    Ok(digits.chunks(2).map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | *digit as u8)).collect())
}
