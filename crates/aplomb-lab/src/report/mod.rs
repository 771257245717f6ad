//! Records told to people: a page a run, a page over many runs, a picture, tables, and a summary
//! for a terminal.
//!
//! What always holds: everything here but `files` is a pure function of records (see
//! [`crate::record`]) and can be made again from their JSON. A page is one file: its style, its
//! script and its pictures are in it, it asks for nothing from a network, and it can be read
//! without scripts. Pictures are SVG, drawn here. Texts of a record are foreign and are escaped by
//! the builder of elements (`html`), the only way to write one.
//!
//! Start at `page`, which puts a run's page together from one room a part: `headline`,
//! `series`, `curve`, `groups`, `timeline` (over `waits`), `evidence`, `device`; `special` has
//! the words for a broker that was killed, and for records that are not everybody's. `compare`,
//! `picture` and `markdown` stand on `comparison`; `terminal` alone has nothing of HTML;
//! `files` reads and writes what the others make. `axes`, `units` and `who` are what all share.

mod axes;
mod compare;
mod comparison;
mod curve;
mod device;
mod evidence;
mod files;
mod groups;
mod headline;
mod markdown;
mod page;
mod picture;
mod series;
mod special;
mod terminal;
mod timeline;
mod units;
mod waits;
mod who;

pub use compare::compare_page;
pub use comparison::Entry;
pub use files::{Compared, FileError, read, write_comparison, write_page, write_run};
pub use headline::headline;
pub use markdown::compare_markdown;
pub use page::page;
pub use picture::compare_svg;
pub use special::idle_machine;
pub use terminal::summary;
