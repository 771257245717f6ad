//! Names of the kernel's functions by address (`/proc/kallsyms`).

use std::fs::File;
use std::io::Read as _;

/// Where the names are.
const FILE: &str = "/proc/kallsyms";
/// A look at the first lines tells whether addresses are shown.
const HEAD: usize = 256;

/// All functions of the kernel.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    text: String,
    /// Addresses, in order, and where in the text the line's rest begins.
    known: Vec<(u64, usize)>,
}

/// Whether addresses are shown to us: they are zero to those without rights (`kptr_restrict`).
pub(super) fn are_shown() -> bool {
    let mut head = [0; HEAD];
    let Ok(length) = File::open(FILE).and_then(|mut file| file.read(&mut head)) else { return false };
    let text = String::from_utf8_lossy(&head[..length]);
    text.lines().filter_map(address).any(|(address, _)| address != 0)
}

impl Symbols {
    /// Reads them; none where they cannot be read.
    pub(super) fn read() -> Self {
        Self::of(std::fs::read_to_string(FILE).unwrap_or_default())
    }

    fn of(text: String) -> Self {
        let begin = text.as_ptr() as usize;
        let line = |line: &str| {
            let (address, rest) = address(line)?;
            let is_code = rest.starts_with(['t', 'T', 'w', 'W']);
            is_code.then_some((address, rest.as_ptr() as usize - begin))
        };
        let mut known: Vec<(u64, usize)> = text.lines().filter_map(line).collect();
        // A module's come behind all of the kernel's, wherever it lies.
        known.sort_by_key(|(address, _)| *address);
        Self { text, known }
    }

    /// The function that a call returns into at this address; `None` if it is before all of them.
    pub(super) fn name(&self, address: u64) -> Option<&str> {
        // What a function that never returns is called by lies at the next one's beginning.
        let inside = address.checked_sub(1)?;
        let index = self.known.partition_point(|(begin, _)| *begin <= inside).checked_sub(1)?;
        let rest = self.text.get(self.known.get(index)?.1..)?;
        rest.split_ascii_whitespace().nth(1)
    }
}

/// `ffffffff81000000 T _stext`: the address, and what follows it.
fn address(line: &str) -> Option<(u64, &str)> {
    let (address, rest) = line.split_once(' ')?;
    Some((u64::from_str_radix(address, 16).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_in_the_function_that_begins_before_it() {
        let text = "0000000000001000 T schedule\n0000000000001100 d data\n0000000000001200 t up_read\n\
            broken\n0000000000000800 t xfs_iunlock\t[xfs]\n";
        let symbols = Symbols::of(text.to_owned());
        assert_eq!(symbols.name(0x1001), Some("schedule"));
        assert_eq!(symbols.name(0x1200), Some("schedule"), "the call was the last of its instructions");
        assert_eq!(symbols.name(0x1250), Some("up_read"));
        assert_eq!(symbols.name(0x900), Some("xfs_iunlock"));
        assert_eq!((symbols.name(0x800), symbols.name(0)), (None, None));
        assert_eq!(Symbols::default().name(0x1000), None);
    }
}
