//! The device over a driver that is none: its memory is the process's, its kernels are Rust.

use super::driver::{Driver, Outcome};
use super::*;
use crate::stop::{Failure, Stopped};
use remc_base::{BaseTy, Scalar, Trap, Value};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex};

/// Memory by address, and what was called.
#[derive(Default)]
struct Fake {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    memory: BTreeMap<u64, Vec<u8>>,
    next: u64,
    calls: Vec<String>,
}

/// How much there is.
const MEMORY: usize = 100 << 20;

impl Fake {
    fn called(&self) -> Vec<String> {
        std::mem::take(&mut self.state.lock().unwrap().calls)
    }

    fn blocks(&self) -> usize {
        self.state.lock().unwrap().memory.len()
    }
}

impl State {
    fn at(&mut self, address: u64, bytes: usize) -> &mut [u8] {
        let (start, block) = self.memory.range_mut(..=address).next_back().expect("a block");
        let from = (address - start) as usize;
        &mut block[from..from + bytes]
    }
}

impl Driver for Fake {
    fn allocate(&self, bytes: usize) -> Option<u64> {
        let mut state = self.state.lock().unwrap();
        if state.memory.values().map(Vec::len).sum::<usize>() + bytes > MEMORY {
            return None;
        }
        let address = state.next + 4096;
        state.next = address + bytes as u64;
        state.memory.insert(address, vec![0xaa; bytes]);
        Some(address)
    }

    unsafe fn release(&self, address: u64) {
        assert!(self.state.lock().unwrap().memory.remove(&address).is_some());
    }

    unsafe fn write(&self, to: u64, from: &[u8]) -> Outcome<()> {
        self.state.lock().unwrap().at(to, from.len()).copy_from_slice(from);
        Ok(())
    }

    unsafe fn read(&self, from: u64, to: &mut [u8]) -> Outcome<()> {
        let mut state = self.state.lock().unwrap();
        to.copy_from_slice(state.at(from, to.len()));
        state.calls.push(format!("read {}", to.len()));
        Ok(())
    }

    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Outcome<()> {
        self.state.lock().unwrap().at(to, bytes).fill(byte);
        Ok(())
    }

    fn load(&self, _: &[u8]) -> Outcome<u64> {
        self.state.lock().unwrap().calls.push("load".into());
        Ok(1)
    }

    unsafe fn unload(&self, module: u64) {
        self.state.lock().unwrap().calls.push(format!("unload {module}"));
    }

    unsafe fn function(&self, _: u64, name: &CStr) -> Outcome<u64> {
        match name.to_bytes() {
            b"fail" => Ok(7),
            _ => Err(DriverError { call: "cuModuleGetFunction", why: "named symbol not found".into() }),
        }
    }

    unsafe fn allow_shared(&self, function: u64, bytes: u32) -> Outcome<()> {
        self.state.lock().unwrap().calls.push(format!("allow {function} {bytes}"));
        Ok(())
    }

    /// Writes the second parameter as the block of a failure to where the first one says.
    unsafe fn launch(&self, function: u64, extent: Extent, parameters: &[u64]) -> Outcome<()> {
        let mut state = self.state.lock().unwrap();
        state.calls.push(format!("launch {function} {:?} {}", extent.grid, extent.shared));
        let slot = state.at(parameters[0], error::BYTES);
        slot.fill(0);
        slot[..8].copy_from_slice(&parameters[1].to_le_bytes());
        (slot[8], slot[16], slot[24]) = (3, 1, 42);
        Ok(())
    }

    fn wait(&self) -> Outcome<()> {
        Ok(())
    }
}

fn device(limit: Option<u64>) -> (Arc<Fake>, Device) {
    let driver = Arc::new(Fake::default());
    let gpu = Gpu {
        name: "none".into(),
        arch: Arch(90),
        multiprocessors: 1,
        threads_per_multiprocessor: 2048,
        shared_per_block: 99 << 10,
        cache_bytes: 1 << 20,
        memory: MEMORY as u64,
        free: MEMORY as u64,
        driver: (13, 0),
    };
    let device = Device::new(driver.clone(), gpu, limit).unwrap();
    (driver, device)
}

/// The smallest file that is a whole one: a header without tables.
fn cubin() -> Vec<u8> {
    let mut bytes = b"\x7fELF\x02\x01".to_vec();
    bytes.resize(64, 0);
    bytes
}

#[test]
fn values_there_and_back() {
    let (driver, device) = device(None);
    for ty in BaseTy::ALL {
        let n = |i: i64| Scalar::from_bits64(ty, i % 2).expect("a small number");
        let value = Value::of_scalars(ty, vec![2, 3], (0..6).map(n));
        let buffer = device.upload(&value).unwrap();
        assert_eq!(device.download(&buffer, ty, &[2, 3]).unwrap(), Some(value));
        assert_eq!(device.download(&buffer, ty, &[7]).unwrap(), None, "more than there is");
        assert_eq!(device.download(&buffer, ty, &[usize::MAX, 2]).unwrap(), None);
        assert_eq!(device.load(&buffer, ty, 3).unwrap(), Some(n(1)));
        assert_eq!(device.load(&buffer, ty, 6).unwrap(), None);
        assert!(device.store(&buffer, 3, n(0)).unwrap() && !device.store(&buffer, 6, n(0)).unwrap());
        assert_eq!(device.load(&buffer, ty, 3).unwrap(), Some(n(0)));
        assert_eq!(device.load(&buffer, ty, usize::MAX).unwrap(), None);
    }
    let empty = device.upload(&Value::of_scalars(BaseTy::F32, vec![3, 0], [])).unwrap();
    assert_eq!(
        device.download(&empty, BaseTy::F32, &[usize::MAX, 0]).unwrap().map(|v| v.data.len()),
        Some(0)
    );
    drop(empty);
    drop(device);
    assert_eq!(driver.blocks(), 0, "all memory is given back");
}

#[test]
fn memory_is_kept_and_bounded() {
    let (driver, device) = device(Some(64 << 20));
    for bytes in [0, 1, 256, 257, 5000, 1 << 20, (5 << 20) + 1] {
        let address = device.buffer(bytes).unwrap().address();
        assert_eq!(device.buffer(bytes).unwrap().address(), address);
    }
    assert!(device.memory().reused >= 7);
    assert_eq!(device.memory().peak, (5 << 20) + 1);
    let held = device.buffer(60 << 20).unwrap();
    let stopped = device.array(Some(4), BaseTy::F64, &[3, 1 << 20]).err().unwrap();
    let trap = Trap::TooLarge { rank: 2, by: DEVICE.into(), most: (4 << 20) / 8 };
    assert_eq!(stopped, Stopped::TooLarge { trap, prov: Some(4), values: vec![3, 1 << 20] });
    drop(held);
    for shape in [&[i64::MAX, i64::MAX][..], &[-1], &[-1, 2]] {
        assert!(device.array(None, BaseTy::I8, shape).is_err(), "{shape:?}");
    }
    assert!(device.array(None, BaseTy::I8, &[i64::MAX, 0, i64::MAX]).is_ok());
    drop(device);
    assert_eq!(driver.blocks(), 0);
}

#[test]
fn more_than_the_gpu_has() {
    let (_, device) = device(Some(u64::MAX));
    drop(device.buffer(60 << 20).unwrap());
    assert!(device.buffer(80 << 20).is_ok(), "what was kept goes first");
    assert!(device.buffer(101 << 20).is_err());
}

#[test]
fn launches_and_their_failures() {
    let (driver, device) = device(None);
    assert!(device.module(b"no cubin").is_err());
    assert!(device.module(&cubin()[..40]).is_err());
    let mut table = cubin();
    table[0x28] = 64;
    (table[0x3a], table[0x3c]) = (64, 1);
    assert!(device.module(&table).is_err(), "a table behind its end");
    let module = device.module(&cubin()).unwrap();
    let kernel = module.kernel("fail").unwrap();
    let missing = module.kernel("other").err().unwrap();
    assert!(missing.to_string().contains("named symbol not found (the kernel \"other\")"), "{missing}");
    assert!(module.kernel("nu\0l").is_err());
    drop(module);
    assert_eq!(driver.called(), ["load"]);
    assert_eq!(device.failure().unwrap(), None);
    assert_eq!(driver.called(), ["read 8"], "that is all it costs");
    for shared in [0, 50_000, 60_000, 50_000] {
        let extent = Extent { grid: [5, 1, 1], block: [32, 1, 1], shared };
        // SAFETY: this driver's kernel takes an error slot and a number.
        unsafe { device.launch(&kernel, extent, &[device.error_slot(), 12]) }.unwrap();
    }
    let launch = |shared: u32| format!("launch 7 [5, 1, 1] {shared}");
    let allow = |shared: u32| format!("allow 7 {shared}");
    assert_eq!(
        driver.called(),
        [launch(0), allow(50_000), launch(50_000), allow(60_000), launch(60_000), launch(50_000)]
    );
    let failure = device.failure().unwrap();
    assert_eq!(failure, Some(Failure { block: 12, trap: 3, prov: 0, values: vec![42] }));
    device.clear_error().unwrap();
    assert_eq!(device.failure().unwrap(), None);
    driver.called();
    drop(kernel);
    assert_eq!(driver.called(), ["unload 1"]);
}

/// On a machine without a GPU this says why; with one, a kernel runs.
#[test]
fn the_gpu_of_this_machine() {
    let cuda = match Cuda::new(&CudaOptions::default()) {
        Ok(cuda) => cuda,
        Err(missing) => {
            let sentence = missing.to_string();
            assert!(!sentence.is_empty() && !sentence.contains('\n'), "{sentence}");
            eprintln!("left out: {sentence}");
            return;
        }
    };
    let text = "
extern \"C\" __global__ void scale(long long n, bool negate, float f, const float *x, float *y) {
  long long i = blockIdx.x * (long long) blockDim.x + threadIdx.x;
  if (i < n) y[i] = negate ? -f * x[i] : f * x[i];
}
";
    let cubin = cuda.kernels.compiler.compile(text, "scale.cu", cuda.device.gpu.arch).unwrap();
    let kernel = cuda.device.module(&cubin.bytes).unwrap().kernel("scale").unwrap();
    let input = Value::of_scalars(BaseTy::F32, vec![1000], (0..1000).map(|i| Scalar::F32(i as f32)));
    let x = cuda.device.upload(&input).unwrap();
    let y = cuda.device.array(None, BaseTy::F32, &[1000]).unwrap();
    let slot = |s: Scalar| s.to_bits64() as u64;
    let parameters =
        [slot(Scalar::I64(1000)), slot(Scalar::Bool(true)), slot(Scalar::F32(2.0)), x.address(), y.address()];
    let extent = Extent { grid: [4, 1, 1], block: [256, 1, 1], shared: 0 };
    // SAFETY: these are the kernel's parameters; it touches the first 1000 elements of both buffers.
    unsafe { cuda.device.launch(&kernel, extent, &parameters) }.unwrap();
    let found = cuda.device.download(&y, BaseTy::F32, &[1000]).unwrap().unwrap();
    let wanted = Value::of_scalars(BaseTy::F32, vec![1000], (0..1000).map(|i| Scalar::F32(-2.0 * i as f32)));
    assert_eq!(found, wanted);
    assert_eq!(cuda.device.failure().unwrap(), None);
}

#[test]
fn sentences() {
    let all = [
        Missing::Driver,
        Missing::DriverFails("unknown error".into()),
        Missing::DriverTooOld { supports: (12, 4) },
        Missing::Gpu,
        Missing::GpuTooOld { name: "Tesla V100".into(), arch: Arch(70) },
        Missing::Nvrtc { looked_in: None },
        Missing::Nvrtc { looked_in: Some("/opt/cuda".into()) },
        Missing::NvrtcFails { path: "/opt/libnvrtc.so.13".into(), why: "file too short".into() },
    ];
    let texts: Vec<String> = all.iter().map(|m| m.to_string()).collect();
    are_sentences(&texts);
    assert!(texts[0].contains("libcuda.so.1") && texts[0].contains("580"));
    assert!(texts[2].contains("CUDA 12.4") && texts[2].contains("13.0"));
    assert!(texts[4].contains("sm_70") && texts[4].contains("sm_75"));
    assert!(
        texts[5].contains("pip install nvidia-cuda-nvrtc==13.0.*") && texts[5].contains("REMC_CUDA_HOME")
    );
}

/// Each is one line that begins in lower case, to follow a colon, and ends without a full stop.
fn are_sentences(texts: &[String]) {
    for text in texts {
        assert!(!text.contains('\n') && !text.contains("  ") && !text.ends_with('.'), "{text}");
    }
}
