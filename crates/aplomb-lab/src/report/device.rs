//! How long the device itself took: a row of bars for each operation and phase.
//!
//! What always holds: all brokers' rows have one scale; heights are shares of the row's own
//! operations, since a calm phase has fewer of them than a disturbed one.

use super::axes::{self, Frame, Scale};
use super::units;
use super::who::Who;
use crate::record::{BrokerRun, Bucket, PhaseTimes, Run};
use aplomb_doctor::html::{Element, el};

const ROW: f64 = 40.0;
const FRAME: Frame = Frame { width: 580.0, height: 0.0, left: 110.0, right: 128.0, top: 6.0, bottom: 32.0 };

type BarRow<'a> = (&'static str, &'static str, &'a [Bucket]);

fn rows(run: &BrokerRun) -> Vec<BarRow<'_>> {
    fn phases<'a>(operation: &'static str, times: &'a PhaseTimes) -> [BarRow<'a>; 3] {
        [
            (operation, "calm", times.calm.as_slice()),
            (operation, "during", times.during.as_slice()),
            (operation, "after", times.after.as_slice()),
        ]
    }
    let device = &run.device;
    let all =
        [phases("reads", &device.read), phases("writes", &device.write), phases("flushes", &device.flush)];
    all.into_iter().flatten().filter(|(.., buckets)| total(buckets) > 0).collect()
}

fn total(buckets: &[Bucket]) -> u64 {
    buckets.iter().fold(0, |sum, bucket| sum.saturating_add(bucket.count))
}

/// The scale for all brokers of a run; `None` if no device was looked at.
pub(super) fn scale(run: &Run) -> Option<Scale> {
    let buckets = || run.brokers.iter().flat_map(rows).flat_map(|(.., buckets)| buckets.iter());
    let taken: Vec<f64> =
        buckets().filter(|bucket| bucket.count > 0).map(|bucket| bucket.up_to_us as f64).collect();
    (!taken.is_empty()).then(|| Scale::log_over(taken))
}

/// One broker's rows.
pub(super) fn of(run: &BrokerRun, who: &Who, scale: Scale) -> Element {
    let title = format!("{}: {} on {} ({})", who.name, run.disk.filesystem, run.disk.device, run.disk.how);
    let all = el("div").class(who.class).child(el("h3").text(title));
    let rows = rows(run);
    if rows.is_empty() {
        return all.child(el("p").class("none").text("The device had nothing to do."));
    }
    let frame = Frame { height: FRAME.top + FRAME.bottom + ROW * rows.len() as f64, ..FRAME };
    let mut picture = frame.svg(&format!("Service times of the device under {}", who.name)).class("device");
    for tick in scale.ticks() {
        let x = frame.x(scale, tick);
        picture = picture
            .child(axes::line(x, frame.top, x, frame.y_end()).class("faint"))
            .child(axes::label(x, frame.y_end() + 20.0, "middle", &units::round_time(tick)).class("tick"));
    }
    for (at, row) in rows.iter().enumerate() {
        picture = bars(picture, &frame, scale, frame.top + ROW * (at as f64 + 1.0) - 6.0, row);
    }
    all.child(picture)
}

fn bars(mut picture: Element, frame: &Frame, scale: Scale, base: f64, row: &BarRow<'_>) -> Element {
    let (operation, phase, buckets) = row;
    let all = total(buckets);
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(1).max(1);
    for bucket in buckets.iter().filter(|bucket| bucket.count > 0) {
        let x = frame.x(scale, bucket.up_to_us as f64);
        // What is rare is what is looked for: it is never invisible.
        let height = ((ROW - 14.0) * bucket.count as f64 / most as f64).max(1.5);
        let share = 100.0 * bucket.count as f64 / all as f64;
        let told = format!(
            "{} of {} {operation} {phase} took up to {} ({share:.1} %)",
            units::count(bucket.count),
            units::count(all),
            units::time_us(bucket.up_to_us)
        );
        let bar = axes::rect(x - 5.0, base - height, 5.0, height).class(format_args!("bar {phase}"));
        picture = picture.child(bar.child(el("title").text(told)));
    }
    let figures = format!("{} · p99 {}", units::count(all), units::time_us(percentile(buckets, all, 0.99)));
    picture
        .child(axes::line(frame.left, base, frame.x_end(), base).class("base"))
        .child(
            axes::label(frame.left - 8.0, base - 2.0, "end", &format!("{operation} {phase}")).class("thread"),
        )
        .child(axes::label(frame.x_end() + 8.0, base - 2.0, "start", &figures).class("total"))
}

fn percentile(buckets: &[Bucket], all: u64, share: f64) -> u64 {
    let target = (all as f64 * share).ceil() as u64;
    let mut sum = 0_u64;
    for bucket in buckets {
        sum = sum.saturating_add(bucket.count);
        if sum >= target {
            return bucket.up_to_us;
        }
    }
    buckets.last().map_or(0, |bucket| bucket.up_to_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_bar_that_holds_it() {
        let buckets = [Bucket { up_to_us: 100, count: 98 }, Bucket { up_to_us: 20_000, count: 2 }];
        assert_eq!(percentile(&buckets, 100, 0.5), 100);
        assert_eq!(percentile(&buckets, 100, 0.99), 20_000);
        assert_eq!(percentile(&[], 0, 0.99), 0);
    }
}
