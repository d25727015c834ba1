//! cuRAND: generators that draw nothing. PyTorch has generators of its own and only links against this library.

use std::ffi::{c_int, c_void};

use crate::installed::Library;
use crate::object::{Out, create, put};

const SUCCESS: c_int = 0;
const NOT_INITIALIZED: c_int = 101;
const OUT_OF_RANGE: c_int = 104;

/// What `curandCreateGenerator` hands out.
pub(crate) struct Generator;

fn done(written: bool) -> c_int {
    if written { SUCCESS } else { OUT_OF_RANGE }
}

/// `curandCreateGeneratorHost` is another name for this in the list.
#[unsafe(no_mangle)]
unsafe extern "C" fn curandCreateGenerator(generator: Out<'_, *mut Generator>, _kind: c_int) -> c_int {
    done(create(generator, Generator))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn curandDestroyGenerator(generator: Option<Box<Generator>>) -> c_int {
    if generator.is_some() { SUCCESS } else { NOT_INITIALIZED }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn curandGetVersion(version: Out<'_, c_int>) -> c_int {
    let number = Library::loaded("libcurand.so").and_then(|library| library.number_by_pointer(c"curandGetVersion"));
    done(put(version, number.unwrap_or(10_400)))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn curandSetStream(generator: Option<&mut Generator>, _stream: *mut c_void) -> c_int {
    if generator.is_some() { SUCCESS } else { NOT_INITIALIZED }
}
