//! Private memory that each lane has for itself.

use crate::lanes::{agree, args, program_of, sizes};
use crate::runtime::processors;
use remc_base::BaseTy;
use remc_llvm::Pipeline;

/// Each lane keeps four elements of its column, and takes them out again `by` another index.
fn columns(by: &str) -> String {
    format!(
        "(for (lanes 16) %i (upto 0 %n) ()
           (alloc (%four private TY 2 2) p0) (let (%x TY) (load %xs %i) p0)
           (store %four (0 0) %x p0) (store %four (1 1) %x p0)
           (for seq %k (upto 0 2) () (let (%a TY) (load %as %k %i) p0) (store %four (%k 0) %a p0)
             (let (%b TY) (op + %a %x) p0) (store %four (1 %k) %b p0) (next) p0)
           {by}
           (let (%u TY) (load %four 0 0) p0) (let (%v TY) (op - %y %u) p0)
           (store %ys (%i) %v p0) (next) p0)"
    )
}

/// The same in all lanes: a constant, one of a loop; and one that differs, of data; and one that lies far outside in the
/// lanes that have no iteration; and one of too many elements to look at all.
const INDICES: [&str; 5] = [
    "(let (%y TY) (load %four 1 1) p0)",
    "(for seq %l (upto 0 2) (((%s TY) (%y TY) %x)) (let (%e TY) (load %four %l 1) p0)
       (let (%f TY) (load %four 1 %l) p0) (let (%g TY) (op min2 %e %f) p0) (let (%h TY) (op max2 %s %g) p0)
       (next %h) p0)",
    "(let (%p int) (load %is %i) p0) (let (%q int) (op min2 %p 1) p0)
     (let (%d TY) (load %four %q 0) p0) (store %four (%q %q) %d p0) (let (%y TY) (load %four 1 %q) p0)",
    "(let (%p int) (op - %i %n) p0) (let (%o int) (op + %p 1) p0) (let (%q int) (op max2 %o 0) p0)
     (let (%w int) (op * %q 1099511627776) p0)
     (store %four (%w %w) %x p0) (let (%y TY) (load %four %w 0) p0)",
    "(alloc (%nine private TY 9) p0) (for seq %l (upto 0 9) () (store %nine (%l) %x p0) (next) p0)
     (let (%p int) (load %is %i) p0) (let (%q int) (op min2 %p 8) p0) (let (%z TY) (op * %x %x) p0)
     (store %nine (%q) %z p0) (let (%r int) (op - 8 %q) p0) (let (%d TY) (load %nine %r) p0)
     (let (%e TY) (load %nine %q) p0) (let (%y TY) (op - %d %e) p0)",
];

#[test]
fn each_lane_has_its_own() {
    // Of bytes the last lanes run one by one, of the others with a mask.
    for ty in [BaseTy::F32, BaseTy::F64, BaseTy::I64, BaseTy::U8] {
        for by in INDICES {
            let p = program_of(ty.name(), &columns(by));
            // There are two rows to read.
            agree(&p, sizes(16).map(|n| args(ty, 2, n)));
        }
    }
}

/// What is used at constant indices alone needs no memory, and runs in vectors.
#[test]
fn vectors_stay_in_registers() {
    let p = program_of("float", &columns(INDICES[0]));
    for host in processors() {
        let ir = remc_llvm::llvm_ir(&p, &host, None).unwrap();
        assert!(ir.contains("alloca [64 x double]"), "{ir}");
        assert!(ir.contains("store <16 x double>"), "{ir}");
        let ir = remc_llvm::llvm_ir(&p, &host, Some(Pipeline::default())).unwrap();
        assert!(!ir.contains("alloca [64 x double]"), "{ir}");
    }
}
