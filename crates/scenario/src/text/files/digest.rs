//! Path and SHA-256 of a trace file, which a resolved scenario keeps, and names of DUMPI's files, which are not read.

use std::{fs::File, io, io::Read, path::Path};

use sha2::{Digest, Sha256};
use toml::Value;

use super::length;

/// Size of a read to compute a digest [B].
const CHUNK_BYTES: usize = 1 << 18;
/// Description of DUMPI's files in errors.
pub(super) const DUMPI: &str = "a DUMPI trace, whose library is not maintained since 2023: its dumpi2otf2 makes an \
                                OTF2 archive, which `etherweave replay` takes";

/// Mistake, and what was expected.
pub(super) type Mismatch = (String, String);

/// Whether DUMPI gives its files such a name: `dumpi-TIME-RANK.bin`, with a list that ends in `.meta`.
pub(super) fn is_dumpi(name: &str) -> bool {
    let file = Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    file.ends_with(".meta") || (file.starts_with("dumpi-") && file.ends_with(".bin"))
}

/// Rejects a digest other than the one that is asked for.
pub(super) fn check_digest(path: &Path, sha256: &str, expected: Option<&Value>) -> Result<(), Mismatch> {
    match expected {
        Some(Value::String(expected)) if expected != sha256 => {
            let mistake = format!("\"{}\" has changed: its SHA-256 is {sha256}", path.display());
            Err((mistake, format!("{expected}, as the key sha256 says")))
        }
        Some(Value::String(_)) | None => Ok(()),
        Some(other) => Err((format!("the SHA-256 {other}"), "64 hexadecimal digits as a string".to_owned())),
    }
}

pub(super) fn absolute(path: &Path) -> Result<String, String> {
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    path.into_os_string().into_string().map_err(|_| "its path is no UTF-8".to_owned())
}

/// The SHA-256 of regular files one after another, in hexadecimal.
pub(super) fn sha256<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<String, String> {
    let reason = |error: io::Error| error.to_string();
    let (mut digest, mut bytes) = (Sha256::new(), vec![0; CHUNK_BYTES]);
    for path in paths {
        length(path.as_ref())?;
        let mut file = File::open(path).map_err(reason)?;
        loop {
            match file.read(&mut bytes).map_err(reason)? {
                0 => break,
                count => digest.update(&bytes[..count]),
            }
        }
    }
    Ok(format!("{:x}", digest.finalize()))
}
