//! Scales, their ticks, and the frame of a picture.
//!
//! What always holds: a scale maps every number into its range or to one of its ends, whatever a
//! record says; there are never more than a dozen ticks. Units of a picture are those of its
//! `viewBox`; the style sheet makes texts larger in narrow windows, and margins allow for it.

use super::units;
use aplomb_doctor::html::{Element, Number, el};

/// What a picture's axis means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Scale {
    /// Equal differences, equal lengths.
    Linear {
        /// At the beginning.
        from: f64,
        /// At the end.
        to: f64,
    },
    /// Equal ratios, equal lengths.
    Log {
        /// At the beginning, more than 0.
        from: f64,
        /// At the end.
        to: f64,
    },
}

impl Scale {
    /// From 0 to at least `largest`, ending at a round number.
    pub(super) fn linear_to(largest: f64) -> Self {
        let largest = if largest > 0.0 { largest } else { 1.0 };
        let step = round_step(largest);
        Self::Linear { from: 0.0, to: (largest / step).ceil() * step }
    }

    /// Over all values, from a 1, 2 or 5 of some power of ten to another, at least one power apart.
    pub(super) fn log_over(values: impl IntoIterator<Item = f64>) -> Self {
        let (mut least, mut largest) = (f64::INFINITY, 0.0_f64);
        for value in values {
            // Nothing is measured finer than a microsecond.
            least = least.min(value.max(1.0));
            largest = largest.max(value.max(1.0));
        }
        if largest == 0.0 {
            (least, largest) = (100.0, 1_000.0);
        }
        let from = round_below(least);
        Self::Log { from, to: round_above(largest).max(from * 10.0) }
    }

    /// Where a value lies, from 0 to 1.
    pub(super) fn at(self, value: f64) -> f64 {
        let part = match self {
            Self::Linear { from, to } => (value - from) / (to - from),
            Self::Log { from, to } => (value.max(from) / from).ln() / (to / from).ln(),
        };
        if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Round values on it, in rising order.
    pub(super) fn ticks(self) -> Vec<f64> {
        match self {
            Self::Linear { from, to } => {
                let step = round_step(to - from);
                let first = (from / step).ceil();
                (0..12)
                    .map(|n| (first + f64::from(n)) * step)
                    .take_while(|tick| *tick <= to * 1.000_001)
                    .collect()
            }
            Self::Log { from, to } => {
                let first = from.log10().ceil() as i32;
                let last = (to * 1.000_001).log10().floor() as i32;
                let each = (last - first) / 10 + 1;
                (first..=last)
                    .filter(|power| (power - first) % each == 0)
                    .map(|power| 10_f64.powi(power))
                    .collect()
            }
        }
    }
}

fn round_step(range: f64) -> f64 {
    let raw = range / 5.0;
    let power = 10_f64.powf(raw.log10().floor());
    let lead = raw / power;
    power
        * match lead {
            lead if lead <= 1.0 => 1.0,
            lead if lead <= 2.0 => 2.0,
            lead if lead <= 5.0 => 5.0,
            _ => 10.0,
        }
}

fn round_below(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let lead = value / power;
    power
        * if lead >= 5.0 {
            5.0
        } else if lead >= 2.0 {
            2.0
        } else {
            1.0
        }
}

fn round_above(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let lead = value / power;
    power
        * if lead <= 1.0 {
            1.0
        } else if lead <= 2.0 {
            2.0
        } else if lead <= 5.0 {
            5.0
        } else {
            10.0
        }
}

/// A picture's measures: the whole, and the margins around what is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// The whole width.
    pub(super) width: f64,
    /// The whole height.
    pub(super) height: f64,
    /// For what is written on the left.
    pub(super) left: f64,
    /// For what is written on the right.
    pub(super) right: f64,
    /// Above.
    pub(super) top: f64,
    /// Below.
    pub(super) bottom: f64,
}

impl Frame {
    /// The picture, empty, with a name for those who cannot see it.
    pub(super) fn svg(&self, name: &str) -> Element {
        el("svg")
            .attr("viewBox", format_args!("0 0 {} {}", Number(self.width), Number(self.height)))
            .attr("role", "img")
            .attr("aria-label", name)
    }

    /// Where the drawing ends on the right.
    pub(super) fn x_end(&self) -> f64 {
        self.width - self.right
    }

    /// Where the drawing ends below.
    pub(super) fn y_end(&self) -> f64 {
        self.height - self.bottom
    }

    /// From the left to the right.
    pub(super) fn x(&self, scale: Scale, value: f64) -> f64 {
        self.left + scale.at(value) * (self.x_end() - self.left)
    }

    /// From below upwards.
    pub(super) fn y(&self, scale: Scale, value: f64) -> f64 {
        self.y_end() - scale.at(value) * (self.y_end() - self.top)
    }

    /// Horizontal lines at round latencies, with what they mean.
    pub(super) fn latency_axis(&self, scale: Scale) -> Element {
        let mut axis = el("g").class("axis");
        for tick in scale.ticks() {
            let y = self.y(scale, tick);
            axis = axis.child(line(self.left, y, self.x_end(), y)).child(label(
                self.left - 8.0,
                y + 4.0,
                "end",
                &if tick == 0.0 { "0".to_owned() } else { units::round_time(tick) },
            ));
        }
        axis
    }

    /// Seconds of the run, below; the scale is in milliseconds.
    pub(super) fn time_axis(&self, scale: Scale) -> Element {
        let y = self.y_end();
        let mut axis = el("g").class("axis time").child(line(self.left, y, self.x_end(), y));
        for tick in scale.ticks() {
            let x = self.x(scale, tick);
            let text = if tick == 0.0 { "0 s".to_owned() } else { format!("{}", Number(tick / 1e3)) };
            axis = axis.child(line(x, y, x, y + 4.0)).child(label(x, y + 20.0, "middle", &text));
        }
        axis
    }
}

pub(super) fn line(x1: f64, y1: f64, x2: f64, y2: f64) -> Element {
    el("line").at("x1", x1).at("y1", y1).at("x2", x2).at("y2", y2)
}

pub(super) fn rect(x: f64, y: f64, width: f64, height: f64) -> Element {
    el("rect").at("x", x).at("y", y).at("width", width.max(0.0)).at("height", height.max(0.0))
}

/// A text at a place; `anchor` is `start`, `middle` or `end`.
pub(super) fn label(x: f64, y: f64, anchor: &str, text: &str) -> Element {
    el("text").at("x", x).at("y", y).attr("text-anchor", anchor).text(text)
}

/// Moves texts apart that would overlap: each at least `distance` below the one before, all of them
/// above `end` if they fit. Takes and gives the places in order from above.
pub(super) fn apart(mut places: Vec<f64>, distance: f64, end: f64) -> Vec<f64> {
    for at in 1..places.len() {
        places[at] = places[at].max(places[at - 1] + distance);
    }
    let mut limit = end;
    for place in places.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - distance;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_scale_ends_at_round_numbers_and_has_a_tick_at_each_power() {
        let scale = Scale::log_over([1_300.0, 848_000.0]);
        assert_eq!(scale, Scale::Log { from: 1_000.0, to: 1_000_000.0 });
        assert_eq!(scale.ticks(), [1e3, 1e4, 1e5, 1e6]);
        assert_eq!(scale.at(1_000.0), 0.0);
        assert!((scale.at(31_622.776_6) - 0.5).abs() < 1e-6);
        assert_eq!(scale.at(2e6), 1.0);
        assert_eq!(Scale::log_over([3_000.0]), Scale::Log { from: 2_000.0, to: 20_000.0 });
    }

    #[test]
    fn a_linear_scale_begins_at_zero_and_its_ticks_are_few() {
        assert_eq!(Scale::linear_to(1_095.0), Scale::Linear { from: 0.0, to: 1_500.0 });
        for largest in [0.0, 1.0, 7.0, 60_000.0, 3.3e18] {
            let ticks = Scale::linear_to(largest).ticks();
            assert!((2..=12).contains(&ticks.len()), "{largest}: {ticks:?}");
            assert_eq!(ticks[0], 0.0);
        }
    }

    #[test]
    fn whatever_a_record_says_there_is_a_place_for_it() {
        let scales = [Scale::log_over([]), Scale::log_over([0.0, 1.8e19]), Scale::linear_to(f64::MAX / 4.0)];
        for scale in scales {
            assert!(scale.ticks().len() <= 12, "{scale:?}");
            for value in [-1e300, 0.0, 5.0, 1e300, f64::NAN, f64::INFINITY] {
                assert!((0.0..=1.0).contains(&scale.at(value)), "{scale:?} {value}");
            }
        }
    }

    #[test]
    fn labels_keep_their_distance_and_stay_inside() {
        assert_eq!(apart(vec![10.0, 12.0, 50.0], 15.0, 100.0), [10.0, 25.0, 50.0]);
        assert_eq!(apart(vec![90.0, 95.0, 99.0], 15.0, 100.0), [70.0, 85.0, 100.0]);
    }
}
