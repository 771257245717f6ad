//! The transactions of a scenario: tellers that take from one account and give to another, each
//! time in one transaction, and settings that make minutes fit into seconds. They have dice of
//! their own: what else a seed stands for is what it was before, but for faults that may lose what
//! was acknowledged, which these seeds do not have: a transaction is in several partitions, and
//! half of it may be what is lost.

use std::time::Duration;

use super::faults::{Fault, HowDown};
use super::random::Dice;

/// Of every so many seeds one has transactions: those that leave this rest.
const EVERY: u64 = 4;
const REST: u64 = 2;
const MS: Duration = Duration::from_millis(1);

/// The topic whose partitions are the accounts.
pub(crate) const ACCOUNTS: &str = "accounts";
/// Where the broker keeps transactions.
pub(crate) const TRANSACTIONS_TOPIC: &str = "__transaction_state";

/// A client that transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TellerPlan {
    /// Names it among all tellers.
    pub(crate) number: usize,
    /// Of its transactional id, which it may share with another.
    pub(crate) id: usize,
    /// How long its transactions may take.
    pub(crate) timeout: Duration,
    /// The first version of transactions, in which partitions are added one by one.
    pub(crate) is_old: bool,
}

/// The transactions of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct BankPlan {
    pub(crate) accounts: i32,
    pub(crate) tellers: Vec<TellerPlan>,
    settings: Vec<(&'static str, String)>,
}

impl BankPlan {
    /// The transactions that a seed has, if it has any.
    pub(crate) fn draw(seed: u64) -> Option<Self> {
        if seed % EVERY != REST {
            return None;
        }
        let mut dice = Dice::of(seed, "bank", 0);
        let mut settings = vec![
            ("transaction.state.log.num.partitions", (1 + dice.within(0..3)).to_string()),
            ("transaction.state.log.replication.factor", "1".to_owned()),
            ("transaction.state.log.min.isr", "1".to_owned()),
            ("log.roll.ms", dice.pick(&["300", "2000", "604800000"]).to_string()),
        ];
        let ids = 1 + dice.place(3);
        // Who shares an id is of one version: an end that a new client asks for again can be taken
        // for that of an old one, in Apache Kafka too (`retryOnEpochBump`).
        let are_old: Vec<bool> = (0..ids).map(|_| dice.percent(40)).collect();
        let tellers = (0..ids + dice.place(3)).map(|number| TellerPlan {
            number,
            id: number % ids,
            timeout: *dice.pick(&[MS * 300, MS * 1500, MS * 5000]),
            is_old: are_old[number % ids],
        });
        let tellers: Vec<TellerPlan> = tellers.collect();
        // Without it, what comes late of an older producer is part of the next transaction, as in
        // Apache Kafka.
        let verifies = tellers.iter().any(|teller| teller.is_old) || dice.percent(70);
        settings.push(("transaction.partition.verification.enable", verifies.to_string()));
        Some(Self { accounts: 2 + dice.place(3) as i32, tellers, settings })
    }

    /// What the broker is told of transactions.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (&'static str, String)> {
        self.settings.iter().cloned()
    }

    /// Whether a fault takes nothing that was acknowledged.
    pub(crate) fn bears(fault: &Fault) -> bool {
        match fault {
            Fault::Down(down) => {
                !matches!(down.how, HowDown::PowerCut) && !down.cut_starts.iter().any(|start| start.power)
            }
            Fault::Freeze { .. }
            | Fault::Slow { .. }
            | Fault::Fail { .. }
            | Fault::Full { .. }
            | Fault::Short { .. }
            | Fault::Away { .. }
            | Fault::Copied { .. } => true,
            Fault::Tail(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_seeds_have_transactions_with_ids_that_are_shared() {
        let plans: Vec<BankPlan> = (0..400).filter_map(BankPlan::draw).collect();
        assert_eq!(plans.len(), 100);
        let is_shared = |plan: &&BankPlan| plan.tellers.iter().filter(|teller| teller.id == 0).count() > 1;
        assert!(plans.iter().any(|plan| is_shared(&plan)));
        assert!(plans.iter().any(|plan| plan.tellers.iter().any(|teller| teller.is_old)));
    }
}
