//! What a picture is, by its own bytes: its kind, its size, and whether it is whole. Labels and file endings are not believed.

/// A kind that some provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Kind {
    pub(crate) fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }
}

/// A picture, as its header has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    pub(crate) kind: Kind,
    /// The longer side, in pixels.
    pub(crate) side: u32,
}

/// Why bytes are no picture to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Of none of the kinds.
    Unknown,
    /// Of one of them, and cut or broken.
    Broken,
}

/// Looks at a picture's header and at its end.
pub(crate) fn look(bytes: &[u8]) -> Result<Look, Flaw> {
    let (kind, size) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        (Kind::Png, png(bytes))
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        (Kind::Jpeg, jpeg(bytes))
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        (Kind::Gif, gif(bytes))
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        (Kind::Webp, webp(bytes))
    } else {
        return Err(Flaw::Unknown);
    };
    match size {
        Some((width, height)) if width > 0 && height > 0 => Ok(Look {
            kind,
            side: width.max(height),
        }),
        Some(_) | None => Err(Flaw::Broken),
    }
}

fn byte(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at).copied().map(u32::from)
}

/// Two bytes, the higher one first.
fn high(bytes: &[u8], at: usize) -> Option<u32> {
    Some(byte(bytes, at)? << 8 | byte(bytes, at.checked_add(1)?)?)
}

/// Two bytes, the lower one first.
fn low(bytes: &[u8], at: usize) -> Option<u32> {
    Some(byte(bytes, at.checked_add(1)?)? << 8 | byte(bytes, at)?)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(high(bytes, at)? << 16 | high(bytes, at.checked_add(2)?)?)
}

/// `IHDR` first, then chunk after chunk to `IEND` (PNG specification, 5).
fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.get(12..16) != Some(b"IHDR") {
        return None;
    }
    let size = (word(bytes, 16)?, word(bytes, 20)?);
    let mut at = 8_usize;
    loop {
        let length = usize::try_from(word(bytes, at)?).ok()?;
        let kind = bytes.get(at.checked_add(4)?..at.checked_add(8)?)?;
        let end = at.checked_add(length)?.checked_add(12)?;
        if end > bytes.len() {
            return None;
        }
        if kind == b"IEND" {
            return Some(size);
        }
        at = end;
    }
}

/// The first frame header; and an end marker behind the scan (ITU T.81, B).
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2_usize;
    let mut size = None;
    loop {
        if byte(bytes, at)? != 0xff {
            return None;
        }
        let marker = byte(bytes, at.checked_add(1)?)?;
        match marker {
            // Filling.
            0xff => at = at.checked_add(1)?,
            // Without a length.
            0x01 | 0xd0..=0xd8 => at = at.checked_add(2)?,
            0xda => break,
            0xd9 => return None,
            _ => {
                let is_frame =
                    matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc);
                if is_frame && size.is_none() {
                    size = Some((
                        high(bytes, at.checked_add(7)?)?,
                        high(bytes, at.checked_add(5)?)?,
                    ));
                }
                let length = usize::try_from(high(bytes, at.checked_add(2)?)?).ok()?;
                at = at.checked_add(2)?.checked_add(length.max(2))?;
            }
        }
    }
    // Some cameras write more behind the end.
    let scan = bytes.get(at..)?;
    let ended = scan.windows(2).rev().any(|pair| pair == [0xff, 0xd9]);
    size.filter(|_| ended)
}

/// The screen's size, and a trailer at the end (GIF89a, 17, 27).
fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    let last = bytes.iter().rev().find(|byte| **byte != 0)?;
    (*last == 0x3b).then_some((low(bytes, 6)?, low(bytes, 8)?))
}

/// The first chunk of three kinds; and as long as it says it is (RFC 9649).
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    let length = usize::try_from(low(bytes, 6)? << 16 | low(bytes, 4)?).ok()?;
    if bytes.len() < length.checked_add(8)? {
        return None;
    }
    match bytes.get(12..16)? {
        b"VP8 " => Some((low(bytes, 26)? & 0x3fff, low(bytes, 28)? & 0x3fff)),
        b"VP8L" => {
            let bits = low(bytes, 23)? << 16 | low(bytes, 21)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => {
            let three = |at: usize| Some(byte(bytes, at + 2)? << 16 | low(bytes, at)?);
            Some((three(24)? + 1, three(27)? + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    use super::*;

    fn png_of(width: u32, height: u32) -> Vec<u8> {
        let chunk = |kind: &[u8], data: &[u8]| {
            let length = u32::try_from(data.len()).unwrap().to_be_bytes();
            [&length, kind, data, b"CRC!"].concat()
        };
        let header = [
            &width.to_be_bytes()[..],
            &height.to_be_bytes(),
            b"\x08\x02\0\0\0",
        ]
        .concat();
        [
            b"\x89PNG\r\n\x1a\n".to_vec(),
            chunk(b"IHDR", &header),
            chunk(b"IDAT", b"data"),
            chunk(b"IEND", b""),
        ]
        .concat()
    }

    fn jpeg_of(width: u16, height: u16) -> Vec<u8> {
        let mut bytes =
            b"\xff\xd8\xff\xe0\x00\x04JF\xff\xc4\x00\x04xx\xff\xff\xc2\x00\x0b\x08".to_vec();
        bytes.extend(height.to_be_bytes());
        bytes.extend(width.to_be_bytes());
        bytes.extend(b"\x01\x01\x11\x00\xff\xda\x00\x02scan\xff\x00\xff\xd9");
        bytes
    }

    fn webp_of(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let length = u32::try_from(data.len()).unwrap().to_le_bytes();
        let inside = [&b"WEBP"[..], kind, &length, data].concat();
        let all = u32::try_from(inside.len()).unwrap().to_le_bytes();
        [&b"RIFF"[..], &all, &inside].concat()
    }

    #[test]
    fn kinds_and_sizes() {
        let gif = STANDARD
            .decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
            .unwrap();
        let png = STANDARD
            .decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")
            .unwrap();
        let lossy = STANDARD
            .decode("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA")
            .unwrap();
        // 14 bits each: 300 and 200, less one.
        let bits = (299_u32 | 199 << 14).to_le_bytes();
        let lossless = webp_of(b"VP8L", &[&b"\x2f"[..], &bits].concat());
        let extended = webp_of(b"VP8X", b"\0\0\0\0\xff\x01\0\x00\x02\0");
        for (bytes, kind, side) in [
            (png, Kind::Png, 1),
            (png_of(9000, 200), Kind::Png, 9000),
            (png_of(200, 70_000), Kind::Png, 70_000),
            (jpeg_of(640, 480), Kind::Jpeg, 640),
            ([jpeg_of(4, 5), b"more".to_vec()].concat(), Kind::Jpeg, 5),
            (gif, Kind::Gif, 1),
            (lossy, Kind::Webp, 1),
            (lossless, Kind::Webp, 300),
            (extended, Kind::Webp, 513),
        ] {
            assert_eq!(look(&bytes), Ok(Look { kind, side }));
            for end in 0..bytes.len().min(bytes.len().saturating_sub(4)) {
                assert!(
                    look(bytes.get(..end).unwrap()).is_err(),
                    "{kind:?} cut at {end}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_picture() {
        for (bytes, flaw) in [
            (b"".to_vec(), Flaw::Unknown),
            (b"<html>".to_vec(), Flaw::Unknown),
            (b"\0\0\0\x20ftypheic".to_vec(), Flaw::Unknown),
            (b"RIFF\0\0\0\0WAVE".to_vec(), Flaw::Unknown),
            (png_of(0, 5), Flaw::Broken),
            (jpeg_of(0, 5), Flaw::Broken),
            (b"\xff\xd8\xff\xd9".to_vec(), Flaw::Broken),
        ] {
            assert_eq!(look(&bytes), Err(flaw), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(
            start in prop_oneof![Just(&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..]), Just(&b"\xff\xd8\xff"[..]), Just(&b"GIF89a"[..]), Just(&b"RIFF....WEBPVP8X"[..]), Just(&b""[..])],
            rest in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            prop_assert!(look(&[start, &rest].concat()).is_ok_and(|look| look.side > 0) || look(&[start, &rest].concat()).is_err());
        }
    }
}
