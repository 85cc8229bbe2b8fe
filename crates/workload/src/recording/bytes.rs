//! Numbers and texts of a recorder's file, read so that no byte is looked at before it is known to be there.

use etherweave_primitives::InputError;

pub(super) struct Bytes<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes { bytes, at: 0 }
    }

    /// Returns an error about what begins at `from`.
    pub(super) fn error(from: usize, mistake: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
        InputError::new("", format_args!("byte {from}: {mistake}"), expected)
    }

    pub(super) fn place(&self) -> usize {
        self.at
    }

    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], InputError> {
        if self.left() < count {
            let mistake = "the file ends within a record";
            return Err(Bytes::error(self.at, mistake, "a recording of a program that called MPI_Finalize"));
        }
        let taken = &self.bytes[self.at..self.at + count];
        self.at += count;
        Ok(taken)
    }

    /// A little-endian number of 8 bytes at most.
    pub(super) fn fixed(&mut self, count: usize) -> Result<u64, InputError> {
        Ok(self.take(count)?.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    /// Seven bits in a byte, the lowest first.
    pub(super) fn number(&mut self) -> Result<u64, InputError> {
        let (from, mut number) = (self.at, 0_u64);
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.take(1)?[0];
            let bits = u64::from(byte & 127);
            if bits << shift >> shift != bits {
                break;
            }
            number |= bits << shift;
            if byte < 128 {
                return Ok(number);
            }
        }
        Err(Bytes::error(from, "a number of more than 64 bits", "64 bits at most"))
    }

    /// A number below `end`.
    pub(super) fn below(&mut self, what: &str, end: u64) -> Result<u32, InputError> {
        let from = self.at;
        let number = self.number()?;
        let is_right = number < end && u32::try_from(number).is_ok();
        if is_right {
            return Ok(number as u32);
        }
        Err(Bytes::error(from, format_args!("{what} {number}"), format_args!("a number below {end}")))
    }

    /// How many items follow, each of a byte at least.
    pub(super) fn count(&mut self, what: &str) -> Result<usize, InputError> {
        let from = self.at;
        let count = self.number()?;
        let left = self.left() as u64;
        if count > left {
            let expected = format_args!("at most {left}, the bytes that are left");
            return Err(Bytes::error(from, format_args!("{count} {what}"), expected));
        }
        Ok(count as usize)
    }

    pub(super) fn text(&mut self) -> Result<String, InputError> {
        let length = self.count("letters")?;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}
