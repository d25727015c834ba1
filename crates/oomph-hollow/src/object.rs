//! Objects that a library hands out by address (handles, descriptors), and results through pointers.
//!
//! Signatures say what C means by a pointer, so that bodies need no `unsafe`: `Option<&mut T>` is an object that may be
//! missing, `Option<Box<T>>` one that is given back for good, [`Out`] a variable of the caller's for a result.

use std::mem::MaybeUninit;

/// Where a result goes: null or a variable of the caller's that need not hold anything yet.
pub(crate) type Out<'a, T> = Option<&'a mut MaybeUninit<T>>;

/// Hands a result over; false where there is no place for it.
pub(crate) fn put<T>(out: Out<'_, T>, value: T) -> bool {
    match out {
        Some(out) => {
            out.write(value);
            true
        }
        None => false,
    }
}

/// Hands a new object over; false where there is no place for it.
pub(crate) fn create<T>(out: Out<'_, *mut T>, object: T) -> bool {
    match out {
        Some(out) => {
            out.write(Box::into_raw(Box::new(object)));
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_go_where_the_caller_wants_them() {
        let mut place = MaybeUninit::uninit();
        assert!(put(Some(&mut place), 7));
        // SAFETY: `put` wrote it.
        assert_eq!(unsafe { place.assume_init() }, 7);
        assert!(!put(None, 7));

        let mut place = MaybeUninit::uninit();
        assert!(create(Some(&mut place), String::from("object")));
        // SAFETY: `create` wrote the address of a box.
        assert_eq!(*unsafe { Box::from_raw(place.assume_init()) }, "object");
    }
}
