//! The text of `PYTORCH_CUDA_ALLOC_CONF`.
//!
//! PyTorch cuts the text at `,` `:` `[` `]`, drops white space, and reads tokens by position: a separator that is
//! missing or wrong is stepped over, not refused. What follows keeps to that, so that every text PyTorch 2.11 takes
//! is taken here with the same meaning.

use super::{Backend, Config, MIB, OWN_SEGMENT_BYTES, ROUNDUP_SLOTS};
use crate::error::HeapError;

const KEYS: [&str; 16] = [
    "backend",
    "expandable_segments",
    "garbage_collection_threshold",
    "graph_capture_record_stream_reuse",
    "large_segment_size_mb",
    "max_non_split_rounding_mb",
    "max_split_size_mb",
    "per_process_memory_fraction",
    "pinned_num_register_threads",
    "pinned_reserve_segment_size_mb",
    "pinned_use_background_threads",
    "pinned_use_cuda_host_register",
    "pinned_use_hip_host_register",
    "release_lock_on_cudamalloc",
    "release_lock_on_hipmalloc",
    "roundup_power2_divisions",
];
const MAX_REGISTER_THREADS: u64 = 128;
/// Sizes in MiB are capped here so that they still count in bytes.
const MAX_MIB: u64 = u64::MAX / MIB;

pub(super) fn parse(text: &str) -> Result<Config, HeapError> {
    let tokens = tokenize(text);
    let mut config = Config::default();
    // PyTorch reads this key in a pass of its own, because others are checked against it.
    let mut at = 0;
    while at < tokens.len() {
        let value = Value { tokens: &tokens, key_at: at };
        if tokens[at] == "large_segment_size_mb" {
            config.large_segment_bytes =
                value.mib_where("more than 10 is needed", |mib| mib > OWN_SEGMENT_BYTES / MIB)?;
        }
        at = value.end()? + 2;
    }
    let mut at = 0;
    while at < tokens.len() {
        at = read_key(&tokens, at, &mut config)? + 2;
    }
    Ok(config)
}

/// Reads the key at `at` and returns where its value ends.
fn read_key(tokens: &[String], at: usize, config: &mut Config) -> Result<usize, HeapError> {
    let value = Value { tokens, key_at: at };
    let least_mib = config.large_segment_bytes / MIB;
    let at_least_large = |mib| mib >= least_mib;
    let least_rule = format!("at least {least_mib} (the large segment size) is needed");
    match tokens[at].as_str() {
        "large_segment_size_mb" => {}
        "max_split_size_mb" => config.max_split_bytes = value.mib_where(&least_rule, at_least_large)?,
        "max_non_split_rounding_mb" => {
            config.max_non_split_rounding_bytes = value.mib_where(&least_rule, at_least_large)?;
        }
        "garbage_collection_threshold" => {
            config.garbage_collection_threshold =
                value.fraction("a number between 0 and 1, both excluded, is needed", |x| x > 0.0 && x < 1.0)?;
        }
        "per_process_memory_fraction" => {
            config.memory_fraction = value.fraction("a number from 0 to 1 is needed", |x| (0.0..=1.0).contains(&x))?;
        }
        "roundup_power2_divisions" => return read_divisions(&value, &mut config.roundup_power2_divisions),
        "expandable_segments" => config.expandable_segments = value.boolean()?,
        "release_lock_on_cudamalloc" | "release_lock_on_hipmalloc" => {
            config.release_lock_on_cudamalloc = value.boolean()?;
        }
        "graph_capture_record_stream_reuse" => config.graph_capture_record_stream_reuse = value.boolean()?,
        "pinned_use_background_threads" => config.pinned.use_background_threads = value.boolean()?,
        "pinned_use_cuda_host_register" | "pinned_use_hip_host_register" => {
            config.pinned.use_cuda_host_register = value.boolean()?;
        }
        "pinned_num_register_threads" => {
            config.pinned.register_threads = value.integer_where("a power of two up to 128 is needed", |n| {
                n.is_power_of_two() && n <= MAX_REGISTER_THREADS
            })?;
        }
        "pinned_reserve_segment_size_mb" => {
            config.pinned.reserve_segment_bytes = value.mib_where("more than 0 is needed", |mib| mib > 0)?;
        }
        "backend" => config.backend = value.backend()?,
        unknown => {
            return Err(HeapError::UnknownKey { key: unknown.to_owned(), known: KEYS.join(", ") });
        }
    }
    value.end()
}

/// Reads `4` or `[256:1,512:2,>:8]` and returns where it ends.
fn read_divisions(value: &Value<'_>, slots: &mut [u64; ROUNDUP_SLOTS]) -> Result<usize, HeapError> {
    if value.first()? != "[" {
        let divisions = value.integer_where("a power of two is needed", u64::is_power_of_two)?;
        slots.fill(divisions);
        return value.end();
    }
    let end = value.end()?;
    let mut at = value.key_at + 3;
    let mut last_slot = 0;
    let mut is_first = true;
    while at < end {
        let size = value.token(at)?;
        let divisions = value.integer_at(at + 2)?;
        if divisions != 0 && !divisions.is_power_of_two() {
            return Err(value.refused(at + 2, "divisions are powers of two, or 0 for none"));
        }
        if size == ">" {
            slots[(last_slot + 1).min(ROUNDUP_SLOTS)..].fill(divisions);
        } else {
            let size_mib = value.integer_at(at)?;
            if !size_mib.is_power_of_two() {
                return Err(value.refused(at, "sizes are powers of two in MiB, or `>`"));
            }
            last_slot = (size_mib.ilog2() as usize).min(ROUNDUP_SLOTS - 1);
            if is_first {
                slots[..last_slot].fill(divisions);
                is_first = false;
            }
            slots[last_slot] = divisions;
        }
        at += 4;
    }
    Ok(end)
}

/// The value of the key at `key_at`: the token after the next, or the tokens in brackets from there.
struct Value<'a> {
    tokens: &'a [String],
    key_at: usize,
}

impl Value<'_> {
    fn key(&self) -> &str {
        &self.tokens[self.key_at]
    }

    fn token(&self, at: usize) -> Result<&str, HeapError> {
        self.tokens
            .get(at)
            .map(String::as_str)
            .ok_or_else(|| HeapError::MissingValue { key: self.key().to_owned(), example: example_of(self.key()) })
    }

    fn first(&self) -> Result<&str, HeapError> {
        self.token(self.key_at + 2)
    }

    /// Where the value ends: its one token, or the closing bracket of a list.
    fn end(&self) -> Result<usize, HeapError> {
        if !KEYS.contains(&self.key()) {
            return Err(HeapError::UnknownKey { key: self.key().to_owned(), known: KEYS.join(", ") });
        }
        let start = self.key_at + 2;
        if self.first()? != "[" {
            return Ok(start);
        }
        match self.tokens[start..].iter().position(|token| token == "]") {
            Some(length) => Ok(start + length),
            None => Err(self.refused(start, "the list lacks its closing `]`")),
        }
    }

    fn refused(&self, at: usize, rule: &str) -> HeapError {
        let value = self.tokens.get(at).cloned().unwrap_or_default();
        HeapError::BadValue { key: self.key().to_owned(), value, rule: rule.to_owned() }
    }

    fn integer_at(&self, at: usize) -> Result<u64, HeapError> {
        leading_integer(self.token(at)?).ok_or_else(|| self.refused(at, "a whole number is needed"))
    }

    fn integer_where(&self, rule: &str, accepts: impl Fn(u64) -> bool) -> Result<u64, HeapError> {
        let at = self.key_at + 2;
        let number = self.integer_at(at)?;
        if accepts(number) { Ok(number) } else { Err(self.refused(at, rule)) }
    }

    fn mib_where(&self, rule: &str, accepts: impl Fn(u64) -> bool) -> Result<u64, HeapError> {
        Ok(self.integer_where(rule, accepts)?.min(MAX_MIB) * MIB)
    }

    fn fraction(&self, rule: &str, accepts: impl Fn(f64) -> bool) -> Result<f64, HeapError> {
        let number = leading_float(self.first()?).filter(|&number| accepts(number));
        number.ok_or_else(|| self.refused(self.key_at + 2, rule))
    }

    fn boolean(&self) -> Result<bool, HeapError> {
        match self.first()? {
            "True" => Ok(true),
            "False" => Ok(false),
            _ => Err(self.refused(self.key_at + 2, "`True` or `False` is needed, spelled so")),
        }
    }

    fn backend(&self) -> Result<Backend, HeapError> {
        match self.first()? {
            "native" => Ok(Backend::Native),
            "cudaMallocAsync" => Ok(Backend::CudaMallocAsync),
            _ => Err(self.refused(self.key_at + 2, "backends are native and cudaMallocAsync")),
        }
    }
}

fn example_of(key: &str) -> &'static str {
    match key {
        "backend" => "native",
        "garbage_collection_threshold" | "per_process_memory_fraction" => "0.8",
        "roundup_power2_divisions" => "[256:1,512:2,>:4]",
        "max_split_size_mb" | "max_non_split_rounding_mb" | "large_segment_size_mb" => "64",
        "pinned_num_register_threads" | "pinned_reserve_segment_size_mb" => "8",
        _ => "True",
    }
}

fn tokenize(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut word = String::new();
    for character in text.chars() {
        if matches!(character, ',' | ':' | '[' | ']') {
            if !word.is_empty() {
                tokens.push(std::mem::take(&mut word));
            }
            tokens.push(character.to_string());
        } else if !character.is_ascii_whitespace() && character != '\u{b}' {
            word.push(character);
        }
    }
    if !word.is_empty() {
        tokens.push(word);
    }
    tokens
}

/// The whole number a text begins with, as C reads it: a sign is allowed, a minus wraps round, what follows is ignored.
fn leading_integer(text: &str) -> Option<u64> {
    let negative = text.starts_with('-');
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let length = digits.bytes().take_while(u8::is_ascii_digit).count();
    let magnitude: u64 = digits[..length].parse().ok()?;
    Some(if negative { magnitude.wrapping_neg() } else { magnitude })
}

/// The number a text begins with; what follows is ignored.
fn leading_float(text: &str) -> Option<f64> {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '+' | '-' | 'e' | 'E');
    let length = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (1..=length).rev().find_map(|end| text[..end].parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(text: &str) -> Config {
        parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn takes_what_pytorch_takes() {
        assert_eq!(accepted(""), Config::default());
        assert_eq!(accepted("max_split_size_mb:20").max_split_bytes, 20 * MIB);
        assert_eq!(accepted(" max_split_size_mb : 3 0 ,").max_split_bytes, 30 * MIB);
        assert_eq!(accepted("max_split_size_mb:64abc").max_split_bytes, 64 * MIB);
        assert_eq!(accepted("max_split_size_mb:-1").max_split_bytes, u64::MAX - MIB + 1);
        assert_eq!(accepted("max_split_size_mb:30,max_split_size_mb:40").max_split_bytes, 40 * MIB);
        assert_eq!(accepted("max_split_size_mb:40,large_segment_size_mb:40").large_segment_bytes, 40 * MIB);
        assert!((accepted("garbage_collection_threshold:.5x").garbage_collection_threshold - 0.5).abs() < 1e-12);
        assert!((accepted("per_process_memory_fraction:0").memory_fraction).abs() < 1e-12);
        assert!(accepted("expandable_segments:True,backend:native").expandable_segments);
        assert!(accepted("release_lock_on_hipmalloc:True").release_lock_on_cudamalloc);
        assert_eq!(accepted("pinned_num_register_threads:8").pinned.register_threads, 8);
        assert_eq!(accepted("backend:cudaMallocAsync").backend, Backend::CudaMallocAsync);
    }

    #[test]
    fn reads_roundup_lists_as_pytorch_does() {
        let slots = |text: &str| accepted(&format!("roundup_power2_divisions:{text}")).roundup_power2_divisions;
        assert_eq!(slots("4"), [4; 16]);
        assert_eq!(slots("[]"), [0; 16]);
        assert_eq!(slots("[256:1,512:2,1024:4,>:8]"), [1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 8, 8, 8, 8]);
        assert_eq!(slots("[>:2]"), [0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(slots("[256:2,]"), [2, 2, 2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(slots("[65536:2]"), [2; 16]);
        assert_eq!(slots("[1:0,2:4]"), [0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn refuses_what_pytorch_refuses() {
        for text in [
            "max_split_size_mb:19",
            "max_split_size_mb:abc",
            "max_split_size_mb",
            "max_split_size_mb:",
            "max_split_size_mb:[1]",
            "max_split_size_mb:30,,",
            "max_split_size_mb:99999999999999999999",
            "max_split_size_mb:30,large_segment_size_mb:40",
            ",",
            "large_segment_size_mb:10",
            "large_segment_size_mb:0x40",
            "max_non_split_rounding_mb:19",
            "roundup_power2_divisions:3",
            "roundup_power2_divisions:0",
            "roundup_power2_divisions:[256:3]",
            "roundup_power2_divisions:[3:2]",
            "roundup_power2_divisions:[0:2]",
            "roundup_power2_divisions:[256:2",
            "garbage_collection_threshold:1",
            "garbage_collection_threshold:0",
            "expandable_segments:true",
            "foo:1",
            "backend:x",
            "per_process_memory_fraction:1.5",
            "pinned_num_register_threads:3",
            "pinned_num_register_threads:256",
            "pinned_reserve_segment_size_mb:0",
            "graph_capture_record_stream_reuse:1",
        ] {
            assert!(parse(text).is_err(), "{text} must be refused");
        }
    }

    #[test]
    fn rounds_as_pytorch_rounds() {
        let plain = Config::default();
        assert_eq!([1, 512, 513, MIB + 1].map(|bytes| plain.round(bytes)), [512, 512, 1024, MIB + 512]);
        let quarters = accepted("roundup_power2_divisions:4");
        assert_eq!(quarters.round(1200), 1536);
        assert_eq!(quarters.round(5 * MIB + 1), 6 * MIB);
        assert_eq!(quarters.round(8 * MIB), 8 * MIB);
        assert_eq!(quarters.round(1 << 40), 1 << 40);
    }
}
