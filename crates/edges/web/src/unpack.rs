//! Answers that were packed for the way.

use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

/// What came out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unpacked {
    pub(crate) bytes: Vec<u8>,
    /// Whether more would have come.
    pub(crate) cut: bool,
}

/// Whether the packed bytes are all that there were.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packed {
    /// They are.
    Whole,
    /// They stop somewhere.
    Cut,
}

/// Unpacks at most `limit` bytes, whatever the packed ones promise. The error is for people.
pub(crate) fn unpacked(
    bytes: &[u8],
    packed: Packed,
    encoding: &str,
    limit: usize,
) -> Result<Unpacked, String> {
    match encoding.trim().to_ascii_lowercase().as_str() {
        "" | "identity" => Ok(Unpacked {
            bytes: bytes.iter().copied().take(limit).collect(),
            cut: packed == Packed::Cut || bytes.len() > limit,
        }),
        "gzip" | "x-gzip" => read(MultiGzDecoder::new(bytes), packed, limit),
        // Some send it bare and some in its wrapper; the wrapper's first byte names the method.
        "deflate" if bytes.first().is_some_and(|first| first & 0x0f == 8) => {
            read(ZlibDecoder::new(bytes), packed, limit)
        }
        "deflate" => read(DeflateDecoder::new(bytes), packed, limit),
        other => {
            let named: String = other.chars().take(40).collect();
            Err(format!(
                "the answer is packed as '{named}', which nobody asked for"
            ))
        }
    }
}

fn read(decoder: impl Read, packed: Packed, limit: usize) -> Result<Unpacked, String> {
    let mut bytes = Vec::new();
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let end = decoder.take(most).read_to_end(&mut bytes);
    let over = bytes.len() > limit;
    bytes.truncate(limit);
    match end {
        Ok(_) => Ok(Unpacked {
            bytes,
            cut: over || packed == Packed::Cut,
        }),
        Err(_stops) if packed == Packed::Cut => Ok(Unpacked { bytes, cut: true }),
        Err(error) => Err(format!("the answer can't be unpacked: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn forms_of_packing() {
        let text = b"hello hello hello";
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
        zlib.write_all(text).unwrap();
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::best());
        bare.write_all(text).unwrap();
        for (encoding, packed) in [
            ("", text.to_vec()),
            ("identity", text.to_vec()),
            (" GZIP ", gzip(text)),
            ("x-gzip", gzip(text)),
            ("deflate", zlib.finish().unwrap()),
            ("deflate", bare.finish().unwrap()),
        ] {
            let out = unpacked(&packed, Packed::Whole, encoding, 100).unwrap();
            assert_eq!(out.bytes, text, "{encoding}");
            assert!(!out.cut, "{encoding}");
            let out = unpacked(&packed, Packed::Whole, encoding, 5).unwrap();
            assert_eq!((out.bytes.as_slice(), out.cut), (&b"hello"[..], true));
        }
        assert!(unpacked(text, Packed::Whole, "br", 100).is_err());
        assert!(unpacked(text, Packed::Whole, "gzip", 100).is_err());
        let cut: Vec<u8> = gzip(text).into_iter().take(20).collect();
        assert!(unpacked(&cut, Packed::Whole, "gzip", 100).is_err());
        assert!(unpacked(&cut, Packed::Cut, "gzip", 100).unwrap().cut);
    }

    #[test]
    fn a_bomb_unpacks_to_the_limit_and_no_further() {
        let bomb = gzip(&vec![0; 50 << 20]);
        assert!(bomb.len() < 100 << 10);
        let out = unpacked(&bomb, Packed::Whole, "gzip", 1 << 20).unwrap();
        assert_eq!((out.bytes.len(), out.cut), (1 << 20, true));
        assert!(out.bytes.capacity() <= 4 << 20, "{}", out.bytes.capacity());
    }
}
