"""`oomph lsp` with a real language client: a whole session, as an editor has it."""

import asyncio
import json
import subprocess

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

BUG = """import torch


def évaluer(model, loader):
    model.eval()
    for x, _ in loader:
        '🙂'; print(model(x))


torch.empty_cache()
"""
QUICK_FIXES = [types.CodeActionKind.QuickFix]


class Editor:
    """A client that keeps what the server last said about each document."""

    def __init__(self, oomph, root, encodings=None):
        self.oomph, self.root, self.encodings = oomph, root, encodings
        self.client = LanguageClient("oomph-tests", "1")
        self.reports, self.messages = asyncio.Queue(), []
        self.watched = []
        self.listen(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS, self.reports.put_nowait)
        self.listen(types.WINDOW_SHOW_MESSAGE, self.messages.append)
        self.listen(types.CLIENT_REGISTER_CAPABILITY, self.register)

    def listen(self, method, handle):
        # pygls marks what it is given, and bound methods cannot be marked.
        self.client.feature(method)(lambda params: handle(params))

    def register(self, params):
        self.watched += [registration.method for registration in params.registrations]

    async def __aenter__(self):
        await self.client.start_io(str(self.oomph.path), "lsp")
        capabilities = types.ClientCapabilities(
            general=types.GeneralClientCapabilities(position_encodings=self.encodings),
            workspace=types.WorkspaceClientCapabilities(
                workspace_edit=types.WorkspaceEditClientCapabilities(document_changes=True),
                did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
            ),
        )
        params = types.InitializeParams(capabilities=capabilities, root_uri=self.root.as_uri())
        self.server = (await asyncio.wait_for(self.client.initialize_async(params), 30)).capabilities
        self.client.initialized(types.InitializedParams())
        return self

    async def __aexit__(self, *_):
        await self.client.shutdown_async(None)
        self.client.exit(None)
        await asyncio.wait_for(self.client._server.wait(), 10)
        assert self.client._server.returncode == 0
        await self.client.stop()

    async def report(self, uri):
        """The next diagnostics of a document."""
        while True:
            report = await asyncio.wait_for(self.reports.get(), 10)
            if report.uri == uri:
                return report

    async def open(self, uri, text):
        document = types.TextDocumentItem(uri=uri, language_id="python", version=1, text=text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(document))
        return (await self.report(uri)).diagnostics

    async def change(self, uri, version, *changes):
        document = types.VersionedTextDocumentIdentifier(version=version, uri=uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, list(changes)))
        report = await self.report(uri)
        assert report.version == version
        return report.diagnostics

    async def actions(self, uri, span, only=None):
        params = types.CodeActionParams(
            types.TextDocumentIdentifier(uri), span, types.CodeActionContext(diagnostics=[], only=only)
        )
        return await asyncio.wait_for(self.client.text_document_code_action_async(params), 10)


def names(diagnostics):
    return [diagnostic.code for diagnostic in diagnostics]


def apply(text, action, width=lambda letter: len(letter.encode("utf-16-le")) // 2):
    """A text after a code action's edits, as an editor makes them."""
    [change] = action.edit.document_changes
    lines = text.splitlines(keepends=True) + [""]

    def offset(place):
        column, line = 0, lines[place.line]
        for index, letter in enumerate(line):
            if column >= place.character:
                return sum(map(len, lines[: place.line])) + index
            column += width(letter)
        return sum(map(len, lines[: place.line])) + len(line)

    for edit in sorted(change.edits, key=lambda edit: offset(edit.range.start), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text


def test_whole_session(oomph, tmp_path):
    path = tmp_path / "job é.py"
    path.write_text(BUG)
    uri = path.as_uri()

    async def session():
        async with Editor(oomph, tmp_path) as editor:
            assert editor.server.position_encoding == "utf-16"
            found = await editor.open(uri, BUG)
            assert names(found) == ["eval-loop-without-no-grad", "unknown-memory-api"]
            by_rule = dict(zip(names(found), found))
            unknown = by_rule["unknown-memory-api"]
            assert (unknown.severity, unknown.source) == (types.DiagnosticSeverity.Error, "oomph")
            assert (unknown.range.start.line, unknown.range.start.character) == (9, 0)
            evaluation = by_rule["eval-loop-without-no-grad"]
            assert evaluation.related_information, "the facts that made it fire"
            assert {fact.location.uri for fact in evaluation.related_information} == {uri}

            place = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(9, 3))
            hover = await editor.client.text_document_hover_async(place)
            assert hover.contents.value.startswith("# unknown-memory-api\n")
            assert "Why it costs memory" in hover.contents.value
            elsewhere = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(0, 0))
            assert await editor.client.text_document_hover_async(elsewhere) is None

            fix, ignore = await editor.actions(uri, unknown.range, QUICK_FIXES)
            assert fix.is_preferred and fix.diagnostics[0].code == "unknown-memory-api"
            assert apply(BUG, fix) == BUG.replace("torch.empty_cache", "torch.cuda.empty_cache")
            ignored = apply(BUG, ignore)
            assert ignored.endswith("torch.empty_cache()  # oomph: ignore[unknown-memory-api]\n")
            whole = types.TextDocumentContentChangeWholeDocument(ignored)
            assert names(await editor.change(uri, 2, whole)) == ["eval-loop-without-no-grad"]

            # Back to the bug, by edits that build upon one another, beyond an emoji of two UTF-16 units.
            comment = types.Range(types.Position(9, 19), types.Position(9, 999))
            emoji = types.Range(types.Position(6, 9), types.Position(6, 11))
            found = await editor.change(
                uri,
                3,
                types.TextDocumentContentChangePartial(range=comment, text=""),
                types.TextDocumentContentChangePartial(range=emoji, text="x"),
            )
            assert names(found) == ["eval-loop-without-no-grad", "unknown-memory-api"]
            text = BUG.replace("🙂", "x")
            [fix_all] = await editor.actions(
                uri, unknown.range, [types.CodeActionKind.SourceFixAll]
            )
            assert fix_all.kind == "source.fixAll.oomph"
            mended = apply(text, fix_all)
            assert "torch.no_grad()" in mended and "torch.cuda.empty_cache()" in mended
            whole = types.TextDocumentContentChangeWholeDocument(mended)
            assert names(await editor.change(uri, 4, whole)) == []
            assert not await editor.actions(uri, unknown.range)

            editor.client.text_document_did_close(
                types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri))
            )
            assert names((await editor.report(uri)).diagnostics) == []
            assert editor.messages == []

    asyncio.run(session())


def test_columns_in_bytes_where_the_editor_can(oomph, tmp_path):
    async def session():
        encodings = [types.PositionEncodingKind.Utf8, types.PositionEncodingKind.Utf16]
        async with Editor(oomph, tmp_path, encodings) as editor:
            assert editor.server.position_encoding == "utf-8"
            uri = (tmp_path / "a.py").as_uri()
            text = "import torch\n'🙂'; torch.empty_cache()\n"
            [found] = await editor.open(uri, text)
            assert found.range.start.character == len("'🙂'; ".encode())
            fix = (await editor.actions(uri, found.range, QUICK_FIXES))[0]
            after = apply(text, fix, width=lambda letter: len(letter.encode()))
            assert after == text.replace("torch.empty", "torch.cuda.empty")

    asyncio.run(session())


def test_settings_are_read_again(oomph, tmp_path):
    settings = tmp_path / "pyproject.toml"
    uri = (tmp_path / "a.py").as_uri()

    async def session():
        async with Editor(oomph, tmp_path) as editor:
            text = "import torch\ntorch.empty_cache()\n"
            assert names(await editor.open(uri, text)) == ["unknown-memory-api"]
            assert editor.watched == ["workspace/didChangeWatchedFiles"]
            change = types.FileEvent(settings.as_uri(), types.FileChangeType.Changed)

            settings.write_text("[tool.oomph.check]\nignore = ['allocator']\n")
            editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
            assert names((await editor.report(uri)).diagnostics) == []

            settings.write_text("[tool.oomph.check]\nignroe = ['allocator']\n")
            editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([change]))
            assert names((await editor.report(uri)).diagnostics) == ["unknown-memory-api"], "the defaults hold"
            [message] = editor.messages
            assert "unknown key 'ignroe'" in message.message and "did you mean ignore?" in message.message

    asyncio.run(session())


def frame(message):
    body = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


INITIALIZE = {"id": 1, "method": "initialize", "params": {"capabilities": {}}}


def converse(oomph, *messages):
    """Sends messages at once; returns the answers by id, and the exit code."""
    done = subprocess.run([oomph.path, "lsp"], input=b"".join(map(frame, messages)), capture_output=True, timeout=60)
    answers, rest = {}, done.stdout
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        size = int(head.split(b":")[1])
        message = json.loads(rest[:size])
        answers[message.get("id")] = message
        rest = rest[size:]
    return answers, done.returncode, done.stderr.decode()


@pytest.mark.parametrize(
    "nonsense",
    [
        b"{}",
        b"not JSON at all",
        b'"\xff\xfe"',
        {"id": 7, "method": "textDocument/hover", "params": {"textDocument": 3}},
        {"id": 7, "method": "textDocument/codeAction", "params": None},
        {"id": 7, "method": "no/such/method", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {"uri": 3}}},
        {"method": "textDocument/didChange", "params": {"textDocument": {"uri": "file:///x", "version": 1}, "contentChanges": []}},
        {"method": "textDocument/didClose", "params": {"textDocument": {"uri": "file:///never-opened.py"}}},
        {"method": "$/setTrace", "params": {"value": "off"}},
    ],
    ids=str,
)
def test_bad_messages_do_not_end_it(oomph, nonsense):
    answers, code, err = converse(
        oomph, INITIALIZE, nonsense, {"id": 2, "method": "shutdown", "params": None}, {"method": "exit"}
    )
    assert answers[2]["result"] is None and code == 0, err
    assert "panicked" not in err
    if isinstance(nonsense, dict) and "id" in nonsense:
        assert answers[7]["error"]["code"] in (-32601, -32602)


def test_order_is_kept(oomph):
    answers, code, _ = converse(oomph, {"id": 5, "method": "textDocument/hover", "params": {}}, {"method": "exit"})
    assert answers[5]["error"]["code"] == -32002, "initialize comes first"
    assert code == 1, "the editor left without a word"


@pytest.mark.parametrize("text", ["", "\ufeffx = 1\r\n", "def f(:\n", "(" * 5000, "x = '''\n", "\x00\x01"], ids=ascii)
def test_odd_documents_are_served(oomph, text):
    document = {"uri": "untitled:Untitled-1", "languageId": "python", "version": 1, "text": text}
    answers, code, err = converse(
        oomph,
        INITIALIZE,
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": document}},
        {"id": 2, "method": "shutdown", "params": None},
        {"method": "exit"},
    )
    assert answers[None]["method"] == "textDocument/publishDiagnostics"
    assert code == 0 and "panicked" not in err, err


def test_notebooks_are_checked_cell_by_cell(oomph, tmp_path):
    notebook = (tmp_path / "a.ipynb").as_uri()
    texts = ["%matplotlib inline\nimport torch", "# words", "x = '🙂'; torch.empty_cache()"]
    cells = [f"vscode-notebook-cell:{tmp_path}/a.ipynb#{index}" for index in range(3)]
    kinds = [types.NotebookCellKind.Code, types.NotebookCellKind.Markup, types.NotebookCellKind.Code]
    code = [(uri, text) for uri, text, kind in zip(cells, texts, kinds) if kind is types.NotebookCellKind.Code]

    async def session():
        async with Editor(oomph, tmp_path) as editor:
            document = types.NotebookDocument(
                notebook, "jupyter-notebook", 1, [types.NotebookCell(kind, uri) for kind, uri in zip(kinds, cells)]
            )
            items = [types.TextDocumentItem(uri, "python", 1, text) for uri, text in code]
            editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(document, items))
            assert names((await editor.report(cells[0])).diagnostics) == []
            [found] = (await editor.report(cells[2])).diagnostics
            assert (found.code, found.range.start.line, found.range.start.character) == ("unknown-memory-api", 0, 10)
            fix = (await editor.actions(cells[2], found.range, QUICK_FIXES))[0]
            assert apply(texts[2], fix) == texts[2].replace("torch.empty", "torch.cuda.empty")

            # Without the cell that imports it, `torch` is still taken for torch: the cell may have run before it went.
            gone = types.NotebookDocumentCellChangeStructure(
                types.NotebookCellArrayChange(0, 1), did_close=[types.TextDocumentIdentifier(cells[0])]
            )
            event = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(structure=gone))
            version = types.VersionedNotebookDocumentIdentifier(2, notebook)
            editor.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(version, event))
            assert names((await editor.report(cells[2])).diagnostics) == ["unknown-memory-api"]

            change = types.NotebookDocumentCellContentChanges(
                types.VersionedTextDocumentIdentifier(2, cells[2]),
                [types.TextDocumentContentChangeWholeDocument("import torch\ntorch.empty_cache()")],
            )
            event = types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[change]))
            version = types.VersionedNotebookDocumentIdentifier(3, notebook)
            editor.client.notebook_document_did_change(types.DidChangeNotebookDocumentParams(version, event))
            [found] = (await editor.report(cells[2])).diagnostics
            assert found.range.start.line == 1

            closed = types.DidCloseNotebookDocumentParams(
                types.NotebookDocumentIdentifier(notebook), [types.TextDocumentIdentifier(cells[2])]
            )
            editor.client.notebook_document_did_close(closed)
            assert names((await editor.report(cells[2])).diagnostics) == []

    asyncio.run(session())
