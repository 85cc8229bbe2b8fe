//! A trace as a sequence of messages, each behind its length; all of it compressed, or none.
//!
//! No length is taken on trust: memory grows with the bytes that are there.

use std::io::{self, BufRead, BufReader, Read};

use etherweave_primitives::InputError;
use flate2::bufread::MultiGzDecoder;

use crate::TraceFile;

/// Longest message [B]; decoded it may take 85 times as much while its lists grow.
const MESSAGE_BYTES_MAX: u64 = 4 << 20;
/// Longest trace of a rank, not compressed [B].
const BYTES_MAX: u64 = 1 << 30;
/// Size of a read [B].
const CHUNK_BYTES: usize = 1 << 16;
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The bytes of a file, one after another.
struct Sequential<'a> {
    file: &'a TraceFile,
    at: u64,
}

impl Read for Sequential<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let length = (self.file.length() - self.at).min(bytes.len() as u64) as usize;
        self.file.read_at(&mut bytes[..length], self.at).map_err(io::Error::other)?;
        self.at += length as u64;
        Ok(length)
    }
}

pub(super) struct Messages<'a> {
    input: Box<dyn BufRead + 'a>,
    /// The next byte, behind a compression.
    at: u64,
    message: Vec<u8>,
}

impl<'a> Messages<'a> {
    /// Those of a file, compressed or not.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(file: &'a TraceFile) -> Result<Messages<'a>, InputError> {
        let is_compressed = file.head(GZIP.len() as u64)? == GZIP;
        let bytes = BufReader::with_capacity(CHUNK_BYTES, Sequential { file, at: 0 });
        let input: Box<dyn BufRead> = match is_compressed {
            true => Box::new(BufReader::new(MultiGzDecoder::new(bytes))),
            false => Box::new(bytes),
        };
        Ok(Messages { input, at: 0, message: Vec::new() })
    }

    /// The next message as a `M`; none at the end.
    ///
    /// # Errors
    /// When the trace ends within it, or it is none; with the byte.
    pub fn next<M: prost::Message + Default>(&mut self) -> Result<Option<M>, InputError> {
        let begin = self.at;
        let Some(length) = self.length()? else { return Ok(None) };
        if length > MESSAGE_BYTES_MAX {
            let expected = format!("at most {MESSAGE_BYTES_MAX}");
            return Err(byte_error(begin, format_args!("a message of {length} bytes"), expected));
        }
        if self.at + length > BYTES_MAX {
            return Err(byte_error(begin, "a longer trace", format_args!("at most {BYTES_MAX} bytes of each rank")));
        }
        self.message.clear();
        let read = self.input.by_ref().take(length).read_to_end(&mut self.message);
        read.map_err(|error| byte_error(self.at, error, "a whole file"))?;
        self.at += self.message.len() as u64;
        if (self.message.len() as u64) < length {
            let mistake = format!("the trace ends {} bytes into a message of {length}", self.message.len());
            return Err(byte_error(begin, mistake, "all of it"));
        }
        let message = M::decode(self.message.as_slice());
        message.map(Some).map_err(|error| byte_error(begin, error, "a message of Chakra's schema"))
    }

    /// The length in front of a message: seven bits in a byte, the lowest first.
    fn length(&mut self) -> Result<Option<u64>, InputError> {
        let begin = self.at;
        let mut length = 0;
        for shift in (0..u32::BITS).step_by(7) {
            let mut byte = [0];
            let read = self.input.read(&mut byte).map_err(|error| byte_error(begin, error, "a whole file"))?;
            if read == 0 && shift == 0 {
                return Ok(None);
            }
            if read == 0 {
                return Err(byte_error(begin, "the trace ends within the length of a message", "all of it"));
            }
            self.at += 1;
            length |= u64::from(byte[0] & 127) << shift;
            if byte[0] < 128 {
                return Ok(Some(length));
            }
        }
        Err(byte_error(begin, "a length of more than 32 bits", "32 bits at most"))
    }
}

/// The error about a byte of a trace.
fn byte_error(at: u64, mistake: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
    InputError::new("", format_args!("byte {at}: {mistake}"), expected)
}
