//! Writes pages of recordings that never were into a directory: one of an inode's lock that a
//! lagging reader holds, the same three times as long, one in which every text is hostile, and one
//! of nothing.
//!
//! `cargo run -p aplomb-doctor --example sample_page -- DIRECTORY`

#[path = "sample_page/story.rs"]
mod story;
#[path = "sample_page/variants.rs"]
mod variants;

use std::path::Path;

use aplomb_doctor::diagnosis::Diagnosis;
use aplomb_doctor::page;
use aplomb_doctor::recording::Recording;

fn main() -> std::io::Result<()> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let directory = Path::new(&directory);
    std::fs::create_dir_all(directory)?;
    let (recording, diagnosis) = story::inode_lock();
    write(directory, "inode-lock", &recording, &diagnosis)?;
    let (recording, diagnosis) = variants::long();
    write(directory, "long", &recording, &diagnosis)?;
    let (recording, diagnosis) = variants::hostile();
    write(directory, "hostile", &recording, &diagnosis)?;
    write(directory, "nothing", &Recording::default(), &Diagnosis::default())
}

fn write(directory: &Path, name: &str, recording: &Recording, diagnosis: &Diagnosis) -> std::io::Result<()> {
    let page = page::page(recording, diagnosis);
    let size = page.len() / 1024;
    std::fs::write(directory.join(format!("{name}.html")), page)?;
    std::fs::write(directory.join(format!("{name}.txt")), page::text::text(recording, diagnosis))?;
    std::fs::write(directory.join(format!("{name}.json")), page::json(recording, diagnosis))?;
    let record = recording.to_json()?.len() / 1024;
    println!("{name}: {} waits, a recording of {record} KiB, a page of {size} KiB", recording.waits.len());
    Ok(())
}
