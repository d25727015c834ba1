//! Pages are judged by what a reader of their data finds in them; how they look is tested in a browser (`page/`).

use std::io::Read;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use oomph_heap::Timeline;
use oomph_trace::{BlockState, Category, DeviceTrace, Origin, SegmentKind, StackId, Trace, TraceBuilder};

use super::{CardFit, CardRow, DeviceInput, PageInput, PageVerdict, PlanPage, snippets, write};

const BASE: u64 = 0x7f00_0000_0000;
const MIB: u64 = 1 << 20;

/// A job that keeps one block, gives one back and fails at the end.
fn small_job() -> Trace {
    let line = [("forward", "model.py", 12), ("<module>", "train.py", 40)];
    let mut job = TraceBuilder::new(Origin::RealRun);
    job.capacity(40 * MIB, Some(20 * MIB)).at(1_000_000);
    job.segment_alloc(BASE, 20 * MIB, &line).category(Category::Activation).alloc(BASE, 600, &line);
    job.alloc(BASE + MIB, MIB, &line).free(BASE + MIB, MIB, &line).oom(32 * MIB, 7, &line);
    job.segment(BASE, 20 * MIB, SegmentKind::Large, &[(1024, 600, BlockState::Allocated, &line)]);
    job.finish()
}

fn input_of<'a>(trace: &'a Trace, devices: Vec<DeviceInput<'a>>) -> PageInput<'a> {
    let verdict = PageVerdict::default();
    PageInput { trace, source_name: "job", verdict, blame_frames: &[], devices, plan: None, snippets: Vec::new() }
}

fn written(input: &PageInput) -> String {
    let mut out = Vec::new();
    write(input, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("a page is UTF-8")
}

/// The page of a trace, or of a plan, with its input changed.
fn page(trace: &Trace, plan: Option<&PlanPage>, change: impl FnOnce(&mut PageInput)) -> String {
    let timelines: Vec<_> = trace.devices.iter().map(Timeline::of).collect();
    let devices = timelines.iter().enumerate().map(|(at, timeline)| DeviceInput::of(at, timeline)).collect();
    let mut input = PageInput { plan, ..input_of(trace, devices) };
    change(&mut input);
    written(&input)
}

fn facts(page: &str) -> serde_json::Value {
    serde_json::from_str(element(page, "facts")).expect("it is JSON")
}

/// The text of the element with this id.
fn element<'a>(page: &'a str, id: &str) -> &'a str {
    let (_, after) = page.split_once(&format!("<script id=\"{id}\"")).expect("the element is there");
    let (_, text) = after.split_once('>').expect("its tag ends");
    text.split_once("</script>").expect("it ends").0
}

/// Numbers of the payload, read back independently of the writer.
struct Numbers(std::vec::IntoIter<u8>);

impl Numbers {
    fn of(page: &str) -> Self {
        let packed = STANDARD.decode(element(page, "payload")).expect("it is base64");
        let mut bytes = Vec::new();
        GzDecoder::new(&packed[..]).read_to_end(&mut bytes).expect("it is gzip");
        Self(bytes.into_iter())
    }

    fn next(&mut self) -> u64 {
        let mut value = 0;
        for shift in (0..).step_by(7) {
            let byte = self.0.next().expect("there is more");
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }

    fn column(&mut self, rows: u64) -> Vec<u64> {
        (0..rows).map(|_| self.next()).collect()
    }

    fn deltas(&mut self, rows: u64) -> Vec<i64> {
        let mut value = 0;
        let mut add = |zigzag: u64| {
            value += (zigzag >> 1).cast_signed() ^ -(zigzag & 1).cast_signed();
            value
        };
        self.column(rows).into_iter().map(&mut add).collect()
    }

    fn text(&mut self) -> String {
        let bytes = self.next();
        String::from_utf8(self.0.by_ref().take(bytes as usize).collect()).expect("it is UTF-8")
    }
}

#[test]
fn the_payload_tells_stacks_events_blocks_and_segments() {
    let mut numbers = Numbers::of(&page(&small_job(), None, |_| {}));
    let strings = numbers.next();
    let strings: Vec<_> = (0..strings).map(|_| numbers.text()).collect();
    assert_eq!(strings, ["<module>", "forward", "train.py", "model.py"]);
    let frames = numbers.next();
    assert_eq!([numbers.column(frames), numbers.column(frames), numbers.column(frames)], [[0, 1], [2, 3], [40, 12]]);
    let nodes = numbers.next();
    assert_eq!([numbers.deltas(nodes), numbers.deltas(nodes)], [[0, 1], [0, 1]], "outermost frame first");
    let stacks = numbers.next();
    assert_eq!([numbers.column(stacks), numbers.column(stacks)], [[2], [2]], "innermost frame is named");

    assert_eq!(numbers.next(), 1, "devices");
    let events = numbers.next();
    assert_eq!(numbers.column(events), [3, 0, 0, 1, 2, 8]);
    assert_eq!(numbers.next(), 1_000_000, "first time");
    assert_eq!(numbers.deltas(events), [0, 1, 2, 3, 4, 5]);
    assert_eq!([numbers.next(), numbers.next()], [32 * MIB, 7], "the failed request and what was free");

    assert_eq!(numbers.next(), 512, "address unit");
    let blocks = numbers.next();
    assert_eq!(numbers.deltas(blocks), [2, 3], "start");
    assert_eq!([numbers.column(blocks), numbers.column(blocks)], [[0, 2], [0, 2]], "given back, end");
    assert_eq!(numbers.deltas(blocks), [(BASE / 512).cast_signed(), ((BASE + MIB) / 512).cast_signed()]);
    assert_eq!([numbers.column(blocks), numbers.column(blocks)], [[600, MIB], [424, 0]], "asked for, beyond that");
    assert_eq!([numbers.column(blocks), numbers.column(blocks)], [[5, 5], [0, 0]], "category, stack");
    assert_eq!(numbers.column(blocks), [0, 0], "accused");

    let segments = numbers.next();
    assert_eq!((numbers.deltas(segments), numbers.column(segments)), (vec![1], vec![0]), "start, end");
    assert_eq!(numbers.deltas(segments), [(BASE / 512).cast_signed()]);
    assert_eq!(numbers.column(segments), [20 * MIB]);
    assert_eq!(numbers.column(5), [0; 5], "stream, pool, expandable, stack");
    assert_eq!(numbers.0.len(), 0, "nothing follows");
}

#[test]
fn analyses_know_better_than_the_trace() {
    let trace = small_job();
    let timeline = Timeline::of(&trace.devices[0]);
    let mut device = DeviceInput::of(0, &timeline);
    device.block_categories = &[Category::Parameter];
    device.block_stacks = &[StackId::EMPTY];
    device.accused_blocks = &[1, 99];
    let charged = Numbers::of(&written(&input_of(&trace, vec![device]))).0.collect::<Vec<_>>();
    // Three columns stand side by side: parameter and activation, the empty stack and the other, free and accused.
    assert!(charged.windows(6).any(|columns| columns == [0, 5, 0, 1, 0, 1]));
}

#[test]
fn names_cannot_break_out_of_the_page() {
    const HOSTILE: &str = "</script><script>alert(1)</script><!--\"'&";
    let line = [(HOSTILE, HOSTILE, 1)];
    let mut job = TraceBuilder::new(Origin::RealRun);
    job.segment_alloc(BASE, 2 * MIB, &line).alloc(BASE, 512, &line);
    let trace = job.finish();
    let plan = PlanPage { sentence: HOSTILE.into(), command_line: HOSTILE.into(), ..PlanPage::default() };
    let hostile = page(&trace, Some(&plan), |input| {
        input.verdict = PageVerdict { summary: HOSTILE.into(), file: Some(HOSTILE.into()), ..PageVerdict::default() };
        input.source_name = HOSTILE;
        input.snippets = snippets([(HOSTILE, 1)], &|_| Some(HOSTILE.to_owned()));
    });
    let harmless = page(&trace, None, |_| {});
    assert_eq!(hostile.matches("<script").count(), harmless.matches("<script").count());
    assert_eq!(hostile.matches("</script").count(), harmless.matches("</script").count());
    assert_eq!(hostile.matches("<!--").count(), harmless.matches("<!--").count());
    let facts = facts(&hostile);
    assert_eq!(facts["verdict"]["summary"], HOSTILE);
    assert_eq!(facts["plan"]["sentence"], HOSTILE);
    assert_eq!(facts["snippets"][0]["lines"][0], HOSTILE);
}

#[test]
fn the_script_does_not_end_its_own_element() {
    let page = page(&small_job(), None, |_| {});
    let (_, script) = page.rsplit_once("<script>").expect("the script stands last");
    assert_eq!(script.to_ascii_lowercase().matches("</script").count(), 1);
}

#[test]
fn a_page_loads_nothing_from_elsewhere() {
    let page = page(&small_job(), None, |_| {});
    assert!(page.contains("default-src 'none'"));
    let (shell, _) = page.rsplit_once("<script>").expect("the script stands last");
    assert!(!shell.contains("http:") && !shell.contains("https:") && !shell.contains(" src="));
}

#[test]
fn devices_without_a_history_are_left_out() {
    let mut trace = small_job();
    trace.devices.push(DeviceTrace { ordinal: 1, ..DeviceTrace::default() });
    let timeline = Timeline::of(&trace.devices[0]);
    let devices = [7, 1, 0].map(|at| DeviceInput::of(at, &timeline)).to_vec();
    let facts = facts(&written(&input_of(&trace, devices)));
    assert_eq!(facts["devices"].as_array().map(Vec::len), Some(1));
    assert_eq!(facts["devices"][0]["limit_bytes"], 20 * MIB);
}

#[test]
fn the_answer_is_readable_without_scripts() {
    let plan = PlanPage { sentence: "Fits the RTX 4090.".into(), ..PlanPage::default() };
    let answer =
        |page: String| page.split_once("<h1>").and_then(|(_, rest)| Some(rest.split_once("</h1>")?.0.to_owned()));
    let planned = page(&small_job(), Some(&plan), |_| {});
    assert_eq!(answer(planned).as_deref(), Some("Fits the RTX 4090."));
    let explained = page(&small_job(), None, |input| input.verdict.summary = "It leaks.".into());
    assert_eq!(answer(explained).as_deref(), Some("It leaks."));
}

#[test]
fn a_card_is_close_in_words() {
    let row = |fit| CardRow { name: "l4".into(), capacity_bytes: 1, fit, planned: false };
    let cards = [CardFit::Fits, CardFit::DoesNotFit, CardFit::Close].map(row).to_vec();
    let plan = PlanPage { cards, ..PlanPage::default() };
    let facts = facts(&page(&small_job(), Some(&plan), |_| {}));
    let words = facts["plan"]["cards"].as_array().expect("a list").iter().map(|card| card["fit"].as_str());
    assert_eq!(words.flatten().collect::<Vec<_>>(), ["fits", "does not fit", "close"]);
}
