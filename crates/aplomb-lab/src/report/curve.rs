//! Latency by percentile: what share of the records was answered within which time, calm and
//! disturbed, all brokers in one picture.
//!
//! What always holds: the axis is the logarithm of 1/(1-p), so that each further nine has the same
//! room; a curve ends where its records do, and the largest latency is drawn there.

use super::axes::{self, Frame, Scale};
use super::series;
use super::who::Who;
use crate::record::{Latency, Run};
use aplomb_doctor::html::{Element, el};

const FRAME: Frame = Frame { width: 640.0, height: 400.0, left: 74.0, right: 156.0, top: 16.0, bottom: 34.0 };

/// More nines than this are not drawn.
const MOST_NINES: f64 = 6.0;

/// The picture; `None` if nothing was measured.
pub(super) fn percentiles(run: &Run, names: &[Who]) -> Option<Element> {
    let curves: Vec<Curve<'_>> = run
        .brokers
        .iter()
        .zip(names)
        .flat_map(|(run, who)| {
            let phase = |latency, class, word| Curve::of(latency, who, class, word);
            [phase(&run.latency.during, "during", "during"), phase(&run.latency.calm, "calm", "calm")]
        })
        .flatten()
        .collect();
    let nines =
        curves.iter().filter_map(|curve| curve.points.last()).map(|(nines, _)| *nines).fold(0.0, f64::max);
    if nines == 0.0 {
        return None;
    }
    let x = Scale::Linear { from: 0.0, to: nines };
    let values = || curves.iter().flat_map(|curve| curve.points.iter().map(|(_, us)| *us));
    let y = Scale::log_over(values());
    let mut picture = FRAME
        .svg("Latency by percentile, calm and disturbed")
        .class("curve")
        .child(FRAME.latency_axis(y))
        .child(nines_axis(x, nines));
    for curve in curves.iter().rev() {
        let points: Vec<_> = curve.points.iter().map(|(n, us)| (FRAME.x(x, *n), FRAME.y(y, *us))).collect();
        let class = format!("line {} {}", curve.class, curve.who.class);
        picture = picture.child(el("path").class(class).attr("d", series::path(&points)));
    }
    let mut ends: Vec<(f64, f64, &Curve<'_>)> = curves
        .iter()
        .filter_map(|curve| curve.points.last().map(|(n, us)| (FRAME.y(y, *us) + 4.0, FRAME.x(x, *n), curve)))
        .collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let places = axes::apart(ends.iter().map(|(y, ..)| *y).collect(), 19.0, FRAME.y_end());
    Some(picture.children(ends.iter().zip(places).map(|((_, end, curve), place)| {
        let text = format!("{}, {}", curve.who.short, curve.word);
        axes::label(end + 8.0, place, "start", &text)
            .class(format_args!("name {} {}", curve.class, curve.who.class))
    })))
}

struct Curve<'a> {
    who: &'a Who,
    class: &'static str,
    word: &'static str,
    /// Nines and microseconds, both rising.
    points: Vec<(f64, f64)>,
}

impl<'a> Curve<'a> {
    fn of(latency: &Option<Latency>, who: &'a Who, class: &'static str, word: &'static str) -> Option<Self> {
        let latency = latency.as_ref().filter(|latency| latency.count > 0)?;
        let last = (latency.count as f64).log10().clamp(1.0, MOST_NINES);
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (percentile, us) in &latency.curve {
            // The last record has no share above it; it stands where a share of one record ends.
            let nines = (-(1.0 - percentile.clamp(0.0, 100.0) / 100.0).log10()).min(last);
            if points.last().is_none_or(|(before, largest)| nines >= *before && *us as f64 >= *largest) {
                points.push((nines, *us as f64));
            }
        }
        (points.len() > 1).then_some(Self { who, class, word, points })
    }
}

fn nines_axis(scale: Scale, nines: f64) -> Element {
    const NAMES: &[&str] = &["0", "90", "99", "99.9", "99.99", "99.999", "99.9999"];
    let y = FRAME.y_end();
    let mut axis = el("g").class("axis time").child(axes::line(FRAME.left, y, FRAME.x_end(), y));
    for (at, name) in NAMES.iter().enumerate().take_while(|(at, _)| *at as f64 <= nines) {
        let x = FRAME.x(scale, at as f64);
        axis = axis.child(axes::line(x, FRAME.top, x, y).class("faint")).child(axes::label(
            x,
            y + 21.0,
            "middle",
            &format!("{name}{}", if at == 0 { " %" } else { "" }),
        ));
    }
    axis
}
