//! One self-contained page about a trace: the verdict, the timeline, the segment map and the flame graph.
//!
//! Nothing is analysed here. [`PageInput`] carries a [`oomph_trace::Trace`] and what the analyses found; [`write()`]
//! turns it into an HTML document that needs no network. Small facts travel as JSON, so that the page can show the
//! verdict at once; the events travel as compressed columns (`payload.rs`) that `page/src/data.ts` reads back.
//! The script itself is built from `page/` and checked in as `dist/page.js`.

mod columns;
mod document;
mod host;
mod input;
pub(crate) mod marks;
mod own_frames;
mod payload;
mod plan;
mod snippets;
mod stacks;

#[cfg(test)]
mod tests;

pub use document::write;
pub use host::{HostPage, write_host};
pub use input::{BytesOf, DeviceInput, LeakRow, LineRow, ModuleRow, PageInput, PageVerdict, PhaseMark, StepMark};
pub use plan::{CardFit, CardRow, FittedPage, PlanPage, TriedRow};
pub use snippets::{ReadSource, Snippet, snippets};
