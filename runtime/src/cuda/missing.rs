//! What the cuda device needs and does not find, each in a sentence that says what to install.

use super::arch::Arch;
use std::fmt;
use std::path::PathBuf;

/// The toolkit's release that cubins are made with: a driver must know at least this one.
pub const RELEASE: (u32, u32) = (13, 0);
/// The first driver that does.
const DRIVER: &str = "580";

/// Why there is no cuda device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Missing {
    /// There is no `libcuda`.
    Driver,
    /// There is, and it does not start: what it says.
    DriverFails(String),
    /// It knows CUDA up to this release alone.
    DriverTooOld { supports: (u32, u32) },
    /// There is no GPU, or it is hidden from this process.
    Gpu,
    /// It is older than what CUDA 13 compiles for.
    GpuTooOld { name: String, arch: Arch },
    /// There is no `libnvrtc.so.13`; `looked_in` is a folder that somebody has named, if it was.
    Nvrtc { looked_in: Option<PathBuf> },
    /// There is, and it cannot be used.
    NvrtcFails { path: PathBuf, why: String },
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = RELEASE;
        match self {
            Missing::Driver => write!(
                f,
                "there is no NVIDIA driver (no `libcuda.so.1`): install the driver of your GPU, release {DRIVER} or \
                 later"
            ),
            Missing::DriverFails(why) => {
                write!(f, "the NVIDIA driver does not start ({why}): `nvidia-smi` may say more")
            }
            Missing::DriverTooOld { supports: (a, b) } => write!(
                f,
                "the NVIDIA driver knows CUDA {a}.{b}, and CUDA {major}.{minor} is needed: install driver release \
                 {DRIVER} or later"
            ),
            Missing::Gpu => write!(
                f,
                "the NVIDIA driver finds no GPU: `nvidia-smi` lists those there are, and CUDA_VISIBLE_DEVICES may \
                 hide them"
            ),
            Missing::GpuTooOld { name, arch } => write!(
                f,
                "the GPU ({name}) is of architecture {arch}, and CUDA {major} compiles for {} and later",
                Arch::OLDEST
            ),
            Missing::Nvrtc { looked_in: None } => write!(
                f,
                "there is no NVRTC of CUDA {major} (no `libnvrtc.so.{major}`): install it, for example with `pip \
                 install nvidia-cuda-nvrtc=={major}.{minor}.*`, and set REMC_CUDA_HOME to the folder that holds it"
            ),
            Missing::Nvrtc { looked_in: Some(folder) } => write!(
                f,
                "there is no NVRTC of CUDA {major} (no `libnvrtc.so.{major}`) in `{}`, neither there nor in its `lib` \
                 or `lib64`",
                folder.display()
            ),
            Missing::NvrtcFails { path, why } => {
                write!(f, "NVRTC cannot be used (`{}`): {why}", path.display())
            }
        }
    }
}

impl std::error::Error for Missing {}
