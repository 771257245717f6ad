//! Frames that no honest client sends. Decoders answer with an error, never with a panic, and never
//! take memory that the bytes present do not justify: this test's allocator keeps count.
#![expect(unsafe_code, reason = "an allocator that counts is the only witness of what decoding allocates")]
#![expect(clippy::disallowed_methods, reason = "golden files are read from the source tree")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use aplomb_protocol::hot::fetch_request::FetchBody;
use aplomb_protocol::hot::produce_request::ProduceBody;
use aplomb_protocol::request::{decode_any_request, decode_any_response};
use aplomb_protocol::{ApiKey, Codec, DecodeError, Message as _, MetadataRecord, Reader, messages};
use bytes::Bytes;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: isize) {
    // A thread that is going away has nothing left to count in.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises about `layout` are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: `block` came from `alloc` above with this layout, hence from the system.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that was held at once while `f` ran, in bytes, beyond what was held before.
fn peak_of<T>(f: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get();
    PEAK.set(before);
    let result = f();
    (result, usize::try_from(PEAK.get() - before).unwrap())
}

/// Every golden case that has something in it: message, version, bytes.
fn full_cases() -> impl Iterator<Item = (&'static Codec, i16, Bytes)> {
    messages::ALL.iter().flat_map(|codec| {
        let path = format!("{}/tests/golden/{}.txt", env!("CARGO_MANIFEST_DIR"), codec.name);
        let text = std::fs::read_to_string(path).unwrap();
        let cases: Vec<_> = text.lines().filter_map(|line| full_case(codec, line)).collect();
        cases
    })
}

fn full_case(codec: &'static Codec, line: &str) -> Option<(&'static Codec, i16, Bytes)> {
    let words: Vec<&str> = line.split(' ').collect();
    let hex = words[2];
    if words[1] != "full0" || hex == "-" {
        return None;
    }
    let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    Some((codec, words[0].parse().unwrap(), (0..hex.len()).step_by(2).map(byte).collect()))
}

fn put(bytes: &Bytes, at: usize, value: u8) -> Bytes {
    let mut changed = bytes.to_vec();
    changed[at] = value;
    changed.into()
}

#[test]
fn a_message_cut_at_any_byte_is_an_error() {
    for (codec, version, bytes) in full_cases() {
        for end in 0..bytes.len() {
            let result = (codec.read)(bytes.slice(..end), version);
            assert!(result.is_err(), "{} {version} cut at {end}: {result:?}", codec.name);
        }
        let longer = Bytes::from([&bytes[..], &[0]].concat());
        assert_eq!(
            (codec.read)(longer, version),
            Err(DecodeError::TrailingBytes(1)),
            "{} {version}",
            codec.name
        );
    }
}

#[test]
fn a_message_with_any_byte_changed_costs_little_and_is_still_written_if_it_is_read() {
    for (codec, version, bytes) in full_cases() {
        for at in 0..bytes.len() {
            for value in [0x00, 0x01, 0x7f, 0x80, 0xff] {
                let changed = put(&bytes, at, value);
                let (result, peak) = peak_of(|| (codec.read)(changed, version));
                // The first allocations of a few vectors, and the `Debug` form.
                assert!(peak < 64 * 1024, "{} {version} byte {at} = {value}: {peak} bytes", codec.name);
                if let Ok(reread) = result {
                    assert!(
                        reread.written.is_ok(),
                        "{} {version} byte {at} = {value}: {reread:?}",
                        codec.name
                    );
                }
            }
        }
    }
}

#[test]
fn a_long_array_of_the_smallest_elements_takes_no_more_memory_than_its_size_justifies() {
    // Wherever a count may be: as many elements as there are bytes, all of them as small as can be.
    const LEN: usize = 2048;
    let old = (LEN as i32).to_be_bytes().to_vec();
    let compact = vec![0x81, 0x10];
    for (codec, version, bytes) in full_cases() {
        for at in 0..bytes.len() {
            for count in [&old, &compact] {
                for fill in [0x00, 0x01] {
                    let mut frame = bytes[..at].to_vec();
                    frame.extend(count);
                    frame.resize(frame.len() + LEN, fill);
                    let (_, peak) = peak_of(|| (codec.read)(frame.into(), version));
                    assert!(peak < 60 * LEN, "{} {version} at {at}: {peak} bytes", codec.name);
                }
            }
        }
    }
}

#[test]
fn a_count_beyond_the_frame_is_refused_before_anything_is_allocated() {
    let counts: [(i16, &'static [u8]); 2] =
        [(8, &[0x7f, 0xff, 0xff, 0xff, 0]), (12, &[0xff, 0xff, 0xff, 0xff, 0x0f, 0])];
    for (version, frame) in counts {
        let frame = Bytes::from_static(frame);
        let decode = || decode_any_request(ApiKey::Metadata.key(), version, frame.clone());
        let (result, peak) = peak_of(decode);
        assert!(matches!(result, Err(DecodeError::CountTooLarge { left: 1, .. })), "{result:?}");
        assert_eq!(peak, 0);
    }
}

#[test]
fn a_large_frame_of_small_elements_ends_at_its_allowance() {
    // Topics with empty names: two bytes each on the wire, forty in memory.
    const LEN: usize = 8 << 20;
    let mut frame = vec![0; LEN];
    frame[..4].copy_from_slice(&(LEN as i32 / 2 - 2).to_be_bytes());
    let frame = Bytes::from(frame);
    let (result, peak) = peak_of(|| decode_any_request(ApiKey::Metadata.key(), 1, frame));
    assert_eq!(result.unwrap_err(), DecodeError::OverAllowance { frame: LEN });
    assert!(peak < 8 * LEN, "{peak}");
}

#[test]
fn a_large_frame_is_read_within_its_allowance_where_the_elements_are_honest() {
    // Topics with one-letter names and no partitions: seven bytes each, behind a head of 17 bytes
    // and a count.
    const TOPICS: usize = 1 << 20;
    let mut frame = vec![0; 21 + 7 * TOPICS];
    frame[17..21].copy_from_slice(&(TOPICS as i32).to_be_bytes());
    frame[21..].chunks_mut(7).for_each(|topic| topic[1..3].copy_from_slice(&[1, b't']));
    let len = frame.len();
    let mut reader = Reader::new(frame.into());
    let (result, peak) = peak_of(|| FetchBody::decode(&mut reader, 4));
    assert_eq!(result.unwrap().topics.len(), TOPICS);
    assert!(peak < 12 * len, "{peak}");
}

#[test]
fn a_section_of_many_tags_is_passed_over_in_place() {
    // 100 000 unknown tags of one byte each, then one that announces more than there is.
    let mut w = aplomb_protocol::Writer::new();
    w.uvarint(1);
    w.bool(true);
    w.bool(true);
    w.uvarint(100_001);
    for tag in 0..100_000 {
        w.uvarint(tag);
        w.uvarint(1);
        w.u8(0xee);
    }
    let mut broken = w.as_slice().to_vec();
    broken.extend([0x63, 0x05, 0xee]);
    w.uvarint(100_000);
    w.uvarint(0);
    let (result, peak) = peak_of(|| decode_any_request(ApiKey::Metadata.key(), 12, w.freeze()));
    assert!(result.is_ok(), "{result:?}");
    assert!(peak < 4096, "{peak}");
    let result = decode_any_request(ApiKey::Metadata.key(), 12, broken.into());
    assert_eq!(result.unwrap_err(), DecodeError::Truncated { wanted: 5, left: 1 });
}

#[test]
fn versions_and_keys_that_do_not_exist_are_errors() {
    for codec in messages::ALL {
        for version in [i16::MIN, codec.versions.min - 1, codec.versions.max + 1, i16::MAX] {
            let message = codec.name;
            let error = DecodeError::UnsupportedVersion { message, version };
            assert_eq!((codec.read)(Bytes::new(), version), Err(error));
        }
    }
    for key in [i16::MIN, -1, 4, 7, 95, 1000, i16::MAX] {
        assert_eq!(decode_any_request(key, 0, Bytes::new()), Err(DecodeError::UnknownApiKey(key)));
        assert_eq!(decode_any_response(key, 0, Bytes::new()), Err(DecodeError::UnknownApiKey(key)));
    }
    for version in [2, 14] {
        let error = DecodeError::UnsupportedVersion { message: "ProduceRequest", version };
        assert_eq!(ProduceBody::decode(&mut Reader::new(Bytes::new()), version).unwrap_err(), error);
    }
    for version in [3, 19] {
        let error = DecodeError::UnsupportedVersion { message: "FetchRequest", version };
        assert_eq!(FetchBody::decode(&mut Reader::new(Bytes::new()), version).unwrap_err(), error);
    }
}

#[test]
fn a_metadata_record_of_any_bytes_is_read_or_refused() {
    let mut read = 0;
    for key in 0..32 {
        for version in 0..6 {
            for fill in [0x00, 0x01, 0x02, 0xff] {
                for len in 0..64 {
                    let mut value = vec![1, key, version];
                    value.resize(3 + len, fill);
                    read += usize::from(MetadataRecord::decode(value.into()).is_ok());
                }
            }
        }
    }
    assert!(read > 0);
    let record = messages::NoOpRecord::default().to_bytes(0).unwrap();
    assert_eq!(record[..], [0]);
}
