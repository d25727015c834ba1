//! Finds what stands at a path: the layer over the real tree, name by name, links followed in both.

use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicU64, Ordering};

use libc::stat as Stat;

use crate::layer::{Layer, fd_path};
use crate::state::PathHash;
use crate::sys::{self, Answer, CWD, Errno};
use crate::text::{Text, below, parent};

/// As many links as the kernel follows.
const LINKS_MAX: u32 = 40;

/// What stands at a path.
pub(crate) enum Node {
    /// Nothing.
    Absent,
    /// Something in the layer; of the real tree nothing shows through.
    Upper(Stat),
    /// Something in the real tree that the layer has not changed.
    Lower(Stat),
    /// A folder in both, showing the names of both.
    Merged {
        /// The folder in the layer.
        upper: Stat,
        /// The folder in the real tree.
        lower: Stat,
    },
    /// Something that is not layered: the kernel's folders and those written through.
    Through,
}

/// What becomes of a link at the end of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Last {
    /// It is followed.
    Followed,
    /// It is meant itself, unless a slash follows it.
    Kept,
    /// The name itself is meant: it is about to be made, removed or renamed.
    Named,
}

impl Last {
    /// As the flag of a system call says.
    pub(crate) fn followed_if(follow: bool) -> Self {
        if follow { Self::Followed } else { Self::Kept }
    }
}

/// In which trees a folder exists.
#[derive(Clone, Copy)]
pub(crate) struct Trees {
    /// In the layer.
    pub(crate) upper: bool,
    /// In the real tree, visibly.
    pub(crate) lower: bool,
    /// Names in it may be in the layer although the filter does not know them.
    unknown: bool,
}

/// A path and what stands there.
pub(crate) struct Place {
    /// The upper tree's path; the canonical path is what follows `prefix` bytes of it.
    full: Text,
    prefix: usize,
    /// What stands there.
    pub(crate) node: Node,
    /// Where the folder that holds it exists.
    pub(crate) folder: Trees,
    /// The path ended in a slash, so only a folder will do.
    pub(crate) slash: bool,
}

impl Place {
    /// The canonical path, empty for the root.
    pub(crate) fn path(&self) -> &[u8] {
        self.full.bytes().get(self.prefix..).unwrap_or_default()
    }

    /// The path in the layer, for a system call.
    pub(crate) fn upper(&self) -> &CStr {
        self.full.c()
    }

    /// The path in the real tree, for a system call.
    pub(crate) fn lower(&self) -> &CStr {
        if self.full.len() == self.prefix { c"/" } else { self.full.c_from(self.prefix) }
    }

    /// The path at which the kernel finds it: a folder in both trees is found in the real one, which it has its
    /// identity from.
    pub(crate) fn real(&self) -> &CStr {
        match self.node {
            Node::Upper(_) | Node::Absent => self.upper(),
            Node::Lower(_) | Node::Merged { .. } | Node::Through => self.lower(),
        }
    }

    /// What `stat` says of it; none where there is nothing or where the kernel has to be asked.
    pub(crate) fn stat(&self) -> Option<Stat> {
        match &self.node {
            Node::Absent | Node::Through => None,
            Node::Upper(stat) | Node::Lower(stat) => Some(*stat),
            Node::Merged { upper, lower } => Some(merged_stat(upper, lower)),
        }
    }

    /// What stands there, whatever the path ended in.
    pub(crate) fn found(&self) -> Answer<Stat> {
        self.stat().ok_or(Errno(libc::ENOENT))
    }

    /// The stat of something that must exist.
    pub(crate) fn existing(&self) -> Answer<Stat> {
        let stat = self.found()?;
        if self.slash && !is_dir(&stat) { Err(Errno(libc::ENOTDIR)) } else { Ok(stat) }
    }

    /// Does something of this name exist in the real tree, shown or hidden by what the layer has in its place?
    pub(crate) fn covers(&self, layer: &Layer) -> bool {
        self.folder.lower && !is_marked(layer, self.path()) && sys::lstat(self.lower()).is_ok()
    }
}

/// Is it a folder?
pub(crate) fn is_dir(stat: &Stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFDIR
}

/// Is it a symbolic link?
pub(crate) fn is_link(stat: &Stat) -> bool {
    stat.st_mode & libc::S_IFMT == libc::S_IFLNK
}

/// One folder in two trees has one identity, the real one's, and the latest times.
pub(crate) fn merged_stat(upper: &Stat, lower: &Stat) -> Stat {
    let mut stat = *lower;
    stat.st_mode = upper.st_mode;
    // Only root can give files away: everybody else's copies belong to themselves, whoever had the original.
    if sys::euid() == 0 {
        (stat.st_uid, stat.st_gid) = (upper.st_uid, upper.st_gid);
    }
    if (upper.st_mtime, upper.st_mtime_nsec) > (lower.st_mtime, lower.st_mtime_nsec) {
        (stat.st_mtime, stat.st_mtime_nsec) = (upper.st_mtime, upper.st_mtime_nsec);
    }
    if (upper.st_ctime, upper.st_ctime_nsec) > (lower.st_ctime, lower.st_ctime_nsec) {
        (stat.st_ctime, stat.st_ctime_nsec) = (upper.st_ctime, upper.st_ctime_nsec);
    }
    stat
}

/// Was the real file of this canonical path removed in the layer?
pub(crate) fn is_marked(layer: &Layer, path: &[u8]) -> bool {
    layer.mark_of(path).and_then(|mark| sys::lstat(mark.c())).is_ok_and(|stat| stat.st_mode & libc::S_ISVTX != 0)
}

/// The canonical path of the folder that relative paths start at.
pub(crate) fn start_of(layer: &Layer, at: c_int) -> Answer<Text> {
    let mut known = if at == CWD {
        let mut known = Text::new();
        known.fill(sys::getcwd)?;
        known
    } else {
        fd_path(at)?
    };
    if let Some(rest) = below(known.bytes(), &layer.root) {
        known = Text::from(&[rest])?;
    }
    Ok(known)
}

/// Finds what stands at a path.
pub(crate) fn locate(layer: &Layer, at: c_int, path: &[u8], last: Last) -> Answer<Place> {
    if path.is_empty() {
        return Err(Errno(libc::ENOENT));
    }
    let todo = if path.starts_with(b"/") {
        Text::from(&[below(path, &layer.root).unwrap_or(path)])?
    } else {
        Text::from(&[start_of(layer, at)?.bytes(), b"/", path])?
    };
    locate_absolute(layer, todo, last)
}

/// Finds what stands at an absolute path, going from the root; a link or `..` sets out again.
pub(crate) fn locate_absolute(layer: &Layer, mut todo: Text, last: Last) -> Answer<Place> {
    let mut links = 0;
    loop {
        match pass(layer, &todo, last)? {
            Pass::Arrived(place) => return Ok(place),
            Pass::Link(next) => {
                todo = next;
                links += 1;
            }
            Pass::Up(next) => todo = next,
        }
        if links > LINKS_MAX {
            return Err(Errno(libc::ELOOP));
        }
    }
}

/// How one pass from the root ended.
#[expect(clippy::large_enum_variant, reason = "nothing may be allocated here")]
enum Pass {
    Arrived(Place),
    /// A link: where to go instead.
    Link(Text),
    /// `..`: where to go instead.
    Up(Text),
}

fn pass(layer: &Layer, todo: &Text, link: Last) -> Answer<Pass> {
    let mut walk = Walk::new(layer)?;
    let mut rest = todo.bytes();
    loop {
        let (name, after) = split_name(rest);
        let last = after.iter().all(|byte| *byte == b'/');
        match name {
            b"" => {
                walk.place.slash = true;
                return walk.arrive().map(Pass::Arrived);
            }
            b"." => {}
            b".." => return Text::from(&[parent(walk.place.path()), b"/", after]).map(Pass::Up),
            _ => {
                walk.enter(name)?;
                if walk.is_through() {
                    return walk.leave_layer(after);
                }
                walk.look(last)?;
                let followed = link == Last::Followed || link == Last::Kept && !after.is_empty();
                if walk.at_link() && (!last || followed) {
                    let target = read_link(walk.place.real())?;
                    let from = if target.bytes().starts_with(b"/") { b"" } else { parent(walk.place.path()) };
                    let target = below(target.bytes(), &layer.root).unwrap_or(target.bytes());
                    return Text::from(&[from, b"/", target, after]).map(Pass::Link);
                }
                if last {
                    walk.place.slash = !after.is_empty();
                    return Ok(Pass::Arrived(walk.place));
                }
                walk.descend()?;
            }
        }
        rest = after;
    }
}

/// The first name of a path, and what follows it.
fn split_name(path: &[u8]) -> (&[u8], &[u8]) {
    let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    let path = path.get(start..).unwrap_or_default();
    let end = path.iter().position(|byte| *byte == b'/').unwrap_or(path.len());
    path.split_at_checked(end).unwrap_or_default()
}

/// The target of a link.
pub(crate) fn read_link(link: &CStr) -> Answer<Text> {
    let mut target = Text::new();
    target.fill(|into| sys::readlink_at(CWD, link, into))?;
    Ok(target)
}

/// One pass from the root: the place reached so far.
struct Walk<'a> {
    layer: &'a Layer,
    place: Place,
    hash: PathHash,
    /// Where the folder reached so far exists.
    here: Trees,
    /// It is known to be a folder, in these trees, and was not looked at.
    assumed: Option<Known>,
}

impl<'a> Walk<'a> {
    fn new(layer: &'a Layer) -> Answer<Self> {
        let here = Trees { upper: true, lower: true, unknown: false };
        let full = Text::from(&[&layer.root])?;
        let place = Place { prefix: full.len(), full, node: Node::Absent, folder: here, slash: false };
        Ok(Self { layer, place, hash: PathHash::ROOT, here, assumed: None })
    }

    fn enter(&mut self, name: &[u8]) -> Answer<()> {
        if name.len() > libc::NAME_MAX as usize {
            return Err(Errno(libc::ENAMETOOLONG));
        }
        self.place.full.push(b"/")?;
        self.place.full.push(name)?;
        self.hash = self.hash.then(b"/").then(name);
        self.place.folder = self.here;
        Ok(())
    }

    fn is_through(&self) -> bool {
        self.layer.is_through(self.place.path())
    }

    fn at_link(&self) -> bool {
        match &self.place.node {
            Node::Upper(stat) | Node::Lower(stat) => is_link(stat),
            _ => false,
        }
    }

    /// The rest of the path is the kernel's, but for links of `/proc` to folders that the layer shows.
    fn leave_layer(mut self, after: &[u8]) -> Answer<Pass> {
        let link = proc_link_bytes(self.place.path(), after).and_then(|bytes| after.split_at_checked(bytes));
        if let Some((link, more)) = link {
            let target = read_link(Text::from(&[self.place.path(), link])?.c())?;
            if target.bytes().starts_with(b"/") {
                let target = below(target.bytes(), &self.layer.root).unwrap_or(target.bytes());
                return Text::from(&[target, b"/", more]).map(Pass::Link);
            }
        }
        self.place.full.push(after)?;
        self.place.node = Node::Through;
        Ok(Pass::Arrived(self.place))
    }

    /// Finds out what stands here. A folder on the way needs no `stat` where it is known.
    fn look(&mut self, last: bool) -> Answer<()> {
        let Self { layer, place, hash, here, .. } = self;
        if layer.is_hidden(place.path()) {
            place.node = Node::Absent;
            self.assumed = None;
            return Ok(());
        }
        let possible = here.unknown || layer.state.may_have(*hash);
        let folders = layer.state.folders();
        self.assumed = if last { None } else { known_folder(*hash, *here, possible, folders) };
        if self.assumed.is_none() {
            place.node = found(layer, place, *here, possible)?;
            remember(*hash, &place.node, folders);
        }
        here.unknown |= possible && layer.state.may_be_moved(*hash);
        Ok(())
    }

    /// Goes on below what was found here.
    fn descend(&mut self) -> Answer<()> {
        (self.here.upper, self.here.lower) = match &self.place.node {
            _ if self.assumed == Some(Known::Lower) => (false, true),
            _ if self.assumed == Some(Known::Upper) => (true, false),
            _ if self.assumed == Some(Known::Merged) => (true, true),
            Node::Absent => return Err(Errno(libc::ENOENT)),
            Node::Merged { .. } => (true, true),
            Node::Upper(stat) if is_dir(stat) => (true, false),
            Node::Lower(stat) if is_dir(stat) => (false, true),
            Node::Upper(_) | Node::Lower(_) => return Err(Errno(libc::ENOTDIR)),
            Node::Through => (false, true),
        };
        Ok(())
    }

    /// The path ended in `/`, `.` or was the root: the place is the folder reached so far.
    fn arrive(mut self) -> Answer<Place> {
        if self.place.path().is_empty() {
            let (upper, lower) = (sys::lstat(self.place.upper())?, sys::lstat(c"/")?);
            self.place.node =
                if self.layer.state.changed() { Node::Merged { upper, lower } } else { Node::Lower(lower) };
        } else if self.assumed.is_some() {
            self.here = self.place.folder;
            self.look(true)?;
        }
        Ok(self.place)
    }
}

/// None where the kernel says that there is nothing.
fn present(found: Answer<Stat>) -> Answer<Option<Stat>> {
    match found {
        Ok(stat) => Ok(Some(stat)),
        Err(Errno(libc::ENOENT | libc::ENOTDIR)) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// `/proc/self/cwd/x` is `x` in the working directory: how much of `after` is the link, where more follows it.
fn proc_link_bytes(folder: &[u8], after: &[u8]) -> Option<usize> {
    if folder != b"/proc" {
        return None;
    }
    let (_process, rest) = split_name(after);
    let (kind, rest) = split_name(rest);
    let rest = match kind {
        b"cwd" | b"root" => rest,
        b"fd" => split_name(rest).1,
        _ => return None,
    };
    rest.iter().any(|byte| *byte != b'/').then_some(after.len() - rest.len())
}

/// What stands at a place, asked of the file system.
fn found(layer: &Layer, place: &Place, here: Trees, possible: bool) -> Answer<Node> {
    let upper = if possible && here.upper { present(sys::lstat(place.upper()))? } else { None };
    if let Some(upper) = upper.filter(|upper| !is_dir(upper)) {
        return Ok(Node::Upper(upper));
    }
    let shows = here.lower && !(possible && is_marked(layer, place.path()));
    let lower = if shows { present(sys::lstat(place.lower()))? } else { None };
    Ok(match (upper, lower) {
        (Some(upper), Some(lower)) if is_dir(&lower) => Node::Merged { upper, lower },
        (Some(upper), _) => Node::Upper(upper),
        (None, Some(lower)) => Node::Lower(lower),
        (None, None) => Node::Absent,
    })
}

/// In which trees a folder is known to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Known {
    Lower = 1,
    Upper = 2,
    Merged = 3,
}

/// Folders that this process has seen, each a number made of its path, its trees and the state of all folders then.
static KNOWN_FOLDERS: [AtomicU64; 1 << 13] = [const { AtomicU64::new(0) }; 1 << 13];

impl Known {
    /// A folder of the real tree stays one; what the layer has holds until a folder is removed or renamed.
    fn number(self, hash: PathHash, folders: u64) -> u64 {
        let folders = if self == Self::Lower { 0 } else { folders };
        hash.mixed() ^ (folders << 3 | self as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    fn slot(self, hash: PathHash) -> Option<&'static AtomicU64> {
        KNOWN_FOLDERS.get((hash.mixed() as usize >> 1 ^ self as usize) % KNOWN_FOLDERS.len())
    }

    fn holds(self, hash: PathHash, folders: u64) -> bool {
        self.slot(hash).is_some_and(|slot| slot.load(Ordering::Relaxed) == self.number(hash, folders))
    }
}

fn known_folder(hash: PathHash, here: Trees, possible: bool, folders: u64) -> Option<Known> {
    if !possible {
        // Nothing of that name is in the layer.
        return Some(Known::Lower).filter(|known| here.lower && known.holds(hash, folders));
    }
    [Known::Merged, Known::Upper].into_iter().find(|known| known.holds(hash, folders))
}

fn remember(hash: PathHash, node: &Node, folders: u64) {
    let known = match node {
        Node::Merged { .. } => Known::Merged,
        Node::Upper(stat) if is_dir(stat) => Known::Upper,
        Node::Lower(stat) if is_dir(stat) => Known::Lower,
        _ => return,
    };
    if let Some(slot) = known.slot(hash) {
        slot.store(known.number(hash, folders), Ordering::Relaxed);
    }
}
