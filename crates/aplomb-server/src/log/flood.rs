//! Lines that come in floods: a client that is refused and comes back at once writes thousands.
//!
//! What always holds: of one room and severity no more than [`MOST`] lines are written in a window,
//! and of the rooms whose lines clients can cause at will, [`MOST_OF_CLIENTS`]; how many were left
//! out is said when the window ends.

use std::collections::BTreeMap;
use std::time::Duration;

use aplomb_broker::ports::{Event, Severity};
use aplomb_model::Timestamp;

/// How long lines are counted together.
pub(super) const WINDOW: Duration = Duration::from_secs(10);
/// So many lines of a room and severity are written in a window.
const MOST: u64 = 200;
/// The same of the rooms that serve connections and groups.
const MOST_OF_CLIENTS: u64 = 20;

/// How many lines of a room are written in a window.
fn most(room: &str) -> u64 {
    if matches!(room, "server/net" | "broker/groups") { MOST_OF_CLIENTS } else { MOST }
}

/// What was written of late.
#[derive(Debug, Default)]
pub(super) struct Floods {
    windows: BTreeMap<(&'static str, Severity), Window>,
}

#[derive(Debug)]
struct Window {
    /// Milliseconds since the epoch.
    ends: i64,
    lines: u64,
}

impl Floods {
    /// Whether an event is to be written.
    pub(super) fn admits(&mut self, at: Timestamp, event: &Event) -> bool {
        let fresh = Window { ends: at.0.saturating_add(WINDOW.as_millis() as i64), lines: 0 };
        let window = self.windows.entry((event.room, event.severity)).or_insert(fresh);
        window.lines += 1;
        window.lines <= most(event.room)
    }

    /// Ends windows whose time is over, and says what was left out in them.
    pub(super) fn end(&mut self, now: Timestamp) -> Vec<Event> {
        self.take(|window| window.ends <= now.0)
    }

    /// Ends all windows.
    pub(super) fn end_all(&mut self) -> Vec<Event> {
        self.take(|_| true)
    }

    /// Whether something was left out that was not told yet.
    pub(super) fn has_left_out(&self) -> bool {
        self.windows.iter().any(|((room, _), window)| window.lines > most(room))
    }

    fn take(&mut self, ends: impl Fn(&Window) -> bool) -> Vec<Event> {
        let mut told = Vec::new();
        self.windows.retain(|(room, severity), window| {
            let over = ends(window);
            if over && window.lines > most(room) {
                let text = format!("{} more lines like these were left out", window.lines - most(room));
                told.push(Event { severity: *severity, room, text });
            }
            !over
        });
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(room: &'static str, severity: Severity) -> Event {
        Event { severity, room, text: "refused".to_owned() }
    }

    #[test]
    fn a_flood_is_cut_off_counted_and_told_and_other_lines_are_not() {
        let mut floods = Floods::default();
        let admitted = |floods: &mut Floods, at, room, severity| {
            (0..most(room) + 7).filter(|_| floods.admits(Timestamp(at), &event(room, severity))).count()
                as u64
        };
        assert_eq!(admitted(&mut floods, 1000, "server/net", Severity::Warn), MOST_OF_CLIENTS);
        assert!(floods.admits(Timestamp(1000), &event("server/net", Severity::Error)));
        assert!(floods.admits(Timestamp(1000), &event("broker/disks", Severity::Warn)));
        assert_eq!(floods.end(Timestamp(10_999)), []);
        assert!(floods.has_left_out());
        let told = floods.end(Timestamp(11_000));
        assert_eq!(told.len(), 1);
        assert_eq!((told[0].room, told[0].severity), ("server/net", Severity::Warn));
        assert_eq!(told[0].text, "7 more lines like these were left out");
        assert!(!floods.has_left_out());
        assert_eq!(
            admitted(&mut floods, 11_000, "server/net", Severity::Warn),
            MOST_OF_CLIENTS,
            "a new window"
        );
        assert_eq!(floods.end_all().len(), 1);
        assert_eq!(admitted(&mut floods, 30_000, "broker/disk", Severity::Warn), MOST);
    }
}
