//! Times as sets: united, measured, cut with one another.

use super::verdict::Span;

/// A set of times: in order, without overlaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Spans(Vec<Span>);

impl FromIterator<Span> for Spans {
    fn from_iter<I: IntoIterator<Item = Span>>(spans: I) -> Self {
        let mut all: Vec<Span> = spans.into_iter().filter(|span| span.to_ms > span.from_ms).collect();
        all.sort_by(|a, b| a.from_ms.total_cmp(&b.from_ms));
        let mut united: Vec<Span> = Vec::with_capacity(all.len());
        for span in all {
            match united.last_mut() {
                Some(last) if span.from_ms <= last.to_ms => last.to_ms = last.to_ms.max(span.to_ms),
                _ => united.push(span),
            }
        }
        Self(united)
    }
}

impl Spans {
    /// Altogether, in milliseconds.
    pub(super) fn total_ms(&self) -> f64 {
        self.0.iter().map(|span| span.to_ms - span.from_ms).sum()
    }

    /// The squares of their lengths together.
    pub(super) fn squares_ms2(&self) -> f64 {
        self.0.iter().map(|span| (span.to_ms - span.from_ms).powi(2)).sum()
    }

    /// The longest of them, in milliseconds.
    pub(super) fn longest_ms(&self) -> f64 {
        self.0.iter().map(|span| span.to_ms - span.from_ms).fold(0.0, f64::max)
    }

    /// Both together.
    pub(super) fn and(&self, other: &Self) -> Self {
        self.0.iter().chain(&other.0).copied().collect()
    }

    /// What is in both.
    pub(super) fn within(&self, other: &Self) -> Self {
        let mut common = Vec::new();
        let mut theirs = other.0.iter().peekable();
        for ours in &self.0 {
            while let Some(other) = theirs.peek() {
                let span =
                    Span { from_ms: ours.from_ms.max(other.from_ms), to_ms: ours.to_ms.min(other.to_ms) };
                if span.to_ms > span.from_ms {
                    common.push(span);
                }
                if other.to_ms > ours.to_ms {
                    break;
                }
                theirs.next();
            }
        }
        Self(common)
    }

    /// What is in this one and not in the other.
    pub(super) fn without(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        for ours in &self.0 {
            let mut from_ms = ours.from_ms;
            for theirs in other.0.iter().filter(|span| span.to_ms > ours.from_ms && span.from_ms < ours.to_ms)
            {
                left.push(Span { from_ms, to_ms: theirs.from_ms });
                from_ms = from_ms.max(theirs.to_ms);
            }
            left.push(Span { from_ms, to_ms: ours.to_ms });
        }
        left.into_iter().collect()
    }

    /// The share of this that the other covers, 0 to 1.
    pub(super) fn share_in(&self, other: &Self) -> f64 {
        let total = self.total_ms();
        if total > 0.0 { self.within(other).total_ms() / total } else { 0.0 }
    }

    /// The same, each longer by so much at both ends.
    pub(super) fn widened(&self, ms: f64) -> Self {
        let wider = |span: &Span| Span { from_ms: span.from_ms - ms, to_ms: span.to_ms + ms };
        self.0.iter().map(wider).collect()
    }

    /// Those of at least this length.
    pub(super) fn of_at_least(&self, ms: f64) -> Self {
        self.0.iter().copied().filter(|span| span.to_ms - span.from_ms >= ms).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_vec(self) -> Vec<Span> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spans(times: &[(u32, u32)]) -> Spans {
        let span = |&(from, to): &(u32, u32)| Span { from_ms: from.into(), to_ms: to.into() };
        times.iter().map(span).collect()
    }

    /// Whether each millisecond below 60 is in it.
    fn marks(spans: &Spans) -> Vec<bool> {
        let inside = |at: f64| spans.0.iter().any(|span| span.from_ms <= at && at < span.to_ms);
        (0..60u32).map(|at| inside(f64::from(at))).collect()
    }

    #[test]
    fn what_overlaps_is_one() {
        let both = spans(&[(0, 10), (5, 20), (30, 30), (40, 50)]);
        assert_eq!(both, spans(&[(0, 20), (40, 50)]));
        assert_eq!((both.total_ms(), both.longest_ms(), both.squares_ms2()), (30.0, 20.0, 500.0));
        assert_eq!(both.of_at_least(15.0), spans(&[(0, 20)]));
        assert!((both.share_in(&spans(&[(10, 45)])) - 0.5).abs() < 1e-9);
    }

    proptest! {
        #[test]
        fn sets_of_times_are_sets(
            ours in prop::collection::vec((0u32..60, 0u32..60), 0..8),
            theirs in prop::collection::vec((0u32..60, 0u32..60), 0..8),
        ) {
            let (ours, theirs) = (spans(&ours), spans(&theirs));
            let each = |both: fn(bool, bool) -> bool| -> Vec<bool> {
                marks(&ours).into_iter().zip(marks(&theirs)).map(|(a, b)| both(a, b)).collect()
            };
            prop_assert_eq!(marks(&ours.and(&theirs)), each(|a, b| a || b));
            prop_assert_eq!(marks(&ours.within(&theirs)), each(|a, b| a && b));
            prop_assert_eq!(marks(&ours.without(&theirs)), each(|a, b| a && !b));
        }
    }
}
