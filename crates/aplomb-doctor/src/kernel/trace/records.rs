//! What programs write into the ring, and how it is read.

use crate::recording::Operation;

/// Kinds of records.
pub(super) const WAIT: i32 = 1;
pub(super) const IO: i32 = 2;

/// Where things are in a record, in bytes. All begin with kind, a number, beginning and end.
pub(super) struct Layout;

impl Layout {
    pub(super) const KIND: i16 = 0;
    pub(super) const TID: i16 = 4;
    pub(super) const DEVICE: i16 = 4;
    pub(super) const BEGAN: i16 = 8;
    pub(super) const ENDED: i16 = 16;
    // Of a wait.
    pub(super) const WAKER: i16 = 24;
    pub(super) const WAKER_NAME: i16 = 32;
    pub(super) const NAME_SIZE: i32 = 16;
    pub(super) const CALL: i16 = 48;
    pub(super) const ARGUMENTS: i16 = 56;
    /// A stack: how many bytes it has, or an error; then these.
    pub(super) const STACK: i16 = 104;
    pub(super) const DEPTH: usize = 40;
    pub(super) const WAKER_STACK: i16 = Self::STACK + 8 + 8 * Self::DEPTH as i16;
    pub(super) const WAKER_DEPTH: usize = 40;
    pub(super) const WAIT_SIZE: i32 = Self::WAKER_STACK as i32 + 8 + 8 * Self::WAKER_DEPTH as i32;
    // Of a request of a device.
    pub(super) const OPERATION: i16 = 24;
    pub(super) const BYTES: i16 = 28;
    pub(super) const SECTOR: i16 = 32;
    pub(super) const IO_SIZE: i32 = 40;
}

/// A record. Times are nanoseconds of the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// A thread has waited.
    Wait(WaitRecord),
    /// A device has taken long for a request.
    Io(IoRecord),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WaitRecord {
    pub(super) tid: u32,
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    /// What ran when the thread was woken: the waker, or what an interrupt came upon.
    pub(super) waker_pid: u32,
    pub(super) waker_tid: u32,
    pub(super) waker_name: String,
    /// The system call that the thread was in, -1 in a fault; and its arguments.
    pub(super) call: i64,
    pub(super) arguments: [u64; 6],
    /// Addresses of the kernel, the innermost first.
    pub(super) stack: Vec<u64>,
    pub(super) waker_stack: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IoRecord {
    /// The kernel's number: twelve bits, and twenty.
    pub(super) device: u32,
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    pub(super) operation: Operation,
    pub(super) bytes: u32,
    pub(super) sector: u64,
}

impl Record {
    /// Reads a record; `None` if it is none.
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        let (began_ns, ended_ns) = (eight(bytes, Layout::BEGAN)?, eight(bytes, Layout::ENDED)?);
        match four(bytes, Layout::KIND)? as i32 {
            WAIT => {
                let waker = eight(bytes, Layout::WAKER)?;
                let name = bytes.get(Layout::WAKER_NAME as usize..Layout::CALL as usize)?;
                let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
                let mut arguments = [0; 6];
                for (at, argument) in (0_i16..).zip(&mut arguments) {
                    *argument = eight(bytes, Layout::ARGUMENTS + 8 * at)?;
                }
                Some(Self::Wait(WaitRecord {
                    tid: four(bytes, Layout::TID)?,
                    began_ns,
                    ended_ns,
                    waker_pid: (waker >> 32) as u32,
                    waker_tid: waker as u32,
                    waker_name: String::from_utf8_lossy(name).into_owned(),
                    call: call(eight(bytes, Layout::CALL)?),
                    arguments,
                    stack: stack(bytes, Layout::STACK, Layout::DEPTH)?,
                    waker_stack: stack(bytes, Layout::WAKER_STACK, Layout::WAKER_DEPTH)?,
                }))
            }
            IO => Some(Self::Io(IoRecord {
                device: four(bytes, Layout::DEVICE)?,
                began_ns,
                ended_ns,
                operation: match four(bytes, Layout::OPERATION)? {
                    0 => Operation::Read,
                    1 => Operation::Write,
                    2 => Operation::Flush,
                    _ => Operation::Other,
                },
                bytes: four(bytes, Layout::BYTES)?,
                sector: eight(bytes, Layout::SECTOR)?,
            })),
            _ => None,
        }
    }
}

/// A call's number, which some processors' kernels keep in four bytes.
fn call(word: u64) -> i64 {
    if cfg!(target_arch = "x86_64") { word as i64 } else { i64::from(word as u32 as i32) }
}

/// A stack; empty where the kernel could not walk it.
fn stack(bytes: &[u8], at: i16, most: usize) -> Option<Vec<u64>> {
    let long = eight(bytes, at)? as i64;
    let depth = usize::try_from(long / 8).unwrap_or(0).min(most);
    (0..depth).map(|index| eight(bytes, at + 8 + 8 * index as i16)).collect()
}

fn four(bytes: &[u8], at: i16) -> Option<u32> {
    let at = usize::try_from(at).ok()?;
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn eight(bytes: &[u8], at: i16) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn put(bytes: &mut [u8], at: i16, number: u64) {
        bytes[at as usize..at as usize + 8].copy_from_slice(&number.to_ne_bytes());
    }

    fn wait() -> Vec<u8> {
        let mut bytes = vec![0; Layout::WAIT_SIZE as usize];
        put(&mut bytes, Layout::KIND, 7 << 32 | WAIT as u64);
        put(&mut bytes, Layout::BEGAN, 1_000);
        put(&mut bytes, Layout::ENDED, 2_000);
        put(&mut bytes, Layout::WAKER, 8 << 32 | 9);
        bytes[Layout::WAKER_NAME as usize..][..6].copy_from_slice(b"jbd2/x");
        put(&mut bytes, Layout::CALL, u64::MAX);
        put(&mut bytes, Layout::ARGUMENTS + 40, 5);
        put(&mut bytes, Layout::STACK, 16);
        put(&mut bytes, Layout::STACK + 8, 0xffff_0001);
        put(&mut bytes, Layout::STACK + 16, 0xffff_0002);
        put(&mut bytes, Layout::WAKER_STACK, -14_i64 as u64);
        bytes
    }

    #[test]
    fn a_wait_reads_as_what_a_program_writes() {
        let Some(Record::Wait(read)) = Record::read(&wait()) else { panic!("a wait") };
        let expected = WaitRecord {
            tid: 7,
            began_ns: 1_000,
            ended_ns: 2_000,
            waker_pid: 8,
            waker_tid: 9,
            waker_name: "jbd2/x".to_owned(),
            call: -1,
            arguments: [0, 0, 0, 0, 0, 5],
            stack: vec![0xffff_0001, 0xffff_0002],
            waker_stack: Vec::new(),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn a_slow_request_reads_as_what_a_program_writes() {
        let mut bytes = vec![0; Layout::IO_SIZE as usize];
        put(&mut bytes, Layout::KIND, 0x0070_0001 << 32 | IO as u64);
        put(&mut bytes, Layout::ENDED, 9);
        put(&mut bytes, Layout::OPERATION, 4_096 << 32 | 2);
        put(&mut bytes, Layout::SECTOR, 2_048);
        let expected = IoRecord {
            device: 0x0070_0001,
            began_ns: 0,
            ended_ns: 9,
            operation: Operation::Flush,
            bytes: 4_096,
            sector: 2_048,
        };
        assert_eq!(Record::read(&bytes), Some(Record::Io(expected)));
        assert_eq!(Record::read(&bytes[..39]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_record_or_none(bytes in prop::collection::vec(any::<u8>(), 0..900), kind in 0u8..4) {
            let mut bytes = bytes;
            if let Some(first) = bytes.get_mut(0..4) {
                first.copy_from_slice(&[kind, 0, 0, 0]);
            }
            if let Some(Record::Wait(wait)) = Record::read(&bytes) {
                prop_assert!(wait.stack.len() <= Layout::DEPTH);
            }
        }
    }
}
