//! The layer's limit: a copy that alone would break it is not begun, and the plan ends.

use std::fmt::Write as _;

use crate::layer::Layer;
use crate::sys::{self, Answer, Errno, Fd};
use crate::text::Text;
use crate::upper::work_name;

/// Ends this process where another one has found that the plan has to end.
pub(crate) fn check(layer: &Layer) {
    if layer.state.stopped() {
        sys::end_process();
    }
}

/// Takes room for a copy of a real file; ends the plan where there is too little.
pub(crate) fn take(layer: &Layer, path: &[u8], bytes: u64) -> Answer<()> {
    if layer.state.count_copied(bytes) <= layer.limit_bytes {
        return Ok(());
    }
    if layer.state.stop() {
        write_report(layer, path, bytes)?;
    }
    sys::end_process();
    Err(Errno(libc::ENOSPC))
}

fn write_report(layer: &Layer, path: &[u8], bytes: u64) -> Answer<()> {
    let line = format!("{{\"reason\":\"limit\",\"path\":\"{}\",\"bytes\":{bytes}}}\n", escaped(path));
    let whole = work_name(layer)?;
    let file = Fd::open(whole.c(), libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL, 0o600)?;
    sys::write(file.0, line.as_bytes())?;
    sys::rename(whole.c(), Text::from(&[&layer.folder, b"/stopped"])?.c(), 0)
}

/// A path as JSON writes text.
fn escaped(path: &[u8]) -> String {
    let mut text = String::new();
    for letter in String::from_utf8_lossy(path).chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            control if control < ' ' => {
                let _ = write!(text, "\\u{:04x}", u32::from(control));
            }
            letter => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_valid_json_text() {
        assert_eq!(escaped(b"/a \"b\"\\\n"), "/a \\\"b\\\"\\\\\\u000a");
    }
}
