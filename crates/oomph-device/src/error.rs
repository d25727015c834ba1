//! Why there is nobody to ask about cards.

use nvml_wrapper::error::NvmlError;

/// Why the driver cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// `libnvidia-ml.so.1` is not there.
    #[error("there is no NVIDIA driver on this machine")]
    NoLibrary,
    /// The library is there, the kernel's part is not.
    #[error("the NVIDIA driver is not loaded")]
    NotLoaded,
    /// The driver was updated and not loaded again.
    #[error("the NVIDIA driver was updated while an older one is loaded")]
    VersionMismatch,
    /// This user may not ask.
    #[error("no permission to ask the NVIDIA driver")]
    NoPermission,
    /// Anything else.
    #[error("the NVIDIA driver does not answer: {0}")]
    Other(String),
}

impl DeviceError {
    /// The way out.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoLibrary => "inside a container, start it with the NVIDIA runtime (docker run --gpus all)",
            Self::NotLoaded => "load it with: modprobe nvidia",
            Self::VersionMismatch => "restart the machine, or load the driver's kernel modules again",
            Self::NoPermission => "check the permissions of /dev/nvidiactl",
            Self::Other(_) => "see what nvidia-smi says",
        }
    }
}

impl From<NvmlError> for DeviceError {
    fn from(error: NvmlError) -> Self {
        match error {
            NvmlError::LibloadingError(_) | NvmlError::LibraryNotFound => Self::NoLibrary,
            NvmlError::DriverNotLoaded => Self::NotLoaded,
            NvmlError::LibRmVersionMismatch => Self::VersionMismatch,
            NvmlError::NoPermission => Self::NoPermission,
            other => Self::Other(other.to_string()),
        }
    }
}
