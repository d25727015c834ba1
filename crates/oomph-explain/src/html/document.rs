//! The HTML around the data and the script.

use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use oomph_trace::Origin;
use serde::Serialize;

use super::input::{BytesOf, LeakRow, LineRow, ModuleRow, PageInput, PageVerdict, PhaseMark, StepMark};
use super::payload;
use super::plan::PlanPage;
use super::snippets::Snippet;

/// The bundled script, built from `page/` by `npm --prefix page run build`.
const SCRIPT: &str = include_str!("../../dist/page.js");

/// Nothing may be loaded from anywhere, whatever the data says.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/// What the page must know before it has unpacked the events.
#[derive(Serialize)]
struct Facts<'a> {
    source_name: &'a str,
    /// A hollow run's kernels do nothing, so its times say nothing about the job.
    has_clock: bool,
    plan: Option<&'a PlanPage>,
    verdict: &'a PageVerdict,
    snippets: &'a [Snippet],
    devices: Vec<DeviceFacts<'a>>,
}

/// [`Facts`] about one device.
#[derive(Serialize)]
struct DeviceFacts<'a> {
    ordinal: u32,
    peak_event: u32,
    peak_allocated_bytes: u64,
    peak_reserved_bytes: u64,
    limit_bytes: Option<u64>,
    total_bytes: Option<u64>,
    steps: &'a [StepMark],
    phases: &'a [PhaseMark],
    measured_at: u32,
    lines: &'a [LineRow],
    modules: &'a [ModuleRow],
    leaks: &'a [LeakRow],
    fragmentation: &'a [BytesOf],
}

/// Writes the page.
///
/// # Errors
/// Only what `out` itself answers.
pub fn write(input: &PageInput, out: &mut dyn Write) -> io::Result<()> {
    let facts = serde_json::to_string(&facts_of(input)).map_err(io::Error::other)?;
    let payload = STANDARD.encode(payload::encode(input)?);
    write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{CONTENT_POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} – oomph</title>\n</head>\n<body>\n\
         <noscript><h1>{answer}</h1>The rest of this page draws itself with the script inside it: allow scripts to see \
         it.</noscript>\n\
         <main id=\"page\"></main>\n\
         <script id=\"facts\" type=\"application/json\">{facts}</script>\n\
         <script id=\"payload\" type=\"application/octet-stream\">{payload}</script>\n\
         <script>",
        title = escaped_html(input.source_name),
        answer = escaped_html(input.plan.map_or(&input.verdict.summary, |plan| &plan.sentence)),
        facts = escaped_json(&facts),
    )?;
    out.write_all(SCRIPT.as_bytes())?;
    out.write_all(b"</script>\n</body>\n</html>\n")
}

fn facts_of<'a>(input: &'a PageInput<'a>) -> Facts<'a> {
    let device_facts = |(trace, device): (&'a oomph_trace::DeviceTrace, &'a super::DeviceInput<'a>)| DeviceFacts {
        ordinal: trace.ordinal,
        peak_event: device.timeline.peak_allocated.event,
        peak_allocated_bytes: device.timeline.peak_allocated.bytes,
        peak_reserved_bytes: device.timeline.peak_reserved.bytes,
        limit_bytes: device.limit_bytes.or(trace.limit_bytes),
        total_bytes: device.total_bytes.or(trace.total_bytes),
        steps: &device.steps,
        phases: &device.phases,
        measured_at: device.measured_at,
        lines: &device.lines,
        modules: &device.modules,
        leaks: &device.leaks,
        fragmentation: &device.fragmentation,
    };
    Facts {
        source_name: input.source_name,
        has_clock: input.trace.origin != Origin::HollowRun,
        plan: input.plan,
        verdict: &input.verdict,
        snippets: &input.snippets,
        devices: payload::shown_devices(input).into_iter().map(device_facts).collect(),
    }
}

/// JSON that cannot end the script element it stands in: in JSON these characters occur only inside strings.
fn escaped_json(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

pub(super) fn escaped_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
