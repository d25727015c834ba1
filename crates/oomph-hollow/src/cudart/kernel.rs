//! Kernels: registration by the code that compilers generate, launches, attributes. What is modelled is in
//! [`crate::kernel`].

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::call::{put, runtime};
use crate::fault::{Fault, Outcome};
use crate::{device, kernel, stream};

/// `dim3`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

impl Dim3 {
    fn sides(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// What `<<<...>>>` holds between a call's two halves.
#[derive(Clone, Copy)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: usize,
}

thread_local! {
    static CONFIGURATIONS: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// A fat binary's handle is the address of its own address.
#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinary(fat_binary: usize) -> *mut usize {
    Box::into_raw(Box::new(fat_binary))
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterFatBinaryEnd(_handle: *mut usize) {}

/// Handles are kept: a program that ends asks again for what it has given up.
#[unsafe(no_mangle)]
extern "C" fn __cudaUnregisterFatBinary(_handle: *mut usize) {}

#[unsafe(no_mangle)]
extern "C" fn __cudaInitModule(_handle: *mut usize) -> c_char {
    1
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaRegisterFunction(
    handle: *const usize,
    host_function: usize,
    _device_function: *mut c_char,
    _name: *const c_char,
    _thread_limit: c_int,
    _thread: *mut c_void,
    _block: *mut c_void,
    _block_size: *mut c_void,
    _grid_size: *mut c_void,
    _warp: *mut c_int,
) {
    if !handle.is_null() {
        // SAFETY: not null, so from `__cudaRegisterFatBinary`.
        kernel::register(host_function, unsafe { *handle });
    }
}

#[unsafe(no_mangle)]
extern "C" fn __cudaRegisterVar(
    _handle: *mut usize,
    host_variable: usize,
    _device_address: *mut c_char,
    _name: *const c_char,
    _external: c_int,
    bytes: usize,
    _constant: c_int,
    _global: c_int,
) {
    kernel::register_variable(host_variable, bytes as u64);
}

/// Where a variable of the device lies, and its bytes.
pub(super) fn variable(symbol: usize) -> Outcome<(u64, u64)> {
    kernel::variable(symbol, device::enter()?)
}

#[unsafe(no_mangle)]
extern "C" fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared_bytes: usize, stream: usize) -> c_uint {
    CONFIGURATIONS.with_borrow_mut(|all| all.push(Configuration { grid, block, shared_bytes, stream }));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaPopCallConfiguration(
    grid: *mut Dim3,
    block: *mut Dim3,
    shared_bytes: *mut usize,
    stream: *mut usize,
) -> c_int {
    runtime(|| {
        let top = CONFIGURATIONS.with_borrow_mut(Vec::pop).ok_or(Fault(52))?;
        // SAFETY: variables of the generated code.
        unsafe {
            put(grid, top.grid)?;
            put(block, top.block)?;
            put(shared_bytes, top.shared_bytes)?;
            put(stream, top.stream)
        }
    })
}

/// A kernel's handle is its host function.
#[unsafe(no_mangle)]
unsafe extern "C" fn __cudaGetKernel(out: *mut usize, function: usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, function) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetKernel(out: *mut usize, function: usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, function) })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaGetFuncBySymbol(out: *mut usize, function: usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, function) })
}

fn launch(function: usize, grid: Dim3, block: Dim3, shared_bytes: usize, on: usize) -> c_int {
    runtime(|| {
        kernel::check_launch(grid.sides(), block.sides(), shared_bytes)?;
        kernel::load(function)?;
        stream::launch(on)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaLaunchKernel(
    function: usize,
    grid: Dim3,
    block: Dim3,
    _arguments: *mut *mut c_void,
    shared_bytes: usize,
    on: usize,
) -> c_int {
    launch(function, grid, block, shared_bytes, on)
}

#[unsafe(no_mangle)]
extern "C" fn __cudaLaunchKernel(
    kernel: usize,
    grid: Dim3,
    block: Dim3,
    _arguments: *mut *mut c_void,
    shared_bytes: usize,
    on: usize,
) -> c_int {
    launch(kernel, grid, block, shared_bytes, on)
}

#[unsafe(no_mangle)]
extern "C" fn cudaLaunchCooperativeKernel(
    function: usize,
    grid: Dim3,
    block: Dim3,
    _arguments: *mut *mut c_void,
    shared_bytes: usize,
    on: usize,
) -> c_int {
    launch(function, grid, block, shared_bytes, on)
}

/// The beginning of `cudaLaunchConfig_t`; attributes follow.
#[repr(C)]
struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: usize,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaLaunchKernelExC(
    config: *const LaunchConfig,
    function: usize,
    _arguments: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's pointer.
    match unsafe { config.as_ref() } {
        Some(config) => launch(function, config.grid, config.block, config.shared_bytes, config.stream),
        None => runtime(|| Err(Fault::INVALID_VALUE)),
    }
}

/// `cudaFuncAttributes`.
#[repr(C)]
struct FunctionAttributes {
    shared_bytes: usize,
    constant_bytes: usize,
    local_bytes: usize,
    max_threads: c_int,
    registers: c_int,
    ptx_version: c_int,
    binary_version: c_int,
    cache_mode: c_int,
    max_dynamic_shared_bytes: c_int,
    preferred_carveout: c_int,
    cluster: [c_int; 6],
    reserved: [c_int; 16],
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaFuncGetAttributes(out: *mut FunctionAttributes, function: usize) -> c_int {
    runtime(|| {
        let card = device::card(device::enter()?)?;
        let architecture = kernel::architecture(card, function) as c_int;
        let attributes = FunctionAttributes {
            shared_bytes: 0,
            constant_bytes: 0,
            local_bytes: 0,
            max_threads: kernel::MAX_THREADS as c_int,
            registers: kernel::REGISTERS as c_int,
            ptx_version: architecture,
            binary_version: architecture,
            cache_mode: 0,
            max_dynamic_shared_bytes: kernel::dynamic_shared_bytes(card, function) as c_int,
            preferred_carveout: -1,
            cluster: [0; 6],
            reserved: [0; 16],
        };
        // SAFETY: the caller's structure.
        unsafe { put(out, attributes) }
    })
}

/// `cudaFuncAttributeMaxDynamicSharedMemorySize`.
const MAX_DYNAMIC_SHARED_BYTES: c_int = 8;

fn set_attribute(function: usize, attribute: c_int, value: c_int) -> Outcome {
    let card = device::card(device::enter()?)?;
    if attribute == MAX_DYNAMIC_SHARED_BYTES {
        kernel::set_dynamic_shared_bytes(card, function, value)?;
    }
    Ok(())
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetAttribute(function: usize, attribute: c_int, value: c_int) -> c_int {
    runtime(|| set_attribute(function, attribute, value))
}

#[unsafe(no_mangle)]
extern "C" fn cudaKernelSetAttributeForDevice(function: usize, attribute: c_int, value: c_int, of: c_int) -> c_int {
    runtime(|| {
        device::checked(of)?;
        set_attribute(function, attribute, value)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetCacheConfig(_function: usize, _config: c_int) -> c_int {
    0
}

#[unsafe(no_mangle)]
extern "C" fn cudaFuncSetSharedMemConfig(_function: usize, _config: c_int) -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaFuncGetName(out: *mut *const c_char, _function: usize) -> c_int {
    // SAFETY: the caller's pointer.
    runtime(|| unsafe { put(out, c"kernel".as_ptr()) })
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    /// A training run launches millions: a launch must cost nanoseconds. The bound leaves room for a busy machine.
    #[test]
    fn a_million_launches_are_cheap() {
        let one = Dim3 { x: 1, y: 1, z: 1 };
        let before = crate::count::LAUNCHES.get();
        let start = Instant::now();
        for _ in 0..1_000_000 {
            assert_eq!(cudaLaunchKernel(1, one, one, std::ptr::null_mut(), 0, 0), 0);
        }
        assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
        assert!(crate::count::LAUNCHES.get() >= before + 1_000_000);
    }

    #[test]
    fn configurations_come_back_in_reverse() {
        let side = |x| Dim3 { x, y: 1, z: 1 };
        __cudaPushCallConfiguration(side(1), side(10), 100, 1000);
        __cudaPushCallConfiguration(side(2), side(20), 200, 2000);
        let (mut grid, mut block, mut shared, mut stream) = (side(0), side(0), 0, 0);
        for expected in [(2, 20, 200, 2000), (1, 10, 100, 1000)] {
            let out = (&raw mut grid, &raw mut block, &raw mut shared, &raw mut stream);
            // SAFETY: four variables.
            assert_eq!(unsafe { __cudaPopCallConfiguration(out.0, out.1, out.2, out.3) }, 0);
            assert_eq!((grid.x, block.x, shared, stream), expected);
        }
        let out = (&raw mut grid, &raw mut block, &raw mut shared, &raw mut stream);
        // SAFETY: as above.
        assert_ne!(unsafe { __cudaPopCallConfiguration(out.0, out.1, out.2, out.3) }, 0, "nothing is left to take");
        crate::call::take_last_error();
    }

    #[test]
    fn attributes_have_the_layout_of_the_header() {
        assert_eq!(size_of::<FunctionAttributes>(), 144);
        assert_eq!(std::mem::offset_of!(LaunchConfig, stream), 32);
    }
}
