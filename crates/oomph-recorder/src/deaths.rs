//! Notices when code objects end: another one may then be made in the same place, and a stack must not be taken for one
//! that was seen before.
//!
//! Python tells nobody of it in all versions, so the function that every code object ends in is called from here.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crate::code::field;
use crate::layout::TYPE_DEALLOC;
use oomph_elf as elf;

type Dealloc = unsafe extern "C" fn(*mut c_void);
type GetSlot = unsafe extern "C" fn(usize, i32) -> *mut c_void;

/// Python's number for the slot.
const SLOT_DEALLOC: i32 = 52;

const SLOTS: usize = 1 << 16;
const SEEN: u32 = 1 << 31;

static ORIGINAL: AtomicUsize = AtomicUsize::new(0);

/// How many code objects have ended that stacks were made of.
static ENDED: AtomicU64 = AtomicU64::new(0);

/// By hash of a code object's address: whether one was seen there, and how many of these have ended.
static LIVES: [AtomicU32; SLOTS] = [const { AtomicU32::new(0) }; SLOTS];

fn life(code: usize) -> Option<&'static AtomicU32> {
    LIVES.get(((code as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize)
}

/// Changes whenever a code object ends that a stack was made of.
#[inline]
pub(crate) fn count() -> u64 {
    ENDED.load(Relaxed)
}

/// Tells the code object at an address from those that were there before it, from now on.
pub(crate) fn life_of(code: usize) -> u32 {
    life(code).map_or(0, |life| life.fetch_or(SEEN, Relaxed) | SEEN)
}

/// Begins to watch. The GIL is held.
pub(crate) fn watch() -> Result<(), &'static str> {
    const PROBLEM: &str = "code objects of this build of Python are not as expected";
    if ORIGINAL.load(Relaxed) != 0 {
        return Ok(());
    }
    let code_type = elf::global_symbol(c"PyCode_Type").ok_or(PROBLEM)?;
    let get_slot = elf::global_symbol(c"PyType_GetSlot").ok_or(PROBLEM)?;
    // SAFETY: a function of Python's C interface, asked about a type; types are larger than what is read of this one.
    let (said, found) = unsafe {
        let get_slot = std::mem::transmute::<usize, GetSlot>(get_slot);
        (get_slot(code_type, SLOT_DEALLOC) as usize, field::<usize>(code_type, TYPE_DEALLOC))
    };
    if said == 0 || said != found {
        return Err(PROBLEM);
    }
    ORIGINAL.store(found, Relaxed);
    // SAFETY: the slot that was just read; whoever calls through it holds the GIL, as this thread does.
    unsafe { ((code_type + TYPE_DEALLOC) as *mut Dealloc).write(end_code) };
    Ok(())
}

unsafe extern "C" fn end_code(code: *mut c_void) {
    if let Some(life) = life(code as usize).filter(|life| life.load(Relaxed) & SEEN != 0) {
        life.store(life.load(Relaxed).wrapping_add(1) | SEEN, Relaxed);
        ENDED.fetch_add(1, Relaxed);
    }
    // SAFETY: set before this function could be called, to the one that was there; its argument is passed on.
    unsafe {
        let original = std::mem::transmute::<usize, Dealloc>(ORIGINAL.load(Relaxed));
        original(code);
    }
}
