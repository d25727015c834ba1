//! UUIDs of cards: the driver writes them as text, CUDA hands out their bytes.

/// Whether a UUID as the driver writes it (`GPU-8f1c...`, `MIG-...`) stands for these bytes.
#[must_use]
pub fn uuid_matches(text: &str, bytes: &[u8; 16]) -> bool {
    let digits = text.split_once('-').map_or(text, |(_, digits)| digits);
    let mut digits = digits.bytes().filter(u8::is_ascii_hexdigit);
    let digit = |number: u8| char::from_digit(u32::from(number), 16).map_or(0, |digit| digit as u8);
    let same = bytes.iter().all(|byte| {
        let pair = (digits.next(), digits.next());
        let is = |found: Option<u8>, number| found.is_some_and(|found| found.to_ascii_lowercase() == digit(number));
        is(pair.0, byte >> 4) && is(pair.1, byte & 15)
    });
    same && digits.next().is_none()
}

/// The beginning of a UUID, enough to tell the cards of a machine apart.
#[must_use]
pub fn short_uuid(text: &str) -> &str {
    text.get(..12).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_are_compared() {
        let mut bytes = *b"oomph-hollow-gpu";
        bytes[15] = 1;
        assert!(uuid_matches("GPU-6f6f6d70-682d-686f-6c6c-6f772d677001", &bytes));
        assert!(uuid_matches("MIG-6F6F6D70-682d-686f-6c6c-6f772d677001", &bytes));
        assert!(!uuid_matches("GPU-6f6f6d70-682d-686f-6c6c-6f772d677002", &bytes));
        assert!(!uuid_matches("GPU-6f6f6d70-682d-686f-6c6c-6f772d67700", &bytes));
        assert!(!uuid_matches("GPU-6f6f6d70-682d-686f-6c6c-6f772d67700100", &bytes));
        assert!(!uuid_matches("", &bytes) && !uuid_matches("GPU-", &bytes));
        assert_eq!((short_uuid("GPU-6f6f6d70-682d"), short_uuid("GPU-é")), ("GPU-6f6f6d70", "GPU-é"));
    }
}
