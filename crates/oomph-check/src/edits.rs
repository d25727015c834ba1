//! Edits that rules offer as fixes: whole lines, blocks, calls.

use crate::analysis::events::{Call, StmtId};
use crate::facts::Facts;
use crate::finding::Edit;
use crate::python::{Expr, Ranged, TextLen, TextRange, TextSize};

impl Facts<'_> {
    /// The spaces before a statement.
    #[must_use]
    pub fn indentation(&self, stmt: StmtId) -> String {
        let Some(statement) = self.statement(stmt) else { return String::new() };
        let start = statement.node.start();
        let line = self.source.line_range(self.source.line_of(start)).start();
        let text = self.source.slice(TextRange::new(line, start));
        text.chars().take_while(|c| c.is_whitespace()).collect()
    }

    /// Whether a statement has its lines to itself: no `;`, nothing before it.
    #[must_use]
    pub fn is_alone_on_its_lines(&self, stmt: StmtId) -> bool {
        let Some(statement) = self.statement(stmt) else { return false };
        let range = statement.node.range();
        let lines = self.lines_of(range);
        let before = self.source.slice(TextRange::new(lines.start(), range.start()));
        let after = self.source.slice(TextRange::new(range.end(), lines.end()));
        let rest = after.trim();
        before.trim().is_empty() && (rest.is_empty() || rest.starts_with('#'))
    }

    /// The whole lines a range touches, line breaks included.
    #[must_use]
    pub fn lines_of(&self, range: TextRange) -> TextRange {
        let first = self.source.line_range(self.source.line_of(range.start()));
        let last = self.source.line_range(self.source.line_of(range.end()));
        TextRange::new(first.start(), last.end())
    }

    /// Takes a statement out, lines and all; `pass` stays where a block would be empty. Nothing when it shares a line.
    #[must_use]
    pub fn delete_statement(&self, stmt: StmtId) -> Vec<Edit> {
        let Some(statement) = self.statement(stmt) else { return Vec::new() };
        if !self.is_alone_on_its_lines(stmt) {
            return Vec::new();
        }
        if statement.suite.len() == 1 || self.read_in_place(statement.node.range()).is_some() {
            return vec![Edit::replace(statement.node.range(), "pass")];
        }
        vec![Edit::delete(self.lines_of(statement.node.range()))]
    }

    /// Puts a line before a statement, as far in as that.
    #[must_use]
    pub fn insert_before(&self, stmt: StmtId, line: &str) -> Vec<Edit> {
        let Some(statement) = self.statement(stmt) else { return Vec::new() };
        if !self.is_alone_on_its_lines(stmt) {
            return Vec::new();
        }
        let start = self.lines_of(statement.node.range()).start();
        vec![Edit::insert(start, format!("{}{line}\n", self.indentation(stmt)))]
    }

    /// Puts a line after a statement, as far in as that.
    #[must_use]
    pub fn insert_after(&self, stmt: StmtId, line: &str) -> Vec<Edit> {
        let Some(statement) = self.statement(stmt) else { return Vec::new() };
        if !self.is_alone_on_its_lines(stmt) {
            return Vec::new();
        }
        let lines = self.lines_of(statement.node.range());
        let ends_in_break = self.source.slice(lines).ends_with('\n');
        let break_before = if ends_in_break { "" } else { "\n" };
        vec![Edit::insert(lines.end(), format!("{break_before}{}{line}\n", self.indentation(stmt)))]
    }

    /// Puts whole lines into a `with`: indents them and adds its head. Nothing when a string runs over lines.
    #[must_use]
    pub fn wrap_in_with(&self, first: StmtId, last: TextRange, head: &str) -> Vec<Edit> {
        let Some(statement) = self.statement(first) else { return Vec::new() };
        let start = statement.node.start();
        let apart = self.read_in_place(statement.node.range()) != self.read_in_place(last);
        if apart || last.end() < start {
            return Vec::new();
        }
        let lines = self.lines_of(TextRange::new(start, last.end()));
        let text = self.source.slice(lines);
        if !self.is_alone_on_its_lines(first) || text.contains("\"\"\"") || text.contains("'''") || text.contains('\t')
        {
            return Vec::new();
        }
        let indent = self.indentation(first);
        let mut wrapped = format!("{indent}with {head}:\n");
        for line in text.split_inclusive('\n') {
            if line.trim().is_empty() {
                wrapped.push_str(line);
            } else {
                wrapped.push_str("    ");
                wrapped.push_str(line);
            }
        }
        vec![Edit::replace(lines, wrapped)]
    }

    /// Puts `.method()` after an expression, in brackets where it needs them.
    #[must_use]
    pub fn call_method_on(&self, expr: &Expr, method: &str) -> Vec<Edit> {
        let simple = matches!(
            expr,
            Expr::Name(_) | Expr::Attribute(_) | Expr::Call(_) | Expr::Subscript(_) | Expr::List(_) | Expr::Dict(_)
        );
        if simple {
            return vec![Edit::insert(expr.end(), format!(".{method}()"))];
        }
        vec![Edit::insert(expr.start(), "("), Edit::insert(expr.end(), format!(").{method}()"))]
    }

    /// Puts a new keyword argument at the end of a call's arguments.
    #[must_use]
    pub fn add_argument(&self, call: &Call<'_>, argument: &str) -> Vec<Edit> {
        let arguments = &call.node.arguments;
        let end = arguments.range().end() - TextSize::from(1);
        let items = arguments.args.iter().map(Ranged::end).chain(arguments.keywords.iter().map(Ranged::end));
        // Code cut short has calls that nothing closes.
        let closed = self.source.slice(arguments.range()).ends_with(')');
        let last = match items.max() {
            None if closed => return vec![Edit::insert(end, argument)],
            Some(last) if closed && last <= end => last,
            _ => return Vec::new(),
        };
        let after = self.source.slice(TextRange::new(last, end));
        if after.contains('#') || after.contains(')') {
            return Vec::new();
        }
        let comma = if after.contains(',') { " " } else { ", " };
        let place = if after.contains(',') {
            last + TextSize::from(after.find(',').map_or(0, |at| at as u32 + 1))
        } else {
            last
        };
        vec![Edit::insert(place, format!("{comma}{argument}"))]
    }

    /// Takes an argument out of a call, with its comma.
    #[must_use]
    pub fn remove_argument(&self, call: &Call<'_>, argument: TextRange) -> Vec<Edit> {
        let arguments = &call.node.arguments;
        let mut all: Vec<TextRange> = arguments.args.iter().map(Ranged::range).collect();
        all.extend(arguments.keywords.iter().map(Ranged::range));
        all.sort_by_key(Ranged::start);
        let Some(index) = all.iter().position(|range| range.contains_range(argument)) else { return Vec::new() };
        let range = match (index.checked_sub(1).and_then(|before| all.get(before)), all.get(index + 1)) {
            (Some(before), _) => TextRange::new(before.end(), all[index].end()),
            (None, Some(after)) => TextRange::new(all[index].start(), after.start()),
            (None, None) => all[index],
        };
        vec![Edit::delete(range)]
    }

    /// The end of the text.
    #[must_use]
    pub fn end(&self) -> TextSize {
        self.source.text.text_len()
    }
}
