//! Contents of trace files. Who reads a scenario opens them; they are read piece by piece, as they may be larger than
//! the memory.

use std::{io, sync::Arc};

use etherweave_primitives::InputError;

/// A file whose bytes can be read at any place, by several threads at once.
pub trait ReadAt: Send + Sync {
    /// Number of its bytes.
    fn length(&self) -> u64;

    /// Fills `bytes` with those from byte `at` on.
    ///
    /// # Errors
    /// When the file ends before, or cannot be read.
    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()>;
}

impl ReadAt for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, bytes: &mut [u8], at: u64) -> io::Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..bytes.len()));
        bytes.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

/// An open trace file. Two are equal if their digests are.
#[derive(Clone)]
pub struct TraceFile {
    content: Arc<dyn ReadAt>,
    sha256: String,
}

impl TraceFile {
    /// A file and the SHA-256 of its content.
    pub fn new(content: impl ReadAt + 'static, sha256: String) -> TraceFile {
        TraceFile { content: Arc::new(content), sha256 }
    }

    /// Number of its bytes.
    pub fn length(&self) -> u64 {
        self.content.length()
    }

    /// Fills `bytes` with those from byte `at` on.
    ///
    /// # Errors
    /// When the file ends before, or cannot be read; with the place.
    pub fn read_at(&self, bytes: &mut [u8], at: u64) -> Result<(), InputError> {
        self.content.read_at(bytes, at).map_err(|reason| {
            let mistake = format!("byte {at}: {} bytes cannot be read ({reason})", bytes.len());
            InputError::new("file", mistake, "a file that does not change while it is in use")
        })
    }

    /// Its first bytes, at most `most`.
    ///
    /// # Errors
    /// As [`TraceFile::read_at`].
    pub fn head(&self, most: u64) -> Result<Vec<u8>, InputError> {
        let mut bytes = vec![0; self.length().min(most) as usize];
        self.read_at(&mut bytes, 0)?;
        Ok(bytes)
    }
}

impl PartialEq for TraceFile {
    fn eq(&self, other: &TraceFile) -> bool {
        self.sha256 == other.sha256
    }
}

impl std::fmt::Debug for TraceFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TraceFile({})", self.sha256)
    }
}
