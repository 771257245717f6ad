//! How much has to come to a partition before a fetch that waits for more looks at it again.
//!
//! One partition: what is lacking. Several: each a share of it, so small that what came to all of
//! them without a word is never enough. As more is found less is lacking, and the shares have to
//! shrink: they are set anew when what is lacking has halved. A fetch is therefore woken so many
//! times as there are partitions and halvings, however many appends there are.

/// What the watches of a fetch are for.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// What was lacking when they were set, all of them. Bytes; 0: none was set yet.
    lacked: u64,
}

impl Patience {
    /// How many bytes have to come to one of so many partitions, and whether that is less than what
    /// earlier watches are for.
    ///
    /// # Panics
    /// If nothing is lacking.
    pub(super) fn with(&mut self, lacking: u64, partitions: usize) -> (u64, bool) {
        assert!(lacking > 0 && partitions > 0, "who has enough does not wait");
        if partitions == 1 {
            return (lacking, false);
        }
        let anew = self.lacked > 0 && lacking <= self.lacked / 2;
        if self.lacked == 0 || anew || lacking > self.lacked {
            self.lacked = lacking;
        }
        (self.lacked.div_ceil(2 * partitions as u64), anew)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_partition_is_waited_for_with_all_that_is_lacking() {
        let mut patience = Patience::default();
        assert_eq!(patience.with(1000, 1), (1000, false));
        assert_eq!(patience.with(10, 1), (10, false));
    }

    #[test]
    fn one_byte_is_waited_for_with_one() {
        assert_eq!(Patience::default().with(1, 2000), (1, false));
    }

    proptest! {
        /// Whatever comes where: it is never enough without a word, and words are few.
        #[test]
        fn enough_is_never_missed(
            partitions in 1_usize..20,
            wanted in 1_u64..100_000,
            appends in prop::collection::vec((0_usize..20, 1_u64..300), 1..2000),
        ) {
            let (mut patience, mut found, mut words) = (Patience::default(), 0, 0);
            let (first, _) = patience.with(wanted, partitions);
            let mut unseen = vec![0; partitions];
            let mut watches = vec![first; partitions];
            'waiting: for (place, bytes) in appends {
                unseen[place % partitions] += bytes;
                while let Some(place) = (0..partitions).find(|place| unseen[*place] >= watches[*place]) {
                    words += 1;
                    found += std::mem::take(&mut unseen[place]);
                    if found >= wanted {
                        break 'waiting;
                    }
                    let (more, anew) = patience.with(wanted - found, partitions);
                    watches[place] = more;
                    if anew {
                        watches.fill(more);
                    }
                }
                prop_assert!(found + unseen.iter().sum::<u64>() < wanted);
            }
            prop_assert!(words <= 2 * partitions * 18, "{} words", words);
        }
    }
}
