//! Many runs as a Markdown table: one row an incident.
//!
//! What always holds: no text of a record can end a cell or a row, or become markup.

use super::comparison::{Cell, Comparison, Entry};
use super::groups;
use super::headline::STAYED;
use super::special;
use super::units;
use crate::record::Ended;

/// The table, with a line feed at its end.
#[must_use]
pub fn compare_markdown(entries: &[Entry<'_>]) -> String {
    let comparison = Comparison::of(entries);
    let told = |run: &Option<Cell<'_>>| run.as_ref().and_then(|cell| groups::in_a_cell(cell.run));
    let with_groups = comparison.rows.iter().any(|row| row.cells.iter().any(|run| told(run).is_some()));
    let mut head = vec!["incident".to_owned(), "disturbance".to_owned()];
    for who in &comparison.names {
        head.push(format!("{}: p99.9 before → during", plain(&who.name)));
        head.push("max".to_owned());
        if with_groups {
            head.push("consumer groups".to_owned());
        }
    }
    let rule =
        head.iter().enumerate().map(|(at, _)| if at < 2 { "---" } else { "---:" }.to_owned()).collect();
    let mut rows: Vec<Vec<String>> = vec![head, rule];
    for row in &comparison.rows {
        let what = if row.story.control { "negative control" } else { row.disturbance.unwrap_or_default() };
        let mut cells = vec![format!("**{}**", plain(&row.story.name)), plain(what)];
        for run in &row.cells {
            cells.extend(figures(run.as_ref()));
            if with_groups {
                cells.push(told(run).unwrap_or_else(|| "–".to_owned()));
            }
        }
        rows.push(cells);
    }
    rows.iter().map(|cells| format!("| {} |\n", cells.join(" | "))).collect()
}

fn figures(cell: Option<&Cell<'_>>) -> [String; 2] {
    let Some(Cell { run, .. }) = cell else { return ["–".to_owned(), "–".to_owned()] };
    if run.ended != Ended::Completed {
        return ["cut short".to_owned(), "–".to_owned()];
    }
    let verdict = if run.expectation.met { "" } else { ", not as expected" };
    if let Some(recovery) = &run.recovery {
        let told = format!("away for {}; {}", special::away(recovery), special::kept(recovery));
        return [told + verdict, "–".to_owned()];
    }
    let (Some(calm), Some(during), Some(a)) = (&run.latency.calm, &run.latency.during, &run.amplification)
    else {
        return ["nothing acknowledged".to_owned(), "–".to_owned()];
    };
    let factor =
        if a.p999 >= STAYED { format!("**{}**", units::times(a.p999)) } else { units::times(a.p999) };
    let both = format!("{} → {} ({factor})", units::time_us(calm.p999_us), units::time_us(during.p999_us));
    let told = cell.into_iter().flat_map(Cell::remarks).chain(run.expectation.reservation());
    let told: String = told.map(|words| format!(", {}", plain(&words))).collect();
    [both + verdict + &told, units::time_us(during.max_us)]
}

/// A text without markup, in one line.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '\\' | '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '&' | '#' | '~' => plain.extend(['\\', c]),
            c if c.is_control() => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_end_its_cell() {
        assert_eq!(plain("a|b\n| c <b>_x_"), r"a\|b \| c \<b\>\_x\_");
    }
}
