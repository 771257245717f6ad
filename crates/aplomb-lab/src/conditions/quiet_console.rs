//! The kernel's messages, kept off the consoles.
//!
//! A task that prints one waits for every console. On a serial one, which virtual machines often
//! have, a line holds a processor for a millisecond, and a disk that fails is good for dozens: the
//! machine stands still for that, whichever broker runs. `dmesg` has them all the same.

use std::fs;

use super::Undo;

/// How urgent a message has to be; the first of its four numbers is for consoles.
const LEVELS: &str = "/proc/sys/kernel/printk";
/// The machine goes down.
const EMERGENCIES: u8 = 1;

/// Until it is dropped, consoles are told of emergencies only.
#[derive(Debug)]
pub(crate) struct QuietConsole {
    _undo: Undo,
}

impl QuietConsole {
    /// `None` where they are told no more already, or where that is not for us to change: messages
    /// come as before then.
    pub(crate) fn take() -> Option<Self> {
        let before = level(&fs::read_to_string(LEVELS).ok()?)?;
        if before <= EMERGENCIES {
            return None;
        }
        let undo = Undo::by("echo \"$2\" > \"$1\"", &[LEVELS, &before.to_string()]).ok()?;
        fs::write(LEVELS, format!("{EMERGENCIES}\n")).ok()?;
        Some(Self { _undo: undo })
    }
}

fn level(text: &str) -> Option<u8> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consoles_are_told_as_before_afterwards() {
        let now = || level(&fs::read_to_string(LEVELS).expect("this kernel has it"));
        let before = now();
        if let Some(quiet) = QuietConsole::take() {
            assert_eq!(now(), Some(EMERGENCIES));
            drop(quiet);
        } else {
            eprintln!("not shown: it takes root, and a console that is told more");
        }
        assert_eq!(now(), before);
    }

    #[test]
    fn the_first_number_is_the_consoles() {
        assert_eq!(level("7\t4\t1\t7\n"), Some(7));
        assert_eq!(level(""), None);
    }
}
