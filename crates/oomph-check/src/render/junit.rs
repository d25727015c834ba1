//! `JUnit` XML, for CI systems that show test results: a suite a file, a case a finding. Those of level `info`
//! pass, and say what they have to say as output.

use quick_xml::events::BytesText;
use quick_xml::writer::Writer;

use super::{Entry, Results, level_name, place};

/// The whole document.
#[must_use]
pub fn render(results: &Results) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    // Writing into memory cannot fail.
    let _ = write(&mut writer, results);
    let body = String::from_utf8_lossy(&writer.into_inner()).into_owned();
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}\n")
}

fn write(writer: &mut Writer<Vec<u8>>, results: &Results) -> std::io::Result<()> {
    let told = results.files.iter().filter(|file| !file.findings.is_empty()).count();
    // A report without a single case is taken for a broken run by most readers: a clean file is a case that passes.
    let tests = results.count() + (results.files.len() - told) + results.failures.len();
    let suites = [
        ("name", "oomph check".to_owned()),
        ("tests", tests.to_string()),
        ("failures", results.failing().to_string()),
        ("errors", results.failures.len().to_string()),
    ];
    let suites = suites.iter().map(|(key, value)| (*key, value.as_str()));
    writer.create_element("testsuites").with_attributes(suites).write_inner_content(|writer| {
        for file in &results.files {
            let name = clean(&file.source.name);
            let entries = file.findings.iter().map(|finding| Entry { source: file.source, finding, bytes: None });
            let failing = file.findings.iter().filter(|finding| finding.level.fails()).count();
            suite(writer, &name, file.findings.len().max(1), failing, 0, |writer| {
                if file.findings.is_empty() {
                    let case = [("name", "oomph check"), ("classname", name.as_str())];
                    writer.create_element("testcase").with_attributes(case).write_empty()?;
                }
                for entry in entries {
                    case(writer, &name, entry)?;
                }
                Ok(())
            })?;
        }
        for failure in results.failures {
            let name = clean(&failure.file);
            suite(writer, &name, 1, 0, 1, |writer| {
                let case = [("name", "oomph check"), ("classname", name.as_str())];
                writer.create_element("testcase").with_attributes(case).write_inner_content(|writer| {
                    let message = clean(&failure.message);
                    writer.create_element("error").with_attributes([("message", message.as_str())]).write_empty()?;
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(())
}

fn suite(
    writer: &mut Writer<Vec<u8>>,
    name: &str,
    tests: usize,
    failures: usize,
    errors: usize,
    write_cases: impl FnOnce(&mut Writer<Vec<u8>>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let (tests, failures, errors) = (tests.to_string(), failures.to_string(), errors.to_string());
    let attributes =
        [("name", name), ("tests", tests.as_str()), ("failures", failures.as_str()), ("errors", errors.as_str())];
    writer.create_element("testsuite").with_attributes(attributes).write_inner_content(write_cases)?;
    Ok(())
}

fn case(writer: &mut Writer<Vec<u8>>, file: &str, entry: Entry) -> std::io::Result<()> {
    let finding = entry.finding;
    let start = entry.span().start;
    let (line, column) = (start.line.to_string(), start.column.to_string());
    let attributes =
        [("name", finding.rule), ("classname", file), ("line", line.as_str()), ("column", column.as_str())];
    writer.create_element("testcase").with_attributes(attributes).write_inner_content(|writer| {
        let message = clean(&finding.message);
        let attributes = [("message", message.as_str()), ("type", level_name(finding.level))];
        let text = clean(&format!("{}: {}", place(entry.source, start), finding.message));
        let element = if finding.level.fails() {
            writer.create_element("failure").with_attributes(attributes)
        } else {
            writer.create_element("system-out")
        };
        element.write_text_content(BytesText::new(&text))?;
        Ok(())
    })?;
    Ok(())
}

/// Text without what XML 1.0 cannot hold even escaped.
fn clean(text: &str) -> String {
    let allowed = |letter: char| {
        matches!(letter, '\t' | '\n' | '\r') || (letter >= ' ' && !('\u{fffe}'..='\u{ffff}').contains(&letter))
    };
    text.chars().map(|letter| if allowed(letter) { letter } else { '\u{fffd}' }).collect()
}
