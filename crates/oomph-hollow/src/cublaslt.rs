//! cuBLASLt: descriptors that give back what was set on them, and one algorithm for every product.
//!
//! PyTorch gives cuBLASLt a workspace whose size it fixes itself, so which algorithm is taken does not matter to memory.
//! cuDNN asks too: it runs 1x1 convolutions as products, and puts what the algorithm wants on top of its own workspace,
//! with 256 bytes to align it. On an H200 that came to 400 bytes or to none in single precision, where cuDNN allowed a
//! workspace (15 of 18 products wanted 400). In 16 bits it was nothing or next to it for most, but up to 8.25 MiB where a
//! long sum is cut into parts ([`parts_bytes`]).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use crate::installed::Library;
use crate::object::{Out, create, put};
use crate::work::{self, Product, Units};
use crate::{cublas, device};

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 7;

/// `CUBLASLT_MATRIX_LAYOUT_TYPE`.
const LAYOUT_TYPE: c_int = 0;
/// `CUBLASLT_MATRIX_LAYOUT_ROWS` and `CUBLASLT_MATRIX_LAYOUT_COLS`.
const LAYOUT_ROWS: c_int = 2;
const LAYOUT_COLUMNS: c_int = 3;
/// `CUBLASLT_MATRIX_LAYOUT_LD`.
const LAYOUT_LEADING: c_int = 4;
/// `CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT`.
const LAYOUT_BATCH: c_int = 5;
/// `CUBLASLT_MATMUL_DESC_COMPUTE_TYPE`.
const COMPUTE_TYPE: c_int = 0;
/// `CUDA_R_32F`, `CUDA_R_16F` and `CUDA_R_16BF`.
const SINGLE: c_int = 0;
const HALF: c_int = 2;
const BRAIN: c_int = 14;
/// `CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES`.
const MAX_WORKSPACE_BYTES: c_int = 1;
/// Counters of a product whose parts several blocks compute.
const COUNTERS_BYTES: usize = 144;

thread_local! {
    /// What [`parts_bytes`] said on this thread since somebody wanted to know.
    static FITTED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Runs something that may ask for algorithms; with its result come the workspaces that were said and are only a fit.
pub(crate) fn noting_fits<T>(body: impl FnOnce() -> T) -> (T, Vec<usize>) {
    // A thread that is ending has nothing noted.
    let take = || FITTED.try_with(RefCell::take).unwrap_or_default();
    take();
    (body(), take())
}

/// A descriptor of whatever kind: attributes by number.
#[derive(Default)]
pub(crate) struct Descriptor {
    attributes: BTreeMap<c_int, Vec<u8>>,
}

/// A handle holds nothing: streams are given with each call.
pub(crate) struct Handle;

/// `cublasLtMatmulHeuristicResult_t`.
#[repr(C)]
pub(crate) struct HeuristicResult {
    algorithm: [u64; 8],
    workspace_bytes: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

fn done(written: bool) -> c_int {
    if written { SUCCESS } else { INVALID_VALUE }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtCreate(handle: Out<'_, *mut Handle>) -> c_int {
    done(create(handle, Handle))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtDestroy(handle: Option<Box<Handle>>) -> c_int {
    done(handle.is_some())
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtGetVersion() -> usize {
    static VERSION: OnceLock<usize> = OnceLock::new();
    *VERSION.get_or_init(|| {
        Library::loaded("libcublasLt.so").and_then(|library| library.number(c"cublasLtGetVersion")).unwrap_or(130_000)
    })
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtGetCudartVersion() -> usize {
    cublasLtGetVersion() / 10_000 * 1000
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtGetStatusName(status: c_int) -> *const c_char {
    cublas::cublasGetStatusName(status)
}

#[unsafe(no_mangle)]
extern "C" fn cublasLtGetStatusString(status: c_int) -> *const c_char {
    cublas::cublasGetStatusString(status)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulDescCreate(
    descriptor: Out<'_, *mut Descriptor>,
    compute: c_int,
    _scale: c_int,
) -> c_int {
    let attributes = BTreeMap::from([(COMPUTE_TYPE, compute.to_ne_bytes().to_vec())]);
    done(create(descriptor, Descriptor { attributes }))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatrixLayoutCreate(
    descriptor: Out<'_, *mut Descriptor>,
    data_type: c_int,
    rows: u64,
    columns: u64,
    leading: i64,
) -> c_int {
    let mut matrix = Descriptor::of_matrix(data_type, rows, columns);
    matrix.attributes.insert(LAYOUT_LEADING, leading.to_ne_bytes().to_vec());
    done(create(descriptor, matrix))
}

/// Preferences and transforms: `cublasLtMatrixTransformDescCreate` is another name for this in the list.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulPreferenceCreate(descriptor: Out<'_, *mut Descriptor>) -> c_int {
    done(create(descriptor, Descriptor::default()))
}

/// Every kind of descriptor is given back alike, by several names in the list.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulDescDestroy(descriptor: Option<Box<Descriptor>>) -> c_int {
    done(descriptor.is_some())
}

/// Attributes of every kind of descriptor are set alike, by several names in the list.
///
/// # Safety
///
/// `buffer` is null or holds `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulDescSetAttribute(
    descriptor: Option<&mut Descriptor>,
    attribute: c_int,
    buffer: *const c_void,
    size: usize,
) -> c_int {
    let Some(descriptor) = descriptor else { return INVALID_VALUE };
    if buffer.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: not null, so the caller vouches for its size.
    let value = unsafe { slice::from_raw_parts(buffer.cast::<u8>(), size) };
    descriptor.attributes.insert(attribute, value.to_vec());
    SUCCESS
}

/// Attributes of every kind of descriptor are asked for alike. What was never set is zero.
///
/// # Safety
///
/// `buffer` is null or has room for `size` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulDescGetAttribute(
    descriptor: Option<&mut Descriptor>,
    attribute: c_int,
    buffer: *mut c_void,
    size: usize,
    written: Out<'_, usize>,
) -> c_int {
    let Some(descriptor) = descriptor else { return INVALID_VALUE };
    let value = descriptor.attributes.get(&attribute);
    put(written, value.map_or(size, Vec::len));
    if !buffer.is_null() {
        // SAFETY: not null, so the caller vouches for its size.
        unsafe { ptr::write_bytes(buffer.cast::<u8>(), 0, size) };
        if let Some(value) = value {
            // SAFETY: as above; no more than the buffer holds is copied.
            unsafe { ptr::copy_nonoverlapping(value.as_ptr(), buffer.cast(), value.len().min(size)) };
        }
    }
    SUCCESS
}

/// Computes nothing; how much it would is counted.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmul(
    _handle: *mut c_void,
    operation: Option<&mut Descriptor>,
    _alpha: *const c_void,
    _a: *const c_void,
    a: Option<&mut Descriptor>,
    _b: *const c_void,
    b: Option<&mut Descriptor>,
    _beta: *const c_void,
    _c: *const c_void,
    _c_layout: *mut c_void,
    _d: *mut c_void,
    d: Option<&mut Descriptor>,
) -> c_int {
    let (Some(operation), Some(a), Some(b), Some(d)) = (operation, a, b, d) else { return INVALID_VALUE };
    let (rows, columns) = (d.number(LAYOUT_ROWS) as u64, d.number(LAYOUT_COLUMNS) as u64);
    let elements = (a.number(LAYOUT_ROWS) * a.number(LAYOUT_COLUMNS)) as u64;
    work::product(&Product {
        units: Units::of_product(a.word(LAYOUT_TYPE).cast_signed(), operation.word(COMPUTE_TYPE).cast_signed(), 0),
        rows,
        columns,
        sum: elements.checked_div(rows).unwrap_or(0),
        count: u64::from(d.word(LAYOUT_BATCH).max(1)),
        row_bytes: [a.row_bytes(), b.row_bytes(), d.row_bytes()],
    });
    SUCCESS
}

/// One algorithm, which always works.
#[unsafe(no_mangle)]
unsafe extern "C" fn cublasLtMatmulAlgoGetHeuristic(
    _handle: *mut c_void,
    _operation: *mut c_void,
    a: Option<&mut Descriptor>,
    _b: *mut c_void,
    _c: *mut c_void,
    d: Option<&mut Descriptor>,
    preference: Option<&mut Descriptor>,
    wanted: c_int,
    results: Out<'_, HeuristicResult>,
    found: Out<'_, c_int>,
) -> c_int {
    if wanted < 1 {
        return INVALID_VALUE;
    }
    let limit = preference.map_or(0, |preference| preference.number(MAX_WORKSPACE_BYTES));
    let sms = device::current_card().map_or(1, |card| card.sms as usize);
    let bytes = match (a, d) {
        (Some(a), _) if a.is_of(SINGLE) => Some(COUNTERS_BYTES),
        (Some(a), Some(d)) if a.is_of(HALF) || a.is_of(BRAIN) => {
            let bytes = Some(parts_bytes(a, d, sms)).filter(|bytes| *bytes > 0 && *bytes <= limit);
            let _ = FITTED.try_with(|fitted| fitted.borrow_mut().extend(bytes));
            bytes
        }
        _ => None,
    };
    let result = HeuristicResult {
        algorithm: [0; 8],
        workspace_bytes: bytes.filter(|bytes| *bytes <= limit).unwrap_or(0),
        state: SUCCESS,
        waves: 1.0,
        reserved: [0; 4],
    };
    done(put(results, result) && put(found, 1))
}

/// What a product in 16 bits wants where its result has fewer tiles than the card has multiprocessors: its sum is cut, and
/// every part has tiles of its own, in single precision.
///
/// A fit to the gradients of the 1x1 filters of a ResNet-50 on an H200: seven sizes, of which four are met and the others
/// lie within a factor of two. How cuBLASLt chooses is not known.
fn parts_bytes(a: &Descriptor, d: &Descriptor, sms: usize) -> usize {
    let (rows, columns) = (d.number(LAYOUT_ROWS), d.number(LAYOUT_COLUMNS));
    let sum = (a.number(LAYOUT_ROWS) * a.number(LAYOUT_COLUMNS)).checked_div(rows).unwrap_or(0);
    let tiles = (rows * columns).div_ceil(TILE_ELEMENTS).max(1);
    match (sms / tiles).min(sum.div_ceil(PART_TERMS)) {
        0 | 1 => 0,
        parts => PART_COUNTERS_BYTES + tiles * parts * TILE_ELEMENTS * size_of::<f32>(),
    }
}

/// A tile of 128 by 128.
const TILE_ELEMENTS: usize = 128 * 128;
/// Terms of the sum in a part, at most.
const PART_TERMS: usize = 3072;
const PART_COUNTERS_BYTES: usize = 16;

impl Descriptor {
    /// A matrix of elements of a type.
    fn of_matrix(data_type: c_int, rows: u64, columns: u64) -> Self {
        Self {
            attributes: BTreeMap::from([
                (LAYOUT_TYPE, data_type.to_ne_bytes().to_vec()),
                (LAYOUT_ROWS, rows.to_ne_bytes().to_vec()),
                (LAYOUT_COLUMNS, columns.to_ne_bytes().to_vec()),
            ]),
        }
    }

    /// Whether this is a matrix of elements of that type.
    fn is_of(&self, data_type: c_int) -> bool {
        self.attributes.get(&LAYOUT_TYPE).is_some_and(|kind| *kind == data_type.to_ne_bytes())
    }

    /// From one column of this matrix to the next.
    fn row_bytes(&self) -> u64 {
        self.number(LAYOUT_LEADING) as u64 * work::element_bytes(self.word(LAYOUT_TYPE).cast_signed())
    }

    /// A value of 32 bits.
    fn word(&self, attribute: c_int) -> u32 {
        let value = self.attributes.get(&attribute).and_then(|value| value.first_chunk());
        value.map_or(0, |bytes| u32::from_ne_bytes(*bytes))
    }

    fn number(&self, attribute: c_int) -> usize {
        let value = self.attributes.get(&attribute).and_then(|value| value.first_chunk());
        value.map_or(0, |bytes| usize::from_ne_bytes(*bytes))
    }
}

#[cfg(test)]
mod tests {
    use std::mem::MaybeUninit;

    use super::*;

    #[test]
    fn attributes_read_back_what_was_set() {
        let mut descriptor = Descriptor::default();
        let limit = 1_usize << 20;
        let pointer = ptr::from_ref(&limit).cast();
        // SAFETY: the pointer is to a variable of that size.
        let status = unsafe { cublasLtMatmulDescSetAttribute(Some(&mut descriptor), MAX_WORKSPACE_BYTES, pointer, 8) };
        assert_eq!(status, SUCCESS);
        assert_eq!(descriptor.number(MAX_WORKSPACE_BYTES), limit);
        let (mut value, mut written) = (0_usize, MaybeUninit::uninit());
        // SAFETY: as above.
        let status = unsafe {
            cublasLtMatmulDescGetAttribute(
                Some(&mut descriptor),
                MAX_WORKSPACE_BYTES,
                ptr::from_mut(&mut value).cast(),
                8,
                Some(&mut written),
            )
        };
        assert_eq!((status, value), (SUCCESS, limit));
    }

    #[test]
    fn the_algorithm_keeps_to_the_limit() {
        let ask = |limit: Option<usize>, data_type| {
            let mut matrix = Descriptor::of_matrix(data_type, 64, 64);
            let mut preference = Descriptor::default();
            if let Some(limit) = limit {
                preference.attributes.insert(MAX_WORKSPACE_BYTES, limit.to_ne_bytes().to_vec());
            }
            let (mut result, mut found, none) = (MaybeUninit::uninit(), MaybeUninit::uninit(), ptr::null_mut());
            // SAFETY: descriptors that live, and places for results that do.
            let status = unsafe {
                cublasLtMatmulAlgoGetHeuristic(
                    none,
                    none,
                    Some(&mut matrix),
                    none,
                    none,
                    None,
                    Some(&mut preference),
                    8,
                    Some(&mut result),
                    Some(&mut found),
                )
            };
            assert_eq!(status, SUCCESS);
            // SAFETY: the call succeeded.
            unsafe { (result.assume_init().workspace_bytes, found.assume_init()) }
        };
        assert_eq!(ask(None, SINGLE), (0, 1));
        assert_eq!(ask(Some(143), SINGLE), (0, 1));
        assert_eq!(ask(Some(1 << 25), SINGLE), (144, 1));
        assert_eq!(ask(Some(1 << 25), HALF), (0, 1));
    }

    /// Gradients of filters of a ResNet-50 at batch 64, on an H200.
    #[test]
    fn long_sums_are_cut_into_parts() {
        let bytes = |rows, columns, sum| {
            let (a, d) = (Descriptor::of_matrix(BRAIN, rows, sum), Descriptor::of_matrix(BRAIN, rows, columns));
            parts_bytes(&a, &d, 132)
        };
        assert_eq!(bytes(512, 2048, 3136) + 256, 8_388_880);
        assert_eq!(bytes(256, 64, 200_704) + 256, 4_325_648);
        assert_eq!(bytes(128, 256, 200_704) + 256, 8_651_024);
        assert_eq!(bytes(200_704, 256, 64), 0, "enough tiles for all");
        assert_eq!(bytes(64, 64, 512), 0, "a short sum");
    }
}
