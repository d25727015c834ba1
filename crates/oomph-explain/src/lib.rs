//! Says why: analyses from a timeline to a finding; text, JSON and HTML renderings hold no analysis.

pub mod html;
