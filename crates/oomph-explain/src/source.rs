//! Whose code a frame is: the user's, a library's, or the machinery of a module call.
//!
//! A verdict must name a line the user can change, so every stack is read as a chain of user frames with library
//! frames between them.

use oomph_trace::{Frame, FrameId, StackId, StackTable};

/// What a frame is to the person reading the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The user's own code.
    User,
    /// `torch.nn.Module.__call__` and its wrappers: what lies inside belongs to a model's forward pass.
    ModuleCall,
    /// Other code of torch itself.
    Torch,
    /// Any other library, and the interpreter.
    Library,
    /// C++: between two Python frames it says nothing, and its lines differ from call to call.
    Native,
}

/// A line of the user's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Line {
    /// A frame that stands on it.
    pub frame: FrameId,
}

/// Reads stacks as the user's code sees them.
#[derive(Debug)]
pub struct Sources<'a> {
    table: &'a StackTable,
    roles: Vec<Role>,
    /// For every frame, the first frame on the same function of the same file and the same line.
    same_line: Vec<FrameId>,
}

impl<'a> Sources<'a> {
    /// Classifies every frame of a table once.
    #[must_use]
    pub fn of(table: &'a StackTable) -> Self {
        let mut first = rustc_hash::FxHashMap::default();
        let mut roles = Vec::with_capacity(table.frame_count());
        let mut same_line = Vec::with_capacity(table.frame_count());
        for at in 0..table.frame_count() {
            let id = FrameId(at as u32);
            let frame = table.frame(id);
            roles.push(role(table.string(frame.file), table.string(frame.name)));
            same_line.push(*first.entry((frame.file, frame.name, frame.line)).or_insert(id));
        }
        Self { table, roles, same_line }
    }

    /// The table the frames come from.
    #[must_use]
    pub fn table(&self) -> &'a StackTable {
        self.table
    }

    /// File and line number behind a [`Line`].
    #[must_use]
    pub fn place(&self, line: Line) -> (&'a str, u32) {
        let frame = self.frame(line.frame);
        (self.table.string(frame.file), frame.line)
    }

    /// The function a [`Line`] stands in.
    #[must_use]
    pub fn function(&self, line: Line) -> &'a str {
        self.table.string(self.frame(line.frame).name)
    }

    /// `train.py:12`, the file without its folders.
    #[must_use]
    pub fn short(&self, line: Line) -> String {
        let (file, number) = self.place(line);
        format!("{}:{number}", file_name(file))
    }

    /// The Python frames of a stack, outermost first.
    pub(crate) fn outermost_first(&self, stack: StackId) -> impl DoubleEndedIterator<Item = FrameId> + '_ {
        let python = |frame: &FrameId| self.roles[frame.0 as usize] != Role::Native;
        self.table.stack(stack).iter().rev().copied().filter(python)
    }

    /// Whether a stack has a Python frame: those of autograd's own threads have none.
    pub(crate) fn has_python(&self, stack: StackId) -> bool {
        self.outermost_first(stack).next().is_some()
    }

    /// Whether a stack ends where Python waits for autograd's threads.
    pub(crate) fn waits_for_autograd(&self, stack: StackId) -> bool {
        let file = |frame: FrameId| self.table.string(self.frame(frame).file);
        self.outermost_first(stack).next_back().is_some_and(|frame| {
            self.is_torch(frame) && AUTOGRAD_FILES.iter().any(|engine| file(frame).ends_with(engine))
        })
    }

    pub(crate) fn is_user(&self, frame: FrameId) -> bool {
        self.roles[frame.0 as usize] == Role::User
    }

    pub(crate) fn is_module_call(&self, frame: FrameId) -> bool {
        self.roles[frame.0 as usize] == Role::ModuleCall
    }

    pub(crate) fn is_torch(&self, frame: FrameId) -> bool {
        matches!(self.roles[frame.0 as usize], Role::Torch | Role::ModuleCall)
    }

    /// Whether a frame is torch's Python wrapper around one operator, such as `F.pad`.
    pub(crate) fn is_operator(&self, frame: FrameId) -> bool {
        let file = self.table.string(self.frame(frame).file);
        self.is_torch(frame) && OPERATOR_FILES.iter().any(|wrapper| file.ends_with(wrapper))
    }

    pub(crate) fn line(&self, frame: FrameId) -> Line {
        Line { frame: self.same_line[frame.0 as usize] }
    }

    /// Whether two frames stand in the same function of the same file.
    pub(crate) fn same_function(&self, a: FrameId, b: FrameId) -> bool {
        let (a, b) = (self.frame(a), self.frame(b));
        a.file == b.file && a.name == b.name
    }

    /// Whether two frames stand on the same line of the same function.
    pub(crate) fn same_line(&self, a: FrameId, b: FrameId) -> bool {
        self.same_line[a.0 as usize] == self.same_line[b.0 as usize]
    }

    /// Whether any frame of the stack satisfies a test on file and function name.
    pub(crate) fn any(&self, stack: StackId, test: impl Fn(&str, &str) -> bool) -> bool {
        self.table.stack(stack).iter().any(|&id| {
            let frame = self.frame(id);
            test(self.table.string(frame.file), self.table.string(frame.name))
        })
    }

    /// Whether the job splits its weights over several cards: code that does so is on some stack.
    #[must_use]
    pub fn is_sharded(&self) -> bool {
        (0..self.table.frame_count()).any(|at| {
            let file = self.table.string(self.table.frame(FrameId(at as u32)).file);
            SHARDING_PARTS.iter().any(|part| file.contains(part))
        })
    }

    /// The innermost user frame: the very expression that allocated, as far as the user wrote it.
    #[must_use]
    pub fn innermost_user(&self, stack: StackId) -> Option<Line> {
        self.table.stack(stack).iter().copied().find(|&frame| self.is_user(frame)).map(|frame| self.line(frame))
    }

    /// The line to name for a stack: the innermost one of the user's; where none is, the innermost of a library other
    /// than torch; else whatever is innermost.
    #[must_use]
    pub fn line_to_name(&self, stack: StackId) -> Option<Line> {
        let innermost = |test: &dyn Fn(FrameId) -> bool| {
            self.outermost_first(stack).rev().find(|&frame| test(frame)).map(|frame| self.line(frame))
        };
        self.innermost_user(stack)
            .or_else(|| innermost(&|frame| !self.is_torch(frame)))
            .or_else(|| innermost(&|_| true))
            .or_else(|| self.table.stack(stack).first().map(|&frame| self.line(frame)))
    }

    /// The innermost user frame outside every module call: the line that called the model, not one inside it.
    #[must_use]
    pub fn caller_of_model(&self, stack: StackId) -> Option<Line> {
        self.outermost_first(stack)
            .take_while(|&frame| !self.is_module_call(frame))
            .filter(|&frame| self.is_user(frame))
            .last()
            .map(|frame| self.line(frame))
            .or_else(|| self.line_to_name(stack))
    }

    /// Whether a line of a stack lies inside a module call.
    #[must_use]
    pub fn is_inside_model(&self, stack: StackId, line: Line) -> bool {
        self.outermost_first(stack)
            .skip_while(|&frame| !self.is_module_call(frame))
            .any(|frame| self.line(frame) == line)
    }

    /// The user's frames from the outermost to the innermost.
    #[must_use]
    pub fn user_chain(&self, stack: StackId) -> Vec<Line> {
        self.outermost_first(stack).filter(|&frame| self.is_user(frame)).map(|frame| self.line(frame)).collect()
    }

    fn frame(&self, id: FrameId) -> &'a Frame {
        self.table.frame(id)
    }
}

/// The last part of a path, whichever way its separators lean.
#[must_use]
pub fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Paths that only torch's own tree has, for torch built from source outside any `site-packages`.
const TORCH_PARTS: [&str; 5] =
    ["/torch/nn/modules/", "/torch/autograd/__init__.py", "/torch/optim/", "/torch/_tensor.py", "/torch/utils/data/"];

/// Where torch's Python code calls autograd's engine.
const AUTOGRAD_FILES: [&str; 2] = ["torch/autograd/__init__.py", "torch/autograd/graph.py"];

/// Files of torch that hold nothing but wrappers around operators.
const OPERATOR_FILES: [&str; 4] =
    ["/torch/functional.py", "/torch/nn/functional.py", "/torch/_tensor.py", "/torch/_ops.py"];

fn role(file: &str, name: &str) -> Role {
    // What a plan puts around torch's functions is as good as torch's own.
    let torch = in_package(file, "torch")
        || in_package(file, "oomph")
        || TORCH_PARTS.iter().any(|part| file.contains(part))
        || is_compiled(file);
    if torch
        && file.ends_with("nn/modules/module.py")
        && matches!(name, "_call_impl" | "_wrapped_call_impl" | "__call__")
    {
        Role::ModuleCall
    } else if torch {
        Role::Torch
    } else if is_native(file) {
        Role::Native
    } else if is_library(file) {
        Role::Library
    } else {
        Role::User
    }
}

/// Whether a file was written by `torch.compile`: nobody can change a line in it, the call of what was compiled is to
/// blame.
///
/// Inductor names a file after a hash of its content, in a folder after two letters of that hash, wherever its cache is;
/// `TORCH_COMPILE_DEBUG` copies it as `output_code.py`.
fn is_compiled(file: &str) -> bool {
    let mut parts = file.rsplit(['/', '\\']);
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let hash = name.strip_suffix(".py").unwrap_or_default();
    let is_hash = hash.len() >= 40 && hash.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    (is_hash && hash.get(1..3) == Some(folder)) || name == "output_code.py" || file.contains("/torchinductor_")
}

/// Packages that split a model's weights over several cards.
const SHARDING_PARTS: [&str; 5] = [
    "/torch/distributed/fsdp/",
    "/torch/distributed/_composable/fsdp/",
    "/torch/distributed/tensor/",
    "/deepspeed/runtime/zero/",
    "/megatron/core/",
];

/// Whether a file lies in an installed package of this name.
pub(crate) fn in_package(file: &str, package: &str) -> bool {
    ["site-packages/", "dist-packages/"].iter().any(|folder| {
        file.split_once(folder)
            .is_some_and(|(_, rest)| rest.strip_prefix(package).is_some_and(|rest| rest.starts_with('/')))
    })
}

fn is_library(file: &str) -> bool {
    // `<frozen runpy>`, `<string>`, `<eval_with_key>.3`, `<__array_function__ internals>`; but not a notebook's cells.
    let generated = file.starts_with('<') && !file.starts_with("<ipython-input");
    let installed = file.contains("site-packages/") || file.contains("dist-packages/");
    let standard = file
        .split('/')
        .any(|part| part.strip_prefix("python").is_some_and(|version| version.starts_with("3.") || version == "3"))
        && file.contains("/lib");
    generated || installed || standard
}

/// Python code comes from a `.py` file, a notebook's cell, or text between angle brackets.
fn is_native(file: &str) -> bool {
    !file.contains(".py") && !file.contains("ipykernel") && !file.starts_with('<')
}

#[cfg(test)]
mod tests {
    use super::{Role, role};

    #[test]
    fn frames_belong_to_whom_they_should() {
        let torch = "/x/lib/python3.12/site-packages/torch/nn/modules/module.py";
        let cases = [
            ("/home/me/train.py", "main", Role::User),
            ("train.py", "<module>", Role::User),
            ("/home/me/torch/train.py", "main", Role::User),
            (torch, "_call_impl", Role::ModuleCall),
            (torch, "_apply", Role::Torch),
            ("/x/lib/python3.12/site-packages/torchvision/models/resnet.py", "forward", Role::Library),
            ("/x/lib/python3.12/site-packages/transformers/trainer.py", "train", Role::Library),
            ("/tmp/oomph-plan-1/site-packages/oomph/hostcost.py", "method", Role::Torch),
            ("/tmp/torchinductor_me/ab/tmp1.py", "call", Role::Torch),
            ("/scratch/cache/pq/cpq2345abcdefghijklmnopqrstuvwxyz234567abcdefghijkl.py", "call", Role::Torch),
            ("/scratch/cache/xy/cpq2345abcdefghijklmnopqrstuvwxyz234567abcdefghijkl.py", "call", Role::User),
            ("/usr/lib/python3.11/runpy.py", "run_path", Role::Library),
            ("<frozen runpy>", "run_path", Role::Library),
            ("??", "at::empty", Role::Native),
            ("/build/aten/src/Something.cpp", "at::empty", Role::Native),
            ("/tmp/ipykernel_31/1234.py", "<module>", Role::User),
            ("<ipython-input-3-abc>", "<module>", Role::User),
            ("", "", Role::Native),
        ];
        for (file, name, expected) in cases {
            assert_eq!(role(file, name), expected, "{file} {name}");
        }
    }
}
