//! Sizes as people write them: `24GiB`, `512 MiB`, `1.5G`, `1048576`.

use std::str::FromStr;

/// A number of bytes given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteCount(pub(crate) u64);

impl FromStr for ByteCount {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let digits_end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits_end);
        let unit_bytes =
            unit_bytes(unit.trim_start()).ok_or_else(|| format!("unknown unit '{}'; {USAGE}", unit.trim()))?;
        scale(number, unit_bytes).map(Self).ok_or_else(|| format!("not a size; {USAGE}"))
    }
}

const USAGE: &str = "write it like 24GiB, 512MiB or a plain number of bytes";

/// Bytes in one unit. A bare letter is binary, as in PyTorch's messages; `GB` is decimal, as on a card's box.
fn unit_bytes(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "t" | "tib" => 1 << 40,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        "tb" => 1_000_000_000_000,
        _ => return None,
    })
}

/// `number` times `unit_bytes` in exact integer arithmetic, rounded down to a byte.
fn scale(number: &str, unit_bytes: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    // Twelve decimals are below a byte even for a TiB; more digits would overflow for nothing.
    let fraction = &fraction[..fraction.len().min(12)];
    let parts = fraction.parse::<u128>().ok()?.checked_mul(u128::from(unit_bytes))?;
    let fraction_bytes = parts / 10_u128.pow(u32::try_from(fraction.len()).ok()?);
    let whole_bytes = whole.parse::<u64>().ok()?.checked_mul(unit_bytes)?;
    whole_bytes.checked_add(u64::try_from(fraction_bytes).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(text.parse::<ByteCount>().ok(), expected.map(ByteCount), "{text:?}");
    }

    #[test]
    fn sizes_people_write() {
        check("24GiB", Some(24 << 30));
        check("24 gib", Some(24 << 30));
        check("24G", Some(24 << 30));
        check("80GB", Some(80_000_000_000));
        check("1.5KiB", Some(1536));
        check("0.1GB", Some(100_000_000));
        check("139.80GiB", Some(150_109_106_995));
        check("1048576", Some(1 << 20));
        check("7b", Some(7));
    }

    #[test]
    fn not_sizes() {
        for text in ["", "GiB", "1.2.3", "-1", "1e9", "24 apples", "1.", ".5G", "99999999999TiB", "٣GiB"] {
            check(text, None);
        }
    }
}
