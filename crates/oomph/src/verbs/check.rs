//! `oomph check [OPTIONS] [PATH…]`.

mod batch;
mod cost;
mod declared;
mod discover;
mod watch;

pub(crate) use self::batch::Batch;
pub(crate) use self::declared::Declared;
pub(crate) use self::discover::File;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use oomph_check::render::{self, FileResult, Results};
use oomph_check::settings::{Globs, Options, Selector};
use oomph_check::{Checked, Kind};

use self::batch::Mended;
use self::cost::Costs;
use self::discover::discover;
use crate::error::Error;
use crate::output;
use crate::progress::Stage;
use crate::settings::{Origin, Resolver};
use crate::verbs::Verdict;

/// Find memory bugs in PyTorch code, before anything runs
///
/// Reads Python files and notebooks and points at the lines that will cost GPU memory: graphs kept alive, evaluation
/// with gradients, accumulation that does not accumulate, calls that do nothing. A finding says which facts made it
/// fire, and how to mend it. Nothing is run, and neither torch nor a GPU is needed.
///
/// A comment silences a finding: '# oomph: ignore[rule] reason' on its line or above it. Settings stand in the
/// [tool.oomph.check] table of the nearest pyproject.toml: select, extend-select, ignore, per-file-ignores, severity,
/// exclude, extend-exclude.
#[allow(rustdoc::broken_intra_doc_links, reason = "this text is the help: brackets there are to be seen as they are")]
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  \
    oomph check                                 everything under this folder\n  \
    oomph check train.py --diff                 what would --fix change?\n  \
    oomph check src --fix                       mend what is safe to mend\n  \
    oomph check --select graph,retain-graph-true\n  \
    oomph check --output-format sarif > oomph.sarif\n  \
    oomph check --trace snapshot.pickle         what does each finding cost?\n  \
    oomph doc retain-graph-true                 the page of a rule\n\n\
    Exit codes:\n  \
    0   no findings, or only some of level info\n  \
    1   findings; with --diff, something to fix\n  \
    2   an error: a path that is not there, a setting nobody knows, a file that cannot be read")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct Args {
    /// Files and folders to check; '-' reads stdin [default: this folder]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,

    /// Mend what can be mended without changing results
    #[arg(long)]
    fix: bool,

    /// Offer fixes that may change behaviour too; with --fix, apply them
    #[arg(long)]
    unsafe_fixes: bool,

    /// Show what --fix would change, and change nothing, with --fix too
    #[arg(long, conflicts_with = "watch")]
    diff: bool,

    /// How to print the findings
    #[arg(long, value_name = "FORMAT", default_value_t, value_enum)]
    output_format: Format,

    /// Print JSON instead of text: --output-format json
    #[arg(long, conflicts_with = "output_format")]
    json: bool,

    /// Print how often each rule spoke instead of the findings
    #[arg(long, conflicts_with_all = ["json", "diff"])]
    statistics: bool,

    /// Run only these rules: names, groups, 'default' or 'all', separated by commas
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = read_selector)]
    select: Vec<Selector>,

    /// Run these rules too
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = read_selector)]
    extend_select: Vec<Selector>,

    /// Do not run these rules
    #[arg(long, value_name = "RULES", value_delimiter = ',', value_parser = read_selector)]
    ignore: Vec<Selector>,

    /// Leave out files and folders that fit these patterns too
    #[arg(long, value_name = "GLOBS", value_delimiter = ',', value_parser = read_glob)]
    exclude: Vec<String>,

    /// Leave out what is excluded even where it is named: for hooks that name every file
    #[arg(long)]
    force_exclude: bool,

    /// Take settings from this pyproject.toml instead of the nearest
    #[arg(long, value_name = "FILE", conflicts_with = "isolated")]
    config: Option<PathBuf>,

    /// Read no settings from files
    #[arg(long)]
    isolated: bool,

    /// Say what each finding costs, by a torch snapshot or oomph trace of the job
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// The name under which stdin is checked
    #[arg(long, value_name = "NAME")]
    stdin_filename: Option<PathBuf>,

    /// Check again whenever a file changes
    #[arg(long)]
    watch: bool,

    /// Exit with 0 even where there are findings
    #[arg(long)]
    exit_zero: bool,

    /// List the files that would be checked
    #[arg(long)]
    show_files: bool,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// With source lines, facts and fixes
    #[default]
    Text,
    /// One line a finding
    Concise,
    /// One object; docs/json.md
    Json,
    /// SARIF 2.1.0, for code scanning services
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// JUnit XML, for CI systems
    Junit,
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Concise => "concise",
            Self::Json => "json",
            Self::Sarif => "sarif",
            Self::Github => "github",
            Self::Junit => "junit",
        })
    }
}

fn read_selector(name: &str) -> Result<Selector, String> {
    Selector::parse(name, &oomph_check::catalogue()).map_err(|similar| {
        let hint = if similar.is_empty() {
            "'oomph doc' lists all rules".to_owned()
        } else {
            format!("did you mean {}?", similar.join(" or "))
        };
        format!("there is no rule or group of that name; {hint}")
    })
}

fn read_glob(pattern: &str) -> Result<String, String> {
    Globs::new([pattern]).map(|_| pattern.to_owned()).map_err(|(_, problem)| problem)
}

pub(crate) fn run(args: &Args) -> Result<Verdict, Error> {
    if args.watch { watch::run(args) } else { run_once(args).map(|(verdict, _)| verdict) }
}

/// One check; the files that were looked at come back too.
fn run_once(args: &Args) -> Result<(Verdict, Vec<File>), Error> {
    let resolver = Resolver::new(&args.origin(), args.options())?;
    let (files, mut batch) = if args.reads_stdin() {
        let file = stdin_file(args, &resolver);
        if let Some(fault) = resolver.fault() {
            return Err(fault);
        }
        let mut bytes = Vec::new();
        let unreadable = |source| Error::Read { path: "<stdin>".into(), source };
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(unreadable)?;
        (vec![file.clone()], Batch::of_text(file, bytes))
    } else {
        let mut files = discover(&args.roots(), &resolver)?;
        files.retain(|file| !args.force_exclude || !file.settings.excludes_anywhere(&file.path));
        if args.show_files {
            let names: Vec<&str> = files.iter().flat_map(|file| [file.name.as_str(), "\n"]).collect();
            return output::data(&names.concat()).map(|()| (Verdict::Yes, files));
        }
        if files.is_empty() {
            output::warning("there are no Python files under the given paths");
        }
        let _stage = Stage::start(format!("reading {} files", files.len()));
        (files.clone(), Batch::read(files))
    };
    let verdict = report(args, &mut batch)?;
    Ok((verdict, files))
}

/// Checks, fixes where asked to, and prints.
fn report(args: &Args, batch: &mut Batch) -> Result<Verdict, Error> {
    let costs = args.trace.as_deref().map(Costs::read).transpose()?;
    let stage = Stage::start("checking".into());
    let (checked, mended) =
        if args.fix || args.diff { batch.mend(args.unsafe_fixes) } else { (batch.check(), Mended::default()) };
    drop(stage);
    for failure in &batch.failures {
        output::failure(&failure.message);
    }
    let failed = !batch.failures.is_empty();
    let found = if args.diff {
        show_diffs(batch, &mended)?;
        !mended.before.is_empty()
    } else {
        if args.fix && !args.reads_stdin() {
            batch.write(&mended)?;
        }
        show(args, batch, &checked, &mended, costs.as_ref())?;
        checked.iter().flat_map(|checked| &checked.findings).any(|finding| finding.level.fails())
    };
    Ok(match (failed, found && !args.exit_zero) {
        (true, _) => Verdict::Failed,
        (false, true) => Verdict::No,
        (false, false) => Verdict::Yes,
    })
}

fn show_diffs(batch: &Batch, mended: &Mended) -> Result<(), Error> {
    let sources = batch.project.sources();
    let diffs: String =
        mended.before.iter().map(|(index, before)| render::diff::render(before, &sources[*index])).collect();
    output::data(&diffs)
}

fn show(args: &Args, batch: &Batch, checked: &[Checked], mended: &Mended, costs: Option<&Costs>) -> Result<(), Error> {
    let joined = costs.map(|costs| costs.of_files(&batch.files));
    let file = |(index, (source, checked)): (usize, (_, &'_ Checked))| {
        let bytes = match (costs, &joined) {
            (Some(costs), Some(joined)) => costs.of_findings(source, &checked.findings, &joined[index]),
            _ => vec![None; checked.findings.len()],
        };
        FileResult { source, findings: &[], bytes }
    };
    let mut files: Vec<FileResult> = batch.project.sources().iter().zip(checked).enumerate().map(file).collect();
    for (file, checked) in files.iter_mut().zip(checked) {
        file.findings = &checked.findings;
    }
    let results = Results {
        files,
        failures: &batch.failures,
        silenced: checked.iter().map(|checked| checked.silenced).sum(),
        fixed: mended.fixed,
        unsafe_fixes: args.unsafe_fixes,
        show_bytes: oomph_explain::bytes::show,
    };
    let text = args.render(&results);
    if args.fix && args.reads_stdin() {
        // Stdout is for the mended text: editors pipe a buffer through.
        output::note(text.trim_end());
        return output::data(&batch.text(0));
    }
    output::data(&text)
}

impl Args {
    fn format(&self) -> Format {
        if self.json { Format::Json } else { self.output_format }
    }

    fn render(&self, results: &Results) -> String {
        match self.format() {
            _ if self.statistics => render::text::statistics(results),
            Format::Text => render::text::render(results, output::width()),
            Format::Concise => render::concise::render(results),
            Format::Json => output::pretty(&render::json::render(results)),
            Format::Sarif => output::pretty(&render::sarif::render(results, env!("CARGO_PKG_VERSION"))),
            Format::Github => render::github::render(results),
            Format::Junit => render::junit::render(results),
        }
    }

    fn reads_stdin(&self) -> bool {
        self.paths.iter().any(|path| path == Path::new("-"))
    }

    fn roots(&self) -> Vec<PathBuf> {
        if self.paths.is_empty() { vec![".".into()] } else { self.paths.clone() }
    }

    fn origin(&self) -> Origin {
        match &self.config {
            _ if self.isolated => Origin::Nowhere,
            Some(path) => Origin::File(path.clone()),
            None => Origin::Nearest,
        }
    }

    fn options(&self) -> Options {
        Options {
            select: (!self.select.is_empty()).then(|| self.select.clone()),
            extend_select: self.extend_select.clone(),
            ignore: self.ignore.clone(),
            extend_exclude: self.exclude.clone(),
            ..Options::default()
        }
    }
}

/// Stdin as a file of the name the user gave it.
fn stdin_file(args: &Args, resolver: &Resolver) -> File {
    let here = std::env::current_dir().and_then(|folder| folder.canonicalize()).unwrap_or_default();
    let named = args.stdin_filename.as_deref();
    let path = here.join(named.unwrap_or(Path::new("<stdin>")));
    File {
        name: named.map_or("<stdin>".to_owned(), |path| path.to_string_lossy().into_owned()),
        kind: discover::kind(&path).unwrap_or(Kind::Script),
        settings: resolver.of(path.parent().unwrap_or(&here)),
        path,
    }
}
