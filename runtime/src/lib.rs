//! What runs beside compiled code and the interpreter: the devices, and data in and out of programs.
//!
//! | file | holds |
//! | --- | --- |
//! | [`cpu`] | the cpu device: threads, memory, the calls that compiled code makes |
//! | [`cuda`] | the cuda device: NVRTC, the GPU's memory, launches; found when the program runs, or not |
//! | [`heap`] | memory of a device, kept for reuse |
//! | [`allocator`] | the process's memory, counted and limited |
//! | [`budget`] | how much memory data may take |
//! | [`bytes`] | arrays as the devices' memory has them |
//! | [`cache`] | compiled code on disk |
//! | [`private`] | folders that nobody else can write to |
//! | [`plan`] | the host plan, executed for devices that compile kernels alone; kernels interpreted |
//! | [`stop`] | why a run stopped |
//! | [`text`] | a value as re-readable Remora |
//! | [`table`] | values as aligned tables, for people |
//! | [`display`] | values as a prompt shows them |
//! | [`library`] | programs printed as CUDA, compiled to a library |
//! | [`literal`] | a literal read against the type that an entry wants |
//! | [`numbers`] | a literal of numbers alone, without a tree |
//! | [`npy`] | NumPy's file format, read and written |
//! | [`data`] | all formats of data files |
//! | [`stream`] | streams, read ahead and written as they come |
//! | [`files`] | files replaced whole or not at all |
//! | [`temporary`] | files and folders that are gone in the end, whatever ends the process |
//!
//! `unsafe` code is in [`cpu`], [`cuda`], [`library`], [`allocator`] and [`bytes`] alone, but for one question in
//! [`temporary`].

pub mod allocator;
pub mod budget;
pub mod bytes;
pub mod cache;
pub mod cpu;
pub mod cuda;
pub mod data;
pub mod display;
pub mod files;
pub mod heap;
pub mod library;
pub mod literal;
pub mod npy;
pub mod numbers;
pub mod plan;
pub mod private;
pub mod stop;
pub mod stream;
pub mod table;
pub mod temporary;
pub mod text;
