//! From an LLVM module to machine code, and from object bytes to functions that can be called.
//!
//! ```text
//! Module ── verify ── Pipeline ── TargetMachine ──► object bytes ──► file, cache
//!                                     │                  │
//!                                     ▼                  ▼
//!                                  assembly        Loaded (ORC LLJIT): name → address
//! ```
//!
//! The object is the same whether it is run now, kept in the cache or written by `--emit object`. Its
//! undefined symbols (the C library's functions, and the runtime's callbacks) are found in the process, or
//! among those given to [`Loaded::new`].
//!
//! The crate's `unsafe` code is here: LLVM's ORC interface is C. Every failure of LLVM comes back as an [`EmitError`]; nothing is printed.
#![allow(unsafe_code)]

use crate::error::EmitError;
use inkwell::OptimizationLevel;
use inkwell::llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use inkwell::llvm_sys::error::{LLVMDisposeErrorMessage, LLVMErrorRef, LLVMGetErrorMessage};
use inkwell::llvm_sys::orc2::lljit::*;
use inkwell::llvm_sys::orc2::*;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine};
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

/// Which passes a module goes through. Selecting and scheduling instructions takes longer than all passes
/// together and grows with the code, so what the passes do *not* multiply is what counts: for loops that
/// are explicit vectors already, `Explicit` compiles about three times as fast as `Full`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Pipeline {
    /// For code that says itself what is a vector and what runs side by side: loops of a constant number
    /// of iterations are unrolled, small arrays become registers, invariants move out of loops.
    #[default]
    Explicit,
    /// Loops and straight-line code become vectors too.
    Vectorise,
    /// LLVM's own `default<O2>`, which also unrolls and interleaves every inner loop.
    Full,
    /// No pass that is not needed, and the fastest selection of instructions: for tests that run very many
    /// programs once.
    Plain,
}

impl Pipeline {
    /// The pipeline in the notation of LLVM's `opt -passes`.
    pub fn passes(self) -> &'static str {
        match self {
            // Unrolling comes before the second `sroa`: only then are the indices of private arrays known.
            // Counters are 64 bits wide and need no `indvars`, which takes as long as all of the others.
            Pipeline::Explicit => {
                "always-inline,function<eager-inv>(\
                 sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,\
                 loop-mssa(loop-rotate,licm),loop(loop-unroll-full),\
                 sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg)"
            }
            Pipeline::Vectorise => {
                "always-inline,function<eager-inv>(\
                 sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,\
                 loop-mssa(loop-rotate,licm),loop(indvars,loop-unroll-full),\
                 sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,loop-mssa(licm),\
                 loop-vectorize<interleave-forced-only>,slp-vectorizer,\
                 early-cse,instcombine<no-verify-fixpoint>,simplifycfg)"
            }
            Pipeline::Full => "default<O2>",
            Pipeline::Plain => "always-inline",
        }
    }

    /// How much the selection of instructions is to optimise.
    fn level(self) -> OptimizationLevel {
        match self {
            Pipeline::Plain => OptimizationLevel::None,
            _ => OptimizationLevel::Default,
        }
    }
}

/// The machine that code is made for.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Host {
    /// LLVM's name of the processor.
    pub cpu: String,
    /// LLVM's feature list, `+avx2,-avx512f,…`.
    pub features: String,
    /// Bits of the widest vector register that is worth using.
    pub vector_bits: u32,
    /// Whether there is a fused multiply-add; see [`crate::Emit::fma`].
    pub fma: bool,
}

impl Host {
    /// Lanes of a type of that many bits in one vector register.
    pub fn lanes(&self, bits: u32) -> u32 {
        (self.vector_bits / bits.max(8)).max(1)
    }
}

/// Bits of the vector registers that there are kinds of code for.
pub const WIDTHS: [u32; 3] = [128, 256, 512];

/// Names the most bits of a vector register that code is made for, one of [`WIDTHS`]: the code that narrower processors
/// get is made and run on a wider one.
pub const VECTOR_BITS: &str = "REMC_VECTOR_BITS";

impl Host {
    /// The plainest processor of this architecture whose vector registers have so many bits.
    pub fn of_width(bits: u32) -> Host {
        let x86 = cfg!(target_arch = "x86_64");
        let cpu = match bits {
            _ if !x86 => "generic",
            512.. => "x86-64-v4",
            256.. => "x86-64-v3",
            _ => "x86-64-v2",
        };
        Host { cpu: cpu.into(), features: String::new(), vector_bits: bits, fma: bits >= 256 || !x86 }
    }
}

/// The processor that this program runs on, or, where [`VECTOR_BITS`] says so, a plainer one.
pub fn host() -> Host {
    static HOST: OnceLock<Host> = OnceLock::new();
    HOST.get_or_init(|| {
        let own = processor();
        let most = std::env::var(VECTOR_BITS).ok().and_then(|bits| bits.parse().ok());
        match WIDTHS.into_iter().find(|w| Some(*w) == most) {
            Some(most) if most < own.vector_bits => Host::of_width(most),
            _ => own,
        }
    })
    .clone()
}

fn processor() -> Host {
    let cpu = TargetMachine::get_host_cpu_name().to_string_lossy().into_owned();
    let features = TargetMachine::get_host_cpu_features().to_string_lossy().into_owned();
    let has = |name: &str| features.split(',').any(|f| f.strip_prefix('+') == Some(name));
    let vector_bits = match () {
        () if has("avx512f") && has("avx512vl") && has("avx512dq") && has("avx512bw") => 512,
        () if has("avx2") => 256,
        () => 128,
    };
    let fma = has("fma") || cfg!(target_arch = "aarch64");
    Host { cpu, features, vector_bits, fma }
}

/// LLVM's description of a machine of this processor's architecture.
///
/// # Errors
/// If LLVM was built without the architecture.
pub fn machine(host: &Host) -> Result<TargetMachine, EmitError> {
    machine_at(host, OptimizationLevel::Default)
}

fn machine_at(host: &Host, level: OptimizationLevel) -> Result<TargetMachine, EmitError> {
    static READY: OnceLock<Result<(), String>> = OnceLock::new();
    READY
        .get_or_init(|| Target::initialize_native(&InitializationConfig::default()))
        .clone()
        .map_err(EmitError::Llvm)?;
    let triple = TargetMachine::get_default_triple();
    let target = Target::from_triple(&triple).map_err(|e| EmitError::Llvm(e.to_string()))?;
    target
        .create_target_machine(&triple, &host.cpu, &host.features, level, RelocMode::PIC, CodeModel::Default)
        .ok_or_else(|| EmitError::Llvm(format!("no target machine for {}", host.cpu)))
}

/// Prepares a module that is still empty: its target, on which some of LLVM's decisions depend.
pub fn set_target(module: &Module<'_>, machine: &TargetMachine) {
    module.set_triple(&machine.get_triple());
    module.set_data_layout(&machine.get_target_data().get_data_layout());
}

/// Verifies a module and runs a pipeline of passes over it; for `--emit` and for looking at what the passes
/// do.
///
/// # Errors
/// If the module is not well formed, which is a bug of whoever built it.
pub fn optimise(module: &Module<'_>, machine: &TargetMachine, pipeline: Pipeline) -> Result<(), EmitError> {
    set_target(module, machine);
    module.verify().map_err(|e| EmitError::Llvm(e.to_string()))?;
    let options = PassBuilderOptions::create();
    options.set_loop_vectorization(true);
    options.set_loop_slp_vectorization(true);
    options.set_loop_unrolling(true);
    options.set_loop_interleaving(true);
    module.run_passes(pipeline.passes(), machine, options).map_err(|e| EmitError::Llvm(e.to_string()))
}

/// Optimises a module and gives it as the bytes of an object file. The module is used up: what it
/// contains afterwards is unspecified.
///
/// # Errors
/// If the module is not well formed, or LLVM cannot compile it.
pub fn object(module: &Module<'_>, host: &Host, pipeline: Pipeline) -> Result<Vec<u8>, EmitError> {
    emit(module, host, pipeline, FileType::Object)
}

/// Optimises a module and gives it as assembly text. The module is used up.
///
/// # Errors
/// As [`object`].
pub fn assembly(module: &Module<'_>, host: &Host, pipeline: Pipeline) -> Result<String, EmitError> {
    Ok(String::from_utf8_lossy(&emit(module, host, pipeline, FileType::Assembly)?).into_owned())
}

fn emit(module: &Module<'_>, host: &Host, pipeline: Pipeline, kind: FileType) -> Result<Vec<u8>, EmitError> {
    let machine = machine_at(host, pipeline.level())?;
    optimise(module, &machine, pipeline)?;
    let buffer = machine.write_to_memory_buffer(module, kind).map_err(|e| EmitError::Llvm(e.to_string()))?;
    let bytes = buffer.as_slice();
    // LLVM ends the text with a zero that belongs to its buffer, not to the file.
    let end = if kind == FileType::Assembly {
        bytes.iter().rposition(|b| *b != 0).map_or(0, |i| i + 1)
    } else {
        bytes.len()
    };
    Ok(bytes[..end].to_vec())
}

/// Machine code in the memory of this process. Dropping it frees the code: no address that it gave may be
/// called afterwards.
pub struct Loaded {
    jit: LLVMOrcLLJITRef,
    /// What ORC reported; it keeps a pointer to this, so this lives longer than `jit`.
    reports: Box<Mutex<String>>,
}

// SAFETY: an LLJIT belongs to no thread, and its session locks itself for every operation that is used
// here (lookup), which LLVM documents as callable from any thread. `reports` is behind a mutex.
unsafe impl Send for Loaded {}
// SAFETY: as above; `&Loaded` gives only `lookup`.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// Loads objects that refer to none of each other. `symbols` are names and addresses of what the code may refer to
    /// beside the process's own symbols; they come first.
    ///
    /// An object is linked when a name of it is looked up for the first time. One that comes from a file must have been
    /// checked against its hash: its code is trusted.
    ///
    /// # Errors
    /// If the bytes are no object for this machine, or a name contains a zero byte or is given twice.
    pub fn new<O: AsRef<[u8]>>(objects: &[O], symbols: &[(&str, usize)]) -> Result<Loaded, EmitError> {
        Target::initialize_native(&InitializationConfig::default()).map_err(EmitError::Llvm)?;
        let mut jit: LLVMOrcLLJITRef = ptr::null_mut();
        // SAFETY: a null builder asks for the defaults; `jit` is a place for the result.
        check(unsafe { LLVMOrcCreateLLJIT(&mut jit, ptr::null_mut()) })?;
        // From here on `loaded` disposes of the LLJIT, on errors too.
        let loaded = Loaded { jit, reports: Box::default() };
        // SAFETY: the session belongs to the live LLJIT. The context pointer is to the heap allocation of
        // `reports`, which does not move and is freed after the LLJIT (see `drop`); `report` takes it for
        // just that.
        unsafe {
            let session = LLVMOrcLLJITGetExecutionSession(jit);
            let context = ptr::from_ref::<Mutex<String>>(&loaded.reports).cast_mut().cast();
            LLVMOrcExecutionSessionSetErrorReporter(session, report, context);
        }
        loaded.define(symbols)?;
        loaded.search_process()?;
        for object in objects {
            loaded.add(object.as_ref())?;
        }
        Ok(loaded)
    }

    /// The address of a function or variable of the object; it is valid as long as `self`.
    ///
    /// # Errors
    /// If there is no such symbol, or one that the object needs cannot be found.
    pub fn lookup(&self, name: &str) -> Result<usize, EmitError> {
        let c_name = c_string(name)?;
        let mut address: LLVMOrcExecutorAddress = 0;
        // SAFETY: the LLJIT is live, the name is a C string, and `address` is a place for the result.
        let result = check(unsafe { LLVMOrcLLJITLookup(self.jit, &mut address, c_name.as_ptr()) });
        result.map_err(|e| {
            let reports = std::mem::take(&mut *self.reports.lock().unwrap_or_else(PoisonError::into_inner));
            if reports.is_empty() { e } else { EmitError::llvm(format!("{e}: {reports}")) }
        })?;
        usize::try_from(address).map_err(|_| EmitError::Llvm(format!("address of {name}")))
    }

    fn define(&self, symbols: &[(&str, usize)]) -> Result<(), EmitError> {
        if symbols.is_empty() {
            return Ok(());
        }
        for (i, (name, _)) in symbols.iter().enumerate() {
            if symbols[..i].iter().any(|(n, _)| n == name) {
                return Err(EmitError::Llvm(format!("symbol {name} has two addresses")));
            }
        }
        let names = symbols.iter().map(|(n, _)| c_string(n)).collect::<Result<Vec<_>, _>>()?;
        let flags = LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8
            | LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsCallable as u8;
        let mut pairs: Vec<LLVMOrcCSymbolMapPair> = names
            .iter()
            .zip(symbols)
            .map(|(name, (_, address))| LLVMOrcCSymbolMapPair {
                // SAFETY: the LLJIT is live and the name is a C string. The reference to the interned
                // name that this returns is handed over to LLVMOrcAbsoluteSymbols below.
                Name: unsafe { LLVMOrcLLJITMangleAndIntern(self.jit, name.as_ptr()) },
                Sym: LLVMJITEvaluatedSymbol {
                    Address: *address as LLVMOrcExecutorAddress,
                    Flags: LLVMJITSymbolFlags { GenericFlags: flags, TargetFlags: 0 },
                },
            })
            .collect();
        // SAFETY: `pairs` has that many initialised elements and is read during the call only; the
        // library is the live LLJIT's, and defining takes the unit over where it succeeds. Where it fails
        // the unit stays ours and is disposed of.
        unsafe {
            let unit = LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len());
            let library = LLVMOrcLLJITGetMainJITDylib(self.jit);
            check(LLVMOrcJITDylibDefine(library, unit))
                .inspect_err(|_| LLVMOrcDisposeMaterializationUnit(unit))
        }
    }

    fn search_process(&self) -> Result<(), EmitError> {
        let mut generator: LLVMOrcDefinitionGeneratorRef = ptr::null_mut();
        // SAFETY: `generator` is a place for the result; no filter is given. The generator, if made, is
        // handed over to the library of the live LLJIT.
        unsafe {
            let prefix = LLVMOrcLLJITGetGlobalPrefix(self.jit);
            check(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                &mut generator,
                prefix,
                None,
                ptr::null_mut(),
            ))?;
            LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(self.jit), generator);
        }
        Ok(())
    }

    fn add(&self, object: &[u8]) -> Result<(), EmitError> {
        // SAFETY: the buffer is a copy of the slice, named by a C string, and is handed over to the LLJIT,
        // which disposes of it in every case.
        unsafe {
            let buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
                object.as_ptr().cast(),
                object.len(),
                c"kernels".as_ptr(),
            );
            check(LLVMOrcLLJITAddObjectFile(self.jit, LLVMOrcLLJITGetMainJITDylib(self.jit), buffer))
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: `jit` came from LLVMOrcCreateLLJIT and is disposed of once, here. `reports` is freed
        // after this function, so ORC's pointer to it is valid during the call. That no code is running is
        // the duty of whoever made an address callable.
        let _ = check(unsafe { LLVMOrcDisposeLLJIT(self.jit) });
    }
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Loaded")
    }
}

/// Keeps what ORC would otherwise print.
extern "C" fn report(context: *mut c_void, error: LLVMErrorRef) {
    let Err(e) = check(error) else { return };
    // SAFETY: the pointer that was registered with this function, to a live `Mutex<String>`.
    let reports = unsafe { &*context.cast::<Mutex<String>>() };
    let mut reports = reports.lock().unwrap_or_else(PoisonError::into_inner);
    if !reports.is_empty() {
        reports.push_str("; ");
    }
    reports.push_str(&e.to_string());
}

/// Takes an LLVM error and gives its text; a null pointer is success.
fn check(error: LLVMErrorRef) -> Result<(), EmitError> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: a pointer that is not null is an error that LLVM handed over; taking the message consumes
    // it. The message is a C string that is copied before it is given back.
    unsafe {
        let message = LLVMGetErrorMessage(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeErrorMessage(message);
        Err(EmitError::llvm(text))
    }
}

fn c_string(name: &str) -> Result<CString, EmitError> {
    CString::new(name).map_err(|_| EmitError::Llvm(format!("symbol {name:?} contains a zero byte")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use inkwell::context::Context;
    use inkwell::memory_buffer::MemoryBuffer;

    extern "C" fn seven() -> i64 {
        7
    }

    /// `f(x) = x + callback()`
    fn caller<'c>(context: &'c Context, callback: &str) -> Module<'c> {
        let module = context.create_module("m");
        let i64t = context.i64_type();
        let callback = module.add_function(callback, i64t.fn_type(&[], false), None);
        let f = module.add_function("f", i64t.fn_type(&[i64t.into()], false), None);
        let b = context.create_builder();
        b.position_at_end(context.append_basic_block(f, ""));
        let called = b.build_direct_call(callback, &[], "").unwrap().try_as_basic_value();
        let inkwell::values::ValueKind::Basic(v) = called else { panic!("no value") };
        let sum =
            b.build_int_add(f.get_nth_param(0).unwrap().into_int_value(), v.into_int_value(), "").unwrap();
        b.build_return(Some(&sum)).unwrap();
        module
    }

    #[test]
    fn code_calls_back_into_the_runtime() {
        let context = Context::create();
        let object = object(&caller(&context, "remc_seven"), &host(), Pipeline::default()).unwrap();
        let loaded = Loaded::new(&[&object], &[("remc_seven", seven as *const () as usize)]).unwrap();
        let address = loaded.lookup("f").unwrap();
        // SAFETY: `f` was built above with this signature, and `loaded` is alive.
        let f: extern "C" fn(i64) -> i64 = unsafe { std::mem::transmute(address) };
        assert_eq!(f(35), 42);
        assert!(loaded.lookup("g").is_err());
    }

    #[test]
    fn failures_are_values() {
        let context = Context::create();
        let object = object(&caller(&context, "remc_nowhere"), &host(), Pipeline::default()).unwrap();
        let loaded = Loaded::new(&[&object], &[]).unwrap();
        let error = loaded.lookup("f").unwrap_err().to_string();
        assert!(error.contains("remc_nowhere"), "{error}");
        assert!(Loaded::new(&[b"no object"], &[]).and_then(|l| l.lookup("f")).is_err());
        assert!(Loaded::new(&[&object], &[("a", 1), ("a", 2)]).is_err());
        assert!(Loaded::new(&[&object], &[("a\0b", 1)]).is_err());
    }

    /// A loop over `n` that adds to four vectors in an array, by an inner loop over the array.
    const TILE: &str = "
        define void @tile(ptr noalias %out, ptr noalias %a, i64 %n) {
        entry:
          %acc = alloca [4 x <8 x float>]
          call void @llvm.memset.p0.i64(ptr %acc, i8 0, i64 128, i1 false)
          br label %outer
        outer:
          %i = phi i64 [0, %entry], [%i1, %next]
          br label %inner
        inner:
          %k = phi i64 [0, %outer], [%k1, %inner]
          %at = mul i64 %i, 4
          %row = add i64 %at, %k
          %pa = getelementptr <8 x float>, ptr %a, i64 %row
          %x = load <8 x float>, ptr %pa
          %ps = getelementptr [4 x <8 x float>], ptr %acc, i64 0, i64 %k
          %s = load <8 x float>, ptr %ps
          %t = fadd <8 x float> %s, %x
          store <8 x float> %t, ptr %ps
          %k1 = add i64 %k, 1
          %again = icmp slt i64 %k1, 4
          br i1 %again, label %inner, label %next
        next:
          %i1 = add i64 %i, 1
          %more = icmp slt i64 %i1, %n
          br i1 %more, label %outer, label %done
        done:
          %v = load [4 x <8 x float>], ptr %acc
          store [4 x <8 x float>] %v, ptr %out
          ret void
        }
        declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\0";

    #[test]
    fn private_arrays_become_registers() {
        for pipeline in [Pipeline::Explicit, Pipeline::Vectorise, Pipeline::Full] {
            let context = Context::create();
            let text = MemoryBuffer::create_from_memory_range_copy(TILE.as_bytes(), "tile");
            let module = context.create_module_from_ir(text).unwrap();
            optimise(&module, &machine(&host()).unwrap(), pipeline).unwrap();
            let text = module.print_to_string().to_string();
            assert!(!text.contains("alloca"), "{pipeline:?}\n{text}");
        }
    }

    #[test]
    fn assembly_is_text() {
        let context = Context::create();
        let text = assembly(&caller(&context, "remc_seven"), &host(), Pipeline::default()).unwrap();
        assert!(text.contains("remc_seven") && text.ends_with('\n'), "{text}");
    }
}
