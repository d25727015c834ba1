//! Parts of a card: green contexts and multicast objects. None is modelled. Programs find the functions, as PyTorch
//! insists on some of them, and are told that this card does not support them.

use std::ffi::c_int;

use crate::count;
use crate::fault::Fault;

#[unsafe(no_mangle)]
extern "C" fn cuCtxFromGreenCtx() -> c_int {
    count::unmodelled!("cuCtxFromGreenCtx");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuDevResourceGenerateDesc() -> c_int {
    count::unmodelled!("cuDevResourceGenerateDesc");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuDevSmResourceSplitByCount() -> c_int {
    count::unmodelled!("cuDevSmResourceSplitByCount");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuDeviceGetDevResource() -> c_int {
    count::unmodelled!("cuDeviceGetDevResource");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuGreenCtxCreate() -> c_int {
    count::unmodelled!("cuGreenCtxCreate");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuGreenCtxDestroy() -> c_int {
    count::unmodelled!("cuGreenCtxDestroy");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuGreenCtxStreamCreate() -> c_int {
    count::unmodelled!("cuGreenCtxStreamCreate");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuMulticastAddDevice() -> c_int {
    count::unmodelled!("cuMulticastAddDevice");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuMulticastBindMem() -> c_int {
    count::unmodelled!("cuMulticastBindMem");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuMulticastBindMem_v2() -> c_int {
    count::unmodelled!("cuMulticastBindMem_v2");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuMulticastCreate() -> c_int {
    count::unmodelled!("cuMulticastCreate");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuMulticastGetGranularity() -> c_int {
    count::unmodelled!("cuMulticastGetGranularity");
    Fault::NOT_SUPPORTED.0
}

#[unsafe(no_mangle)]
extern "C" fn cuMulticastUnbind() -> c_int {
    count::unmodelled!("cuMulticastUnbind");
    Fault::NOT_SUPPORTED.0
}
