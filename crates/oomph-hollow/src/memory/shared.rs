//! What other processes have on the cards: a file that all of them map, named by `OOMPH_HOLLOW_LEDGER`.
//!
//! Each process that takes memory owns one slot of the file: its id, its start time (ids are used again), and its bytes
//! on each installed card. A slot whose process is gone does not count, and is given to the next one that asks. Without
//! the variable, or where the file cannot be used, a process has the cards for itself.
//!
//! Only the owner writes to a slot, with plain stores; slots change hands under a lock on the file.

use std::env;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// What the file starts with.
const MAGIC: u64 = u64::from_le_bytes(*b"oomphled");
/// More processes than use one machine's cards at once.
const SLOTS: usize = 512;
/// Cards beyond these are not shared.
const CARDS: usize = 16;
/// The value of [`Shared::own`] while this process has no slot.
const NO_SLOT: usize = usize::MAX;

/// The file as it is mapped; all zeros when new.
#[repr(C)]
struct Layout {
    magic: AtomicU64,
    slots: [Slot; SLOTS],
}

#[repr(C)]
struct Slot {
    /// 0 where the slot has never been used.
    pid: AtomicU64,
    start_ticks: AtomicU64,
    used_bytes: [AtomicU64; CARDS],
}

/// Who a slot belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Owner {
    pid: u64,
    start_ticks: u64,
}

impl Owner {
    fn this_process() -> Option<Self> {
        Self::of(u64::from(std::process::id()))
    }

    /// A process that runs; none if it has ended, even where its parent has not asked about it yet.
    fn of(pid: u64) -> Option<Self> {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name, in parentheses, may hold anything.
        let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?;
        let start_ticks = fields.nth(18)?.parse().ok()?;
        (!matches!(state, "Z" | "X")).then_some(Self { pid, start_ticks })
    }
}

impl Slot {
    fn owner(&self) -> Owner {
        Owner { pid: self.pid.load(Ordering::Acquire), start_ticks: self.start_ticks.load(Ordering::Acquire) }
    }

    fn is_live(&self) -> bool {
        let owner = self.owner();
        owner.pid != 0 && Owner::of(owner.pid) == Some(owner)
    }

    fn used_bytes(&self, card: usize) -> u64 {
        self.used_bytes.get(card).map_or(0, |bytes| bytes.load(Ordering::Acquire))
    }
}

/// The mapped file, and the slot of this process in it.
pub(super) struct Shared {
    path: PathBuf,
    layout: &'static Layout,
    own: AtomicUsize,
}

impl Shared {
    /// The file that `OOMPH_HOLLOW_LEDGER` names. It stays mapped until the process ends.
    pub(super) fn from_environment() -> Option<&'static Self> {
        let path = env::var_os("OOMPH_HOLLOW_LEDGER").filter(|path| !path.is_empty())?;
        match Self::open(Path::new(&path)) {
            Ok(shared) => Some(Box::leak(Box::new(shared))),
            Err(problem) => {
                let path = Path::new(&path).display();
                crate::process::say(&format!("OOMPH_HOLLOW_LEDGER: {path}: {problem}; other processes are not seen"));
                None
            }
        }
    }

    fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let bytes = size_of::<Layout>();
        file.lock()?;
        if file.metadata()?.len() == 0 {
            file.set_len(bytes as u64)?;
        }
        if file.metadata()?.len() != bytes as u64 {
            return Err(io::Error::other("not a ledger of hollow cards"));
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a fresh mapping of a file of that size.
        let address = unsafe { libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_SHARED, file.as_raw_fd(), 0) };
        if address == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the mapping has the size of the layout, is page aligned and never unmapped; every field is atomic,
        // and any bits are a value.
        let layout = unsafe { &*address.cast::<Layout>() };
        let _ = layout.magic.compare_exchange(0, MAGIC, Ordering::AcqRel, Ordering::Acquire);
        // Closing the file is not enough: the mapping keeps it open.
        file.unlock()?;
        if layout.magic.load(Ordering::Acquire) != MAGIC {
            return Err(io::Error::other("not a ledger of hollow cards"));
        }
        Ok(Self { path: path.canonicalize()?, layout, own: AtomicUsize::new(NO_SLOT) })
    }

    /// Tells the others what this process has on a card.
    pub(super) fn publish(&self, card: usize, used_bytes: u64) {
        if self.own_slot().is_none() && used_bytes > 0 {
            let claimed = Owner::this_process().and_then(|owner| self.claim(owner));
            self.own.store(claimed.unwrap_or(NO_SLOT), Ordering::Release);
        }
        let Some(bytes) = self.own_slot().and_then(|slot| slot.used_bytes.get(card)) else { return };
        bytes.store(used_bytes, Ordering::Release);
    }

    fn own_slot(&self) -> Option<&Slot> {
        self.layout.slots.get(self.own.load(Ordering::Acquire))
    }

    /// Gives a slot whose process is gone to another; none if all are taken or the lock cannot be had.
    fn claim(&self, owner: Owner) -> Option<usize> {
        // Opened again: a child shares its parent's open file, and with it the parent's lock.
        let file = File::open(&self.path).ok()?;
        file.lock().ok()?;
        let found = self.layout.slots.iter().position(|slot| !slot.is_live());
        if let Some(slot) = found.and_then(|at| self.layout.slots.get(at)) {
            for bytes in &slot.used_bytes {
                bytes.store(0, Ordering::Release);
            }
            slot.start_ticks.store(owner.start_ticks, Ordering::Release);
            slot.pid.store(owner.pid, Ordering::Release);
        }
        found
    }

    /// Whether the others leave so many bytes of a card: `room_bytes` is what this process leaves them.
    pub(super) fn leaves_room(&self, card: usize, room_bytes: u64) -> bool {
        // Looking whether processes still run takes system calls, and a card is rarely full.
        let noted_bytes = self.others().map(|slot| slot.used_bytes(card)).fold(0, u64::saturating_add);
        noted_bytes <= room_bytes || self.others_bytes(card) <= room_bytes
    }

    /// What the other processes have on a card.
    pub(super) fn others_bytes(&self, card: usize) -> u64 {
        self.others_on(card).fold(0, |sum, (_, used_bytes)| sum.saturating_add(used_bytes))
    }

    /// The other processes on a card: id and bytes.
    pub(super) fn others_on(&self, card: usize) -> impl Iterator<Item = (u32, u64)> {
        let on_card = self.others().filter(move |slot| slot.used_bytes(card) > 0 && slot.is_live());
        on_card.map(move |slot| (slot.owner().pid as u32, slot.used_bytes(card)))
    }

    fn others(&self) -> impl Iterator<Item = &Slot> {
        let own = self.own.load(Ordering::Acquire);
        let slots = self.layout.slots.iter().enumerate();
        slots.filter(move |&(at, slot)| at != own && slot.pid.load(Ordering::Acquire) != 0).map(|(_, slot)| slot)
    }

    /// In a child after a fork: the slot is the parent's.
    pub(super) fn forked(&self) {
        self.own.store(NO_SLOT, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;

    fn ledger() -> (tempfile::TempDir, Shared, Shared) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        let (mine, theirs) = (Shared::open(&path).unwrap(), Shared::open(&path).unwrap());
        (folder, mine, theirs)
    }

    fn sleeper(theirs: &Shared, card: usize, used_bytes: u64) -> Child {
        let child = Command::new("sleep").arg("100").spawn().unwrap();
        let slot = theirs.claim(Owner::of(u64::from(child.id())).unwrap()).unwrap();
        theirs.layout.slots[slot].used_bytes[card].store(used_bytes, Ordering::Release);
        child
    }

    #[test]
    fn processes_see_what_the_others_have_until_these_end() {
        let (_folder, mine, theirs) = ledger();
        mine.publish(0, 5);
        let mut child = sleeper(&theirs, 1, 7);
        assert_eq!(mine.others_on(1).collect::<Vec<_>>(), [(child.id(), 7)]);
        assert_eq!((mine.others_bytes(0), mine.others_bytes(1), mine.others_bytes(99)), (0, 7, 0));
        assert_eq!(theirs.others_bytes(0), 5);
        assert!(mine.leaves_room(1, 7) && !mine.leaves_room(1, 6));
        child.kill().unwrap();
        while Owner::of(u64::from(child.id())).is_some() {
            std::thread::yield_now();
        }
        // Its parent has not asked about it yet: it is a zombie, and holds nothing.
        assert_eq!(mine.others_bytes(1), 0);
        child.wait().unwrap();
        assert!(mine.leaves_room(1, 0));
    }

    #[test]
    fn slots_of_the_dead_are_given_to_others() {
        let (_folder, mine, theirs) = ledger();
        mine.publish(0, 5);
        let mut child = sleeper(&theirs, 0, 7);
        child.kill().unwrap();
        child.wait().unwrap();
        let mut next = sleeper(&theirs, 2, 3);
        assert_eq!(mine.others().count(), 1);
        assert_eq!((mine.others_bytes(0), mine.others_bytes(2)), (0, 3));
        next.kill().unwrap();
        next.wait().unwrap();
    }

    #[test]
    fn a_number_used_again_is_another_process() {
        let (_folder, mine, theirs) = ledger();
        let this = Owner::this_process().unwrap();
        let earlier = Owner { start_ticks: this.start_ticks - 1, ..this };
        let slot = theirs.claim(earlier).unwrap();
        theirs.layout.slots[slot].used_bytes[0].store(9, Ordering::Release);
        assert_eq!(mine.others_bytes(0), 0);
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        std::fs::write(&path, "text").unwrap();
        assert!(Shared::open(&path).is_err());
        std::fs::write(&path, vec![b'x'; size_of::<Layout>()]).unwrap();
        assert!(Shared::open(&path).is_err());
    }
}
