//! The words of one call.

use anyhow::{Context as _, bail};

/// Splits `a, "b, c", {d, e}` at the commas between arguments, up to the parenthesis that closes the call. Returns the
/// arguments, and what stands behind the parenthesis.
pub(super) fn split(text: &str) -> anyhow::Result<(Vec<String>, &str)> {
    let mut arguments = Vec::new();
    let mut current = String::new();
    let mut depth = 0_usize;
    let mut signs = text.char_indices();
    while let Some((at, sign)) = signs.next() {
        match sign {
            '"' => {
                current.push('"');
                quoted(&mut signs, &mut current)?;
            }
            '(' | '[' | '{' => {
                depth += 1;
                current.push(sign);
            }
            ')' if depth == 0 => {
                let last = current.trim();
                if !(last.is_empty() && arguments.is_empty()) {
                    arguments.push(last.to_owned());
                }
                let rest = text.get(at + 1..).unwrap_or_default();
                return Ok((arguments, rest));
            }
            ')' | ']' | '}' => {
                depth = depth
                    .checked_sub(1)
                    .context("a bracket closes that never opened")?;
                current.push(sign);
            }
            ',' if depth == 0 => {
                arguments.push(current.trim().to_owned());
                current.clear();
            }
            _ => current.push(sign),
        }
    }
    bail!("the call is not closed")
}

fn quoted(signs: &mut std::str::CharIndices<'_>, into: &mut String) -> anyhow::Result<()> {
    while let Some((_, sign)) = signs.next() {
        into.push(sign);
        match sign {
            '"' => return Ok(()),
            '\\' => into.push(signs.next().context("an escape is cut")?.1),
            _ => {}
        }
    }
    bail!("a text is not closed")
}

/// The bytes of `"\x61\n"`. A text that `strace` cut short (`"…"...`) is refused.
///
/// # Errors
/// If it is no text, was cut short, or holds an escape that is not C's.
pub fn bytes(argument: &str) -> anyhow::Result<Vec<u8>> {
    let inner = argument
        .strip_prefix('"')
        .with_context(|| format!("{} is no text", shortened(argument)))?;
    let inner = inner.strip_suffix('"').with_context(|| {
        format!(
            "{} was cut short by strace: record with a larger -s",
            shortened(argument)
        )
    })?;
    let mut bytes = Vec::with_capacity(inner.len() / 4);
    let mut raw = inner.bytes().peekable();
    while let Some(byte) = raw.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let escape = raw.next().context("an escape is cut")?;
        bytes.push(match escape {
            b'x' => {
                let high = digit(raw.next(), 16)?;
                high * 16 + digit(raw.next(), 16)?
            }
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                for _ in 0..2 {
                    let Some(next) = raw.next_if(|next| (b'0'..=b'7').contains(next)) else {
                        break;
                    };
                    value = value * 8 + u32::from(next - b'0');
                }
                u8::try_from(value).context("an octal escape is too large")?
            }
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'v' => 0x0b,
            b'f' => 0x0c,
            b'"' | b'\\' => escape,
            other => bail!("\\{} is no escape", char::from(other)),
        });
    }
    Ok(bytes)
}

fn digit(byte: Option<u8>, radix: u32) -> anyhow::Result<u8> {
    let digit = byte.and_then(|byte| char::from(byte).to_digit(radix));
    let digit = digit.context("an escape has a wrong digit")?;
    u8::try_from(digit).context("an escape has a wrong digit")
}

/// Its beginning, for an error.
fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}
