//! Transfers between accounts, each in one transaction: a transfer has one part or several, and
//! each part takes from one account and gives to another.
//!
//! What must be true: a reader of committed records never sees a transfer that was aborted; of each
//! teller it sees transfers and their parts in the order of their making, and each once in an
//! account; and in the end it sees each transfer that its teller was told is committed, and of
//! every transfer both halves of all parts or nothing.

use std::collections::BTreeMap;

use aplomb_model::Uuid;

use super::Checked;

/// A transfer: who made it, and which of his it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TransferId {
    pub(crate) teller: usize,
    pub(crate) number: u64,
}

/// How a transfer has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransferFate {
    /// Its teller was told so.
    Committed,
    /// Its teller was told so, or it was never to be committed.
    Aborted,
    /// Its teller has asked for it to be committed, and was not told.
    Unknown,
}

/// What a reader has seen of an account.
#[derive(Debug, Default)]
struct Account {
    /// The offset that is read next.
    position: i64,
    /// How far readers of committed records may read, and how far there is something.
    ends: (i64, i64),
    /// Of each teller, the newest transfer that was seen, and the last of its parts.
    newest: BTreeMap<usize, (u64, u64)>,
}

/// All transfers.
#[derive(Debug, Default)]
pub(crate) struct Bank {
    /// The topic's id, and how many partitions it has.
    pub(crate) topic: Option<(Uuid, i32)>,
    fates: BTreeMap<TransferId, TransferFate>,
    /// The amounts of what was seen.
    seen: BTreeMap<TransferId, Vec<i64>>,
    accounts: BTreeMap<i32, Account>,
    /// How many parts each transfer has.
    parts: BTreeMap<TransferId, u64>,
    /// Transfers that are under way.
    open: BTreeMap<usize, u64>,
    /// No teller begins another.
    is_closing: bool,
}

impl Bank {
    /// Whether a teller may begin a transfer.
    pub(crate) fn is_open(&self) -> bool {
        !self.is_closing
    }

    /// From here on tellers end what they are at.
    pub(crate) fn begin_rest(&mut self) {
        self.is_closing = true;
    }

    /// A teller begins a transfer of so many parts.
    pub(crate) fn begin(&mut self, id: TransferId, parts: u64) {
        self.open.insert(id.teller, id.number);
        self.parts.insert(id, parts);
    }

    /// A transfer has ended.
    pub(crate) fn end(&mut self, id: TransferId, fate: TransferFate) -> Checked {
        self.open.remove(&id.teller);
        let before = self.fates.insert(id, fate);
        assert!(before.is_none(), "{id:?} ends as {before:?} and as {fate:?}");
        if fate == TransferFate::Aborted && self.seen.contains_key(&id) {
            return Err(format!("{id:?} is aborted, and was seen"));
        }
        Ok(())
    }

    /// The offset in an account that its reader wants next.
    pub(crate) fn position(&self, account: i32) -> i64 {
        self.accounts.get(&account).map_or(0, |account| account.position)
    }

    /// How far all accounts have been read, together.
    pub(crate) fn read(&self) -> i64 {
        self.accounts.values().map(|account| account.position).sum()
    }

    /// A reader of committed records sees one half of a part of a transfer.
    pub(crate) fn see(
        &mut self,
        account: i32,
        offset: i64,
        (id, part): (TransferId, u64),
        amount: i64,
    ) -> Checked {
        if self.fates.get(&id) == Some(&TransferFate::Aborted) {
            return Err(format!("{id:?} was aborted, and is seen at {offset} of account {account}"));
        }
        let of = self.accounts.entry(account).or_default();
        if of.newest.get(&id.teller).is_some_and(|newest| *newest >= (id.number, part)) {
            return Err(format!(
                "part {part} of {id:?} at {offset} of account {account} is there twice, or out of order"
            ));
        }
        of.newest.insert(id.teller, (id.number, part));
        self.seen.entry(id).or_default().push(amount);
        Ok(())
    }

    /// All up to `position` was seen; readers may read to `stable`, and there is something up to
    /// `end`.
    pub(crate) fn look(&mut self, account: i32, position: i64, (stable, end): (i64, i64)) -> Checked {
        let of = self.accounts.entry(account).or_default();
        if position > stable && position > of.position || stable > end {
            return Err(format!(
                "account {account} is read to {position}, is stable to {stable} and ends at {end}"
            ));
        }
        (of.position, of.ends) = (position, (stable, end));
        Ok(())
    }

    /// Whether all has ended and was seen. The error is what is not so.
    pub(crate) fn check_rest(&self) -> Checked {
        // There was no time to make it.
        let Some((_, partitions)) = self.topic else { return Ok(()) };
        if let Some((teller, number)) = self.open.first_key_value() {
            return Err(format!("teller {teller} is still at transfer {number}"));
        }
        for index in 0..partitions {
            let account = self.accounts.get(&index).ok_or_else(|| format!("account {index} was not read"))?;
            let (stable, end) = account.ends;
            if stable < end || account.position < end {
                let position = account.position;
                return Err(format!(
                    "account {index} is read to {position}, stable to {stable}, and ends at {end}"
                ));
            }
        }
        let halves = |id: &TransferId| self.seen.get(id).map_or(&[][..], |amounts| amounts);
        for (id, fate) in &self.fates {
            if *fate == TransferFate::Committed && halves(id).is_empty() {
                return Err(format!("{id:?} is committed, and was not seen"));
            }
        }
        for (id, amounts) in &self.seen {
            let parts = self.parts.get(id).copied().unwrap_or(0);
            if amounts.len() as u64 != parts * 2 || amounts.iter().sum::<i64>() != 0 {
                return Err(format!("of the {parts} parts of {id:?} there is {amounts:?}"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: TransferId = TransferId { teller: 1, number: 1 };
    const TWO: TransferId = TransferId { teller: 1, number: 2 };

    fn bank() -> Bank {
        Bank { topic: Some((Uuid::ZERO, 2)), ..Bank::default() }
    }

    #[test]
    fn what_was_aborted_is_never_seen() {
        let mut bank = bank();
        assert!(bank.end(ONE, TransferFate::Aborted).is_ok());
        assert!(bank.see(0, 0, (ONE, 0), 5).is_err());
        assert!(bank.see(0, 1, (TWO, 0), 5).is_ok());
        assert!(bank.end(TWO, TransferFate::Aborted).is_err());
    }

    #[test]
    fn transfers_of_a_teller_come_in_their_order() {
        let mut bank = bank();
        assert!(bank.see(0, 0, (TWO, 0), 5).is_ok());
        assert!(bank.see(1, 0, (ONE, 0), 5).is_ok(), "in another account");
        assert!(bank.see(0, 1, (ONE, 1), 5).is_err());
        assert!(bank.see(0, 2, (TWO, 0), 5).is_err());
        assert!(bank.see(0, 3, (TWO, 1), 5).is_ok(), "its next part");
    }

    #[test]
    fn at_rest_each_is_whole_or_not_there() {
        let mut bank = bank();
        bank.begin(ONE, 2);
        assert!(bank.check_rest().is_err(), "it is under way");
        assert!(bank.end(ONE, TransferFate::Committed).is_ok());
        let look =
            |bank: &mut Bank| (0..2).for_each(|account| bank.look(account, 2, (2, 2)).expect("it is so"));
        look(&mut bank);
        assert!(bank.check_rest().is_err(), "it was not seen");
        assert!(bank.see(0, 0, (ONE, 0), 5).is_ok());
        assert!(bank.check_rest().is_err(), "half of a part was seen");
        assert!(bank.see(1, 0, (ONE, 0), -5).is_ok());
        assert!(bank.check_rest().is_err(), "one part was seen");
        assert!(bank.see(0, 1, (ONE, 1), 5).is_ok() && bank.see(1, 1, (ONE, 1), -5).is_ok());
        assert_eq!(bank.check_rest(), Ok(()));
        assert!(bank.look(0, 2, (2, 3)).is_ok());
        assert!(bank.check_rest().is_err(), "something is behind what is stable");
    }
}
