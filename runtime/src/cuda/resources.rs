//! What a kernel takes of a GPU, as the assembler reports it.
//!
//! Registers decide how many threads a multiprocessor holds at a time; what does not fit into them is
//! *spilled* to memory, at every use. Shared memory is what is known when the kernel is compiled; a launch
//! may ask for more.

use super::arch::Arch;

/// What one kernel takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resources {
    pub kernel: String,
    pub arch: Arch,
    /// For each thread.
    pub registers: u32,
    /// Bytes that a thread writes to memory and reads again, by what the text of its code says.
    pub spill_stores: u32,
    pub spill_loads: u32,
    /// Bytes of a thread's stack: arrays that are addressed by variables, spilled registers.
    pub stack: u32,
    pub barriers: u32,
    /// Bytes for each block, of constant size.
    pub shared: u32,
}

impl Resources {
    /// Reads the reports of a log, written by `ptxas -v` or by NVRTC under the same option. What is not
    /// understood is passed over; what a kernel has none of is not mentioned there, and 0 here.
    pub fn of_log(log: &str) -> Vec<Resources> {
        let mut all: Vec<Resources> = Vec::new();
        for line in log.lines() {
            if let Some((_, entry)) = line.split_once("Compiling entry function '") {
                let Some((kernel, arch)) = entry.split_once("' for 'sm_") else { continue };
                let digits: String = arch.chars().take_while(char::is_ascii_digit).collect();
                all.push(Resources {
                    kernel: kernel.to_owned(),
                    arch: Arch(digits.parse().unwrap_or(0)),
                    registers: 0,
                    spill_stores: 0,
                    spill_loads: 0,
                    stack: 0,
                    barriers: 0,
                    shared: 0,
                });
            }
            let Some(last) = all.last_mut() else { continue };
            if line.contains("bytes stack frame") {
                last.stack = before(line, "bytes stack frame");
                last.spill_stores = before(line, "bytes spill stores");
                last.spill_loads = before(line, "bytes spill loads");
            } else if line.contains("Used ") {
                last.registers = before(line, "registers");
                last.barriers = before(line, "barriers");
                last.shared = before(line, "bytes smem");
            }
        }
        all
    }
}

/// The number in front of some words, or 0.
fn before(line: &str, words: &str) -> u32 {
    let Some((front, _)) = line.split_once(words) else { return 0 };
    front.split_whitespace().last().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read() {
        let log = "warning: something\n\
            ptxas info    : 0 bytes gmem\n\
            ptxas info    : Compiling entry function 'a' for 'sm_90a'\n\
            ptxas info    : Function properties for a\n\
            ptxas         .     6080 bytes stack frame, 7160 bytes spill stores, 7440 bytes spill loads\n\
            ptxas info    : Used 24 registers, used 1 barriers, 6080 bytes cumulative stack size, 1024 bytes smem\n\
            ptxas info    : Compile time = 2.1 ms\n\
            ptxas info    : Compiling entry function 'b' for 'sm_75'\n\
            ptxas info    : Function properties for b\n\
            \u{20}   0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n\
            ptxas info    : Used 8 registers, 384 bytes cmem[0]\n";
        let [a, b] = &Resources::of_log(log)[..] else { panic!() };
        assert_eq!((a.kernel.as_str(), a.arch, a.registers, a.barriers), ("a", Arch(90), 24, 1));
        assert_eq!((a.stack, a.spill_stores, a.spill_loads, a.shared), (6080, 7160, 7440, 1024));
        assert_eq!((b.kernel.as_str(), b.arch, b.registers, b.shared, b.barriers), ("b", Arch(75), 8, 0, 0));
        assert_eq!(Resources::of_log("Used 3 registers\nCompiling entry function 'x"), []);
    }
}
