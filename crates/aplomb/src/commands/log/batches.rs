//! The batches of a segment file, one at a time.
//!
//! What always holds: no more memory is taken for a batch than the file has bytes left.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use aplomb_model::batch::{BatchError, BatchHeader, HEADER_SIZE};

/// Walks a file.
pub(super) struct BatchFile {
    file: BufReader<File>,
    position: u64,
    len: u64,
}

/// What is at a place of the file.
pub(super) enum Found {
    /// A batch: its position, header and bytes. Its checksum was not looked at.
    Batch { position: u64, header: BatchHeader, bytes: Vec<u8> },
    /// Nothing but zeros from there to the end: space that was reserved and not used.
    Zeros { from: u64, len: u64 },
    /// Something that is no batch; the walk ends.
    Damage { position: u64, why: BatchError },
    /// The end.
    End,
}

impl BatchFile {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let len = file.metadata()?.len();
        Ok(Self { file: BufReader::with_capacity(1 << 20, file), position: 0, len })
    }

    /// The next thing. After anything but a batch there is nothing more to ask for.
    pub(super) fn next(&mut self) -> io::Result<Found> {
        let (position, left) = (self.position, self.len - self.position);
        if left == 0 {
            return Ok(Found::End);
        }
        let mut bytes = self.take(left.min(HEADER_SIZE as u64))?;
        let header = match BatchHeader::parse(&bytes) {
            Ok(header) if header.size() as u64 <= left => header,
            Ok(header) => {
                let why = BatchError::Cut { needed: header.size() as u64, available: left };
                return Ok(Found::Damage { position, why });
            }
            Err(_) if bytes.iter().all(|byte| *byte == 0) && self.only_zeros()? => {
                return Ok(Found::Zeros { from: position, len: left });
            }
            Err(why) => return Ok(Found::Damage { position, why }),
        };
        let records = self.take(header.records_size() as u64)?;
        bytes.extend_from_slice(&records);
        self.position += bytes.len() as u64;
        Ok(Found::Batch { position, header, bytes })
    }

    fn take(&mut self, len: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        // Grows with what is read: a file may have become shorter since it was opened.
        self.file.by_ref().take(len).read_to_end(&mut bytes)?;
        if (bytes.len() as u64) < len { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(bytes) }
    }

    fn only_zeros(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 64 * 1024];
        loop {
            match self.file.read(&mut buffer)? {
                0 => return Ok(true),
                len if buffer[..len].iter().any(|byte| *byte != 0) => return Ok(false),
                _ => {}
            }
        }
    }
}
