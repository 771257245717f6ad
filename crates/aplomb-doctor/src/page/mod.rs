//! The picture: one HTML file that shows who waited for whom, and says why.
//!
//! What always holds: the page follows from the recording and the diagnosis alone, asks nothing of
//! a network, and can be read without scripts; a script only draws and finds. Foreign text is
//! escaped by [`crate::html`], and even if it were not, the page's policy lets only its own script
//! run.
//!
//! From the top: [`facts`], [`verdicts`], the picture with its [`lists`] (drawn by `page.js` from
//! the [`model`]; [`overview`] stands in for it without scripts), [`stacks`], [`sight`]. The same
//! for a terminal is in [`text`], for programs in [`answer`].

mod answer;
mod digest;
mod facts;
mod frame;
mod intern;
mod lists;
mod model;
mod overview;
mod places;
mod sight;
mod stacks;
pub mod text;
mod verdicts;
mod words;

pub use answer::json;
pub use frame::page;
