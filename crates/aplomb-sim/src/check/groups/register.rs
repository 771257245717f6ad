//! What a group has committed for one partition.
//!
//! A commit takes effect once between the moment when it was asked for and its answer; without an
//! answer, by the end of the process, or never. What takes effect later replaces what was there. A
//! read shows what was there at some moment between its question and its answer. Of what was not
//! durable a power cut takes the end.

use aplomb_model::Instant;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Doubt,
    /// It took effect.
    Certain,
    Refused,
}

#[derive(Clone, Debug)]
struct Write {
    number: u64,
    /// `None`: what was there is forgotten.
    offset: Option<i64>,
    asked: Instant,
    /// It took effect by then, if ever.
    by: Option<Instant>,
    fate: Fate,
    /// A power cut has left this one or another that says so.
    is_one_of_many: bool,
}

/// All that was asked for, and what became of it.
#[derive(Debug)]
pub(super) struct Register {
    writes: Vec<Write>,
}

impl Register {
    /// Nothing is committed.
    pub(super) fn new() -> Self {
        let nothing = Write {
            number: 0,
            offset: None,
            asked: Instant::START,
            by: Some(Instant::START),
            fate: Fate::Certain,
            is_one_of_many: false,
        };
        Self { writes: vec![nothing] }
    }

    pub(super) fn ask(&mut self, number: u64, offset: Option<i64>, now: Instant) {
        let write = Write { number, offset, asked: now, by: None, fate: Fate::Doubt, is_one_of_many: false };
        self.writes.push(write);
    }

    pub(super) fn done(&mut self, number: u64, now: Instant) {
        if let Some(write) = self.writes.iter_mut().find(|write| write.number == number) {
            write.fate = Fate::Certain;
            write.by = Some(write.by.map_or(now, |by| by.min(now)));
        }
    }

    pub(super) fn refused(&mut self, number: u64) {
        if let Some(write) = self.writes.iter_mut().find(|write| write.number == number) {
            write.fate = Fate::Refused;
        }
    }

    /// A read that was asked for at `asked` shows `offset`. The error is what is wrong with that.
    pub(super) fn read(&mut self, offset: Option<i64>, asked: Instant, now: Instant) -> Result<(), String> {
        let certain = self
            .writes
            .iter()
            .filter(|write| write.fate == Fate::Certain && write.by.is_some_and(|by| by <= asked));
        let last = certain.max_by_key(|write| write.asked).cloned();
        let is_replaced = |write: &Write| {
            let by = write.by;
            last.as_ref()
                .is_some_and(|last| last.number != write.number && by.is_some_and(|by| by <= last.asked))
        };
        let said: Vec<&Write> = self.writes.iter().filter(|write| write.offset == offset).collect();
        let possible: Vec<u64> = said
            .iter()
            .filter(|write| write.fate != Fate::Refused && !is_replaced(write))
            .map(|write| write.number)
            .collect();
        match possible[..] {
            [] => Err(format!("that is {said:?}, and by {asked:?} there was {last:?}")),
            [number] => {
                self.is_there(number, now);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// This one was seen. What was asked for behind it is gone; what was there before it may come
    /// back as long as it is not durable.
    fn is_there(&mut self, number: u64, now: Instant) {
        self.done(number, now);
        let seen = self.writes.iter().find(|write| write.number == number);
        let seen = seen.expect("what was seen was asked for").clone();
        if !seen.is_one_of_many {
            return;
        }
        let is_behind = |write: &Write| write.is_one_of_many && write.asked >= seen.asked;
        self.writes.retain(|write| write.number == number || !is_behind(write));
        for write in &mut self.writes {
            if std::mem::take(&mut write.is_one_of_many) && write.number != number {
                write.by = Some(write.asked);
            }
        }
    }

    /// Nothing that is under way comes to be any more.
    pub(super) fn process_ended(&mut self, now: Instant) {
        for write in &mut self.writes {
            write.by.get_or_insert(now);
        }
    }

    /// What was not durable may be gone.
    pub(super) fn memory_lost(&mut self, is_durable: &dyn Fn(Instant) -> bool, now: Instant) {
        self.process_ended(now);
        let durable = self
            .writes
            .iter()
            .filter(|write| write.fate == Fate::Certain && write.by.is_some_and(is_durable));
        self.forget_replaced(durable.map(|write| write.asked).max());
        let are_many = self.writes.len() > 1;
        for write in &mut self.writes {
            write.is_one_of_many = are_many;
            if are_many {
                (write.fate, write.by) = (Fate::Doubt, Some(now));
            }
        }
    }

    /// Drops what was replaced by what was asked for at `last`, and what was refused.
    fn forget_replaced(&mut self, last: Option<Instant>) {
        self.writes.retain(|write| {
            write.fate != Fate::Refused && last.is_none_or(|last| write.by.is_none_or(|by| by >= last))
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::START + Duration::from_millis(millis)
    }

    fn of_two() -> Register {
        let mut register = Register::new();
        register.ask(1, Some(1), at(10));
        register.done(1, at(20));
        register.ask(2, Some(2), at(30));
        register
    }

    #[test]
    fn a_read_says_what_was_there_last() {
        let mut register = of_two();
        assert!(register.read(None, at(15), at(25)).is_ok(), "it was asked before that was done");
        assert!(register.read(None, at(21), at(25)).is_err(), "1 was there");
        assert!(register.read(Some(1), at(40), at(50)).is_ok(), "2 is in doubt");
        assert!(register.read(Some(2), at(41), at(51)).is_ok());
        assert!(register.read(Some(1), at(52), at(53)).is_err(), "2 was seen");
        assert!(register.read(Some(3), at(52), at(53)).is_err(), "nobody asked for 3");
    }

    #[test]
    fn what_is_refused_never_comes_to_be_and_what_is_not_answered_may_until_the_process_ends() {
        let mut register = of_two();
        register.ask(3, Some(3), at(40));
        register.refused(3);
        assert!(register.read(Some(3), at(50), at(60)).is_err());
        register.ask(4, Some(4), at(70));
        register.done(4, at(80));
        assert!(register.read(Some(2), at(90), at(91)).is_ok(), "it may have come late");
        let mut register = of_two();
        register.process_ended(at(35));
        register.ask(4, Some(4), at(70));
        register.done(4, at(80));
        assert!(register.read(Some(2), at(90), at(91)).is_err(), "it came before 4, if ever");
    }

    #[test]
    fn a_power_cut_takes_what_was_not_durable_and_the_first_read_says_how_much() {
        let mut register = of_two();
        register.done(2, at(40));
        register.memory_lost(&|since| since <= at(20), at(100));
        assert!(register.read(None, at(110), at(120)).is_err(), "1 was durable");
        assert!(register.read(Some(1), at(110), at(120)).is_ok());
        assert!(register.read(Some(2), at(130), at(140)).is_err(), "it was gone");
        register.memory_lost(&|since| since <= at(100), at(150));
        assert!(register.read(None, at(160), at(170)).is_err(), "1 was durable");
        let mut register = of_two();
        register.memory_lost(&|_| false, at(100));
        assert!(register.read(Some(1), at(110), at(120)).is_ok(), "it was in a file");
        assert!(register.read(None, at(130), at(140)).is_err(), "and is");
        register.memory_lost(&|_| false, at(150));
        assert!(register.read(None, at(160), at(170)).is_ok(), "the file was not synced");
        assert!(register.read(Some(1), at(180), at(190)).is_err());
        let mut register = of_two();
        register.memory_lost(&|since| since <= at(20), at(100));
        register.ask(3, Some(3), at(110));
        register.done(3, at(120));
        assert!(register.read(Some(1), at(130), at(140)).is_err(), "3 came after the power cut");
    }
}
