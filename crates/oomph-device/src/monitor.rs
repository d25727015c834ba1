//! The open connection to the driver.

use std::ffi::OsStr;
use std::path::Path;

use nvml_wrapper::Nvml;
use nvml_wrapper::cuda_driver_version_major;
use nvml_wrapper::cuda_driver_version_minor;
use serde::{Deserialize, Serialize};

use crate::card::Card;
use crate::error::DeviceError;
use crate::look::{look, lost};
use crate::memory::SystemMemory;

/// The library as the driver installs it (without a version it comes with developers' packages only), and where Windows
/// puts it.
const LIBRARIES: [&str; 2] = ["libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"];

/// Which driver answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverVersion {
    /// Its own version, as `580.95.05`.
    pub driver: Option<String>,
    /// The newest version of CUDA that it serves, as `13.0`.
    pub cuda: Option<String>,
}

/// Asks the driver about its cards.
#[derive(Debug)]
pub struct Monitor {
    nvml: Nvml,
}

impl Monitor {
    /// Connects to the driver.
    ///
    /// # Errors
    /// Where there is no driver, or none that answers.
    pub fn open() -> Result<Self, DeviceError> {
        let open = |path: &str| Nvml::builder().lib_path(OsStr::new(path)).init();
        let [named, elsewhere] = LIBRARIES;
        let nvml = match open(named) {
            Err(_) if Path::new(elsewhere).exists() => open(elsewhere)?,
            answer => answer?,
        };
        Ok(Self { nvml })
    }

    /// Which driver it is.
    #[must_use]
    pub fn version(&self) -> DriverVersion {
        let cuda = |version| format!("{}.{}", cuda_driver_version_major(version), cuda_driver_version_minor(version));
        DriverVersion {
            driver: self.nvml.sys_driver_version().ok(),
            cuda: self.nvml.sys_cuda_driver_version().ok().map(cuda),
        }
    }

    /// Every card as it is now, by number; instances of a divided card follow it.
    ///
    /// # Errors
    /// If the driver has stopped to answer.
    pub fn cards(&self) -> Result<Vec<Card>, DeviceError> {
        let count = self.nvml.device_count()?;
        let system = SystemMemory::now();
        let card = |index| match self.nvml.device_by_index(index) {
            Ok(device) => look(index, &device, system),
            Err(problem) => vec![lost(index, &problem)],
        };
        Ok((0..count).flat_map(card).collect())
    }
}
