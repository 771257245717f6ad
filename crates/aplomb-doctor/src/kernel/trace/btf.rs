//! What the kernel says of its own types (BTF): where a member lies in a structure, and the numbers
//! of tracepoints.
//!
//! What always holds: whatever the bytes are, reading them ends and asks for no more memory than a
//! few bytes for each of theirs; what does not fit together is a fault or nothing.

use std::ops::Range;

/// The first two bytes.
const MAGIC: u16 = 0xeb9f;
/// Kinds of types, as far as they are told apart here.
pub(super) const STRUCT: u32 = 4;
const UNION: u32 = 5;
pub(super) const TYPEDEF: u32 = 8;
const FUNCTION: u32 = 13;
const POINTER: u32 = 2;
/// A type begins with its name, its kind and a size or another type; a member has as many bytes.
const HEAD: usize = 12;
const MEMBER: usize = 12;
/// No more members than this are looked at for one: structures without names could be in a circle.
const MOST_MEMBERS: u32 = 10_000;

/// Why the kernel's types cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum BtfFault {
    #[error("they do not begin as such types do")]
    Magic,
    #[error("they are cut off")]
    CutOff,
    #[error("a type is of kind {0}, which this version does not know")]
    Kind(u32),
}

/// The kernel's types.
#[derive(Debug)]
pub(super) struct Btf {
    bytes: Vec<u8>,
    strings: Range<usize>,
    /// Where each type begins, from number 1.
    types: Vec<usize>,
}

impl Btf {
    /// Finds where each type begins.
    ///
    /// # Errors
    /// When the bytes are no types.
    pub(super) fn read(bytes: Vec<u8>) -> Result<Self, BtfFault> {
        let number = |at: usize| word(&bytes, at).ok_or(BtfFault::CutOff);
        if number(0)? & 0xffff != u32::from(MAGIC) {
            return Err(BtfFault::Magic);
        }
        let head = number(4)? as usize;
        let section = |offset: u32, length: u32| -> Result<Range<usize>, BtfFault> {
            let begin = head.checked_add(offset as usize).ok_or(BtfFault::CutOff)?;
            let end = begin.checked_add(length as usize).ok_or(BtfFault::CutOff)?;
            if end > bytes.len() { Err(BtfFault::CutOff) } else { Ok(begin..end) }
        };
        let all = section(number(8)?, number(12)?)?;
        let strings = section(number(16)?, number(20)?)?;
        let mut types = Vec::new();
        let mut at = all.start;
        while at < all.end {
            let info = word(&bytes, at + 4).ok_or(BtfFault::CutOff)?;
            types.push(at);
            let behind = behind(kind(info), (info & 0xffff) as usize).ok_or(BtfFault::Kind(kind(info)))?;
            at += HEAD + behind;
        }
        if at > all.end { Err(BtfFault::CutOff) } else { Ok(Self { bytes, strings, types }) }
    }

    /// The number of the type of this kind and name.
    pub(super) fn number(&self, wanted: u32, name: &str) -> Option<u32> {
        let fits = |&&at: &&usize| {
            word(&self.bytes, at + 4).is_some_and(|info| kind(info) == wanted) && self.is_named(at, name)
        };
        let index = self.types.iter().position(|at| fits(&at))?;
        u32::try_from(index + 1).ok()
    }

    /// How many bytes into a structure a member lies, also one of a structure without a name in it.
    pub(super) fn offset(&self, structure: &str, member: &str) -> Option<i16> {
        let bits = self.member(self.number(STRUCT, structure)?, member, &mut { MOST_MEMBERS })?;
        (bits % 8 == 0).then(|| i16::try_from(bits / 8).ok()).flatten()
    }

    /// How many arguments the function has that a type's name stands for the address of.
    pub(super) fn arguments(&self, typedef: u32) -> Option<u32> {
        let (info, pointer) = self.head(typedef)?;
        let (of_pointer, function) = self.head(pointer)?;
        let (of_function, _) = self.head(function)?;
        let kinds = (kind(info), kind(of_pointer), kind(of_function));
        (kinds == (TYPEDEF, POINTER, FUNCTION)).then_some(of_function & 0xffff)
    }

    fn member(&self, number: u32, name: &str, left: &mut u32) -> Option<u32> {
        let at = self.at(number)?;
        let (info, _) = self.head(number)?;
        if !matches!(kind(info), STRUCT | UNION) {
            return None;
        }
        // Where a structure has bit fields, an offset's upper byte is a size.
        let mask = if info >> 31 == 1 { 0x00ff_ffff } else { u32::MAX };
        (0..(info & 0xffff) as usize).find_map(|index| {
            *left = left.checked_sub(1)?;
            let at = at + HEAD + index * MEMBER;
            let offset = word(&self.bytes, at + 8)? & mask;
            if self.is_named(at, name) {
                return Some(offset);
            }
            let inside = self.is_named(at, "").then(|| word(&self.bytes, at + 4)).flatten()?;
            self.member(inside, name, left)?.checked_add(offset)
        })
    }

    fn at(&self, number: u32) -> Option<usize> {
        self.types.get((number as usize).checked_sub(1)?).copied()
    }

    /// Kind and length of a type, and the type or size that it names.
    fn head(&self, number: u32) -> Option<(u32, u32)> {
        let at = self.at(number)?;
        Some((word(&self.bytes, at + 4)?, word(&self.bytes, at + 8)?))
    }

    /// Whether what begins here, with its name, has this one.
    fn is_named(&self, at: usize, name: &str) -> bool {
        let strings = &self.bytes[self.strings.clone()];
        let Some(offset) = word(&self.bytes, at) else { return false };
        let rest = strings.get(offset as usize..).and_then(|rest| rest.strip_prefix(name.as_bytes()));
        rest.and_then(|rest| rest.first()) == Some(&0)
    }
}

const fn kind(info: u32) -> u32 {
    info >> 24 & 0x1f
}

/// How many bytes follow a type's head; `None` for kinds that are not known.
const fn behind(kind: u32, length: usize) -> Option<usize> {
    Some(match kind {
        // Pointers, forward declarations, names for types, qualifiers, functions, floats, tags.
        POINTER | 7..=12 | 16 | 18 => 0,
        // Integers, variables, tags of declarations.
        1 | 14 | 17 => 4,
        // Arrays.
        3 => 12,
        STRUCT | UNION | 15 | 19 => length * 12,
        // Enumerations, arguments of functions.
        6 | FUNCTION => length * 8,
        _ => return None,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(four.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// `struct task { int a; struct { int b; }; }` and a tracepoint of three arguments.
    fn sample() -> Vec<u8> {
        let strings = b"\0int\0task\0a\0b\0btf_trace_x\0";
        let mut types: Vec<u32> = Vec::new();
        types.extend([1, 1 << 24, 4, 0x0100_0020]);
        types.extend([0, STRUCT << 24 | 1, 4, 12, 1, 0]);
        types.extend([5, STRUCT << 24 | 2, 12, 10, 1, 0, 0, 2, 64]);
        types.extend([0, FUNCTION << 24 | 3, 0, 0, 0, 0, 1, 0, 1]);
        types.extend([0, POINTER << 24, 4]);
        types.extend([14, TYPEDEF << 24, 5]);
        let mut bytes = Vec::new();
        let length = (types.len() * 4) as u32;
        for number in [1 << 16 | u32::from(MAGIC), 24, 0, length, length, strings.len() as u32] {
            bytes.extend(number.to_ne_bytes());
        }
        bytes.extend(types.iter().flat_map(|number| number.to_ne_bytes()));
        bytes.extend(strings);
        bytes
    }

    #[test]
    fn members_and_tracepoints_are_found_by_name() {
        let btf = Btf::read(sample()).expect("types");
        assert_eq!((btf.offset("task", "a"), btf.offset("task", "b")), (Some(0), Some(8)));
        assert_eq!((btf.offset("task", "c"), btf.offset("tas", "a")), (None, None));
        let tracepoint = btf.number(TYPEDEF, "btf_trace_x");
        assert_eq!(tracepoint.and_then(|number| btf.arguments(number)), Some(3));
        assert_eq!(btf.arguments(1), None);
    }

    #[test]
    fn what_is_no_types_is_a_fault() {
        assert_eq!(Btf::read(Vec::new()).err(), Some(BtfFault::CutOff));
        assert_eq!(Btf::read(vec![0; 64]).err(), Some(BtfFault::Magic));
        let mut unknown = sample();
        unknown[24 + 7] = 31;
        assert_eq!(Btf::read(unknown).err(), Some(BtfFault::Kind(31)));
        let whole = sample();
        for length in 0..whole.len() {
            assert!(Btf::read(whole[..length].to_vec()).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn bytes_that_are_changed_do_no_harm(changes in prop::collection::vec((0usize..260, any::<u8>()), 1..20)) {
            let mut bytes = sample();
            for (at, to) in changes {
                let at = at % bytes.len();
                bytes[at] = to;
            }
            if let Ok(btf) = Btf::read(bytes) {
                let _ = btf.offset("task", "b");
                for number in 0..10 {
                    let _ = btf.arguments(number);
                }
            }
        }
    }
}
