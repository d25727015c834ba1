//! What comes back from disk and goes there again.

use super::*;

fn notebook(source: &str) -> String {
    format!(
        "{{\n \"cells\": [\n  {{\n   \"cell_type\": \"markdown\",\n   \"metadata\": {{}},\n   \"source\": [\"hi \\u00e9\"]\n  }},\n  \
         {{\n   \"cell_type\": \"code\",\n   \"execution_count\": 1,\n   \"metadata\": {{}},\n   \"outputs\": [],\n   \
         \"source\": {source}\n  }}\n ],\n \"metadata\": {{ }},\n \"nbformat\": 4, \"nbformat_minor\": 2\n}}"
    )
}

fn replaced(source: &str, code: &str) -> String {
    let json = notebook(source);
    let (envelope, parsed) = Envelope::open("a.ipynb", json.clone().into_bytes(), Kind::Notebook).expect("a notebook");
    assert_eq!(envelope.seal(&parsed), json, "untouched");
    let (envelope, parsed) = envelope.with_cells("a.ipynb", &[(2, code.to_owned())]).expect("still one");
    assert_eq!(parsed.slice(parsed.cells[0].range), code, "what was written is what is read");
    envelope.seal(&parsed)
}

#[test]
fn only_the_touched_cell_changes_and_keeps_its_layout() {
    let list = "[\n    \"x = 1\\n\",\n    \"y = 2\"\n   ]";
    assert_eq!(
        replaced(list, "x = 3\ny = \"é\"\nz = 4"),
        notebook("[\n    \"x = 3\\n\",\n    \"y = \\\"é\\\"\\n\",\n    \"z = 4\"\n   ]")
    );
    assert_eq!(replaced("\"x = 1\\ny = 2\"", "x = 3\n"), notebook("\"x = 3\\n\""));
    assert_eq!(replaced("[\"x = 1\"]", "a\nb"), notebook("[\"a\\n\", \"b\"]"));
    assert_eq!(replaced(list, ""), notebook("[]"));
}

#[test]
fn byte_order_marks_and_line_endings_stay() {
    let bytes = "\u{feff}x = 1\r\ny = 2\r\n".as_bytes().to_vec();
    let (envelope, source) = Envelope::open("a.py", bytes.clone(), Kind::Script).expect("UTF-8");
    assert!(source.text.starts_with("x = 1\r\n"));
    assert_eq!(envelope.seal(&source).into_bytes(), bytes);
}

#[test]
fn an_empty_notebook_has_no_code() {
    let (envelope, source) = Envelope::open("a.ipynb", b"\n".to_vec(), Kind::Notebook).expect("nothing to refuse");
    assert_eq!((envelope.seal(&source).as_str(), source.text.as_str()), ("\n", ""));
}

#[test]
fn other_encodings_are_refused_with_the_line() {
    let error = Envelope::open("a.py", b"x = 1\nname = '\xe9'\n".to_vec(), Kind::Script).expect_err("Latin 1");
    assert!(error.to_string().starts_with("a.py: line 2 is not UTF-8; "), "{error}");
    let error = Envelope::open("a.ipynb", b"x = 1".to_vec(), Kind::Notebook).expect_err("no JSON");
    assert!(error.to_string().starts_with("a.ipynb is not a notebook"), "{error}");
}

#[test]
fn lines_of_code_are_found_in_the_json() {
    let json = "{\"cells\": [\n {\"cell_type\": \"markdown\", \"source\": \"a\\nb\"},\n {\"cell_type\": \"code\",\n  \
                \"source\": [\n   \"x = 1\\n\",\n   \"y = 2\"\n  ]}],\n \"metadata\": {}}";
    assert_eq!(lines_of_cells(json), [vec![2, 2], vec![5, 6]]);
}

#[test]
fn of_a_key_that_is_there_twice_the_last_counts() {
    let twice = notebook("[\"x = 1\"],\n   \"source\": [\"y = 2\"]")
        .replace("\"metadata\": {},", "\"metadata\": {}, \"metadata\": {},");
    let (envelope, parsed) = Envelope::open("a.ipynb", twice.into_bytes(), Kind::Notebook).expect("a notebook");
    assert_eq!(parsed.slice(parsed.cells[0].range), "y = 2");
    assert_eq!(parsed.line_in_file(parsed.position(parsed.cells[0].range.start())), 14);
    let (envelope, _) = envelope.with_cells("a.ipynb", &[(2, "z = 3".to_owned())]).expect("still one");
    assert!(
        envelope.json.is_some_and(|json| json.contains("x = 1") && json.contains("z = 3") && !json.contains("y = 2"))
    );
}
