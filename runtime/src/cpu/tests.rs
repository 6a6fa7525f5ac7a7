//! Hand-written kernels and plans in place of compiled ones.

use super::*;
use remc_base::Trap;
use remc_base::ops::total_cmp;
use std::sync::atomic::{AtomicU64, Ordering};

fn cpu(threads: usize) -> Cpu {
    Cpu::new(CpuOptions { threads, memory_limit: None })
}

fn run(cpu: &Cpu, entry: EntryFn, params: &[u64], results: usize) -> Result<Finished, Stopped> {
    // SAFETY: the entries below keep to the ABI and are given what they take.
    unsafe {
        cpu.run(
            entry,
            params,
            results,
            Kernels { touched: &[Vec::new()], late: None, thresholds: None, limit: None, channels: None },
        )
    }
}

/// Adds 1 to the words of the block: `words, counts[workers]`.
unsafe extern "C" fn bump(args: *const u64, lo: u64, hi: u64, worker: u64, _: *mut Error) {
    unsafe {
        let (words, counts) = (*args as *mut u64, *args.add(1) as *const AtomicU64);
        (*counts.add(worker as usize)).fetch_add(hi - lo, Ordering::Relaxed);
        for i in lo..hi {
            *words.add(i as usize) += i;
        }
    }
}

/// `n, rounds`: fills `n` words by `rounds` launches; gives the words and how many blocks were counted.
unsafe extern "C" fn bumps(ctx: *mut Context, params: *const u64, results: *mut u64) -> i32 {
    unsafe {
        let (n, rounds) = (*params, *params.add(1));
        let words = remc_alloc(ctx, 0, 8, 1, &n).cast::<u64>();
        let workers = remc_workers(ctx);
        let counts = remc_alloc(ctx, 0, 8, 1, &workers).cast::<u64>();
        if words.is_null() || counts.is_null() {
            return 1;
        }
        words.write_bytes(0, n as usize);
        counts.write_bytes(0, workers as usize);
        let args = [words as u64, counts as u64];
        for _ in 0..rounds {
            if remc_launch(ctx, 0, Some(bump), args.as_ptr(), 2, n, 0) != 0 {
                return 1;
            }
        }
        *results = words as u64;
        *results.add(1) = (0..workers as usize).map(|w| *counts.add(w)).sum();
        remc_free(ctx, counts.cast());
        0
    }
}

#[test]
fn every_block_runs_once_on_any_number_of_threads() {
    for threads in [1, 2, 3, 5] {
        let cpu = cpu(threads);
        assert_eq!(cpu.workers(), threads);
        for n in [0, 1, 2, 7, 1000, 100_003] {
            let rounds = if n < 10_000 { 300 } else { 3 };
            let done = run(&cpu, bumps, &[n, rounds], 2).unwrap();
            let want: Vec<i64> = (0..n).map(|i| (i * rounds) as i64).collect();
            let value = done.array_of_shape(0, BaseTy::I64, &[n as usize]).unwrap();
            assert_eq!(
                value,
                Value::of_scalars(BaseTy::I64, vec![n as usize], want.into_iter().map(Scalar::I64))
            );
            assert_eq!(done.scalar(1, BaseTy::I64), Some(Scalar::I64((n * rounds) as i64)));
            let stats = done.stats.kernels[0];
            assert_eq!((stats.launches, stats.blocks), (rounds, n * rounds));
            assert_eq!(
                done.array_of_shape(0, BaseTy::I64, &[n as usize + 1000]),
                None,
                "no more than there is"
            );
            assert_eq!(done.array_of_shape(1, BaseTy::I64, &[1]), None, "no buffer");
        }
        assert_eq!(cpu.memory().live, 0);
    }
}

/// `address, dims`: gives its argument's first row.
unsafe extern "C" fn row(ctx: *mut Context, params: *const u64, results: *mut u64) -> i32 {
    unsafe {
        let width = params.add(2);
        let out = remc_alloc(ctx, 0, 4, 1, width);
        out.copy_from_nonoverlapping(*params as *const u8, 4 * *width as usize);
        results.write(out as u64);
        results.add(1).write(*width);
        0
    }
}

#[test]
fn arrays_go_in_and_out() {
    let cpu = cpu(1);
    let text = Value::of_scalars(BaseTy::Char, vec![2, 3], "abcλde".chars().map(Scalar::Char));
    let input = cpu.input(&text).unwrap();
    assert_eq!(input.slot() % ALIGNMENT as u64, 0);
    let done = run(&cpu, row, &[input.slot(), 2, 3], 2).unwrap();
    let row = Value::of_scalars(BaseTy::Char, vec![3], "abc".chars().map(Scalar::Char));
    assert_eq!(done.array(0, BaseTy::Char, 1), Some(row));
    assert_eq!(done.array(0, BaseTy::Char, 2), None, "no such slot");
    assert_eq!(done.array(0, BaseTy::F64, 1), None, "too small");
    assert_eq!(done.stats.peak_bytes, 24 + 12, "arguments count");
    // What is no scalar value is replaced, not believed.
    let bits = Value::of_scalars(BaseTy::U32, vec![1, 1], [Scalar::U32(0xd800)]);
    let done = run(&cpu, self::row, &[cpu.input(&bits).unwrap().slot(), 1, 1], 2).unwrap();
    assert_eq!(
        done.array(0, BaseTy::Char, 1).unwrap().data.get(0),
        Some(remc_base::Atom::Scalar(Scalar::Char('\u{fffd}')))
    );
}

#[test]
fn parked_workers_wake() {
    let cpu = cpu(4);
    for _ in 0..20 {
        std::thread::sleep(std::time::Duration::from_millis(1));
        let done = run(&cpu, bumps, &[64, 1], 2).unwrap();
        assert_eq!(done.scalar(1, BaseTy::I64), Some(Scalar::I64(64)));
    }
}

#[test]
fn runs_from_several_threads_wait_for_each_other() {
    let cpu = cpu(2);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for _ in 0..50 {
                    let done = run(&cpu, bumps, &[500, 2], 2).unwrap();
                    assert_eq!(done.scalar(1, BaseTy::I64), Some(Scalar::I64(1000)));
                }
            });
        }
    });
}

/// `first, also`: fails in block `first` and in blocks above it, after a while in `first`.
unsafe extern "C" fn fails(args: *const u64, lo: u64, hi: u64, _: u64, error: *mut Error) {
    unsafe {
        let first = *args;
        (*(*args.add(1) as *const AtomicU64))
            .fetch_add((hi.min(first)).saturating_sub(lo), Ordering::Relaxed);
        for i in lo..hi {
            if i == first {
                std::thread::sleep(std::time::Duration::from_micros(300));
            }
            if i >= first {
                remc_fail(error, i, 7, 40, 2, [i as i64, -1].as_ptr());
                return;
            }
        }
    }
}

unsafe extern "C" fn failing(ctx: *mut Context, params: *const u64, _: *mut u64) -> i32 {
    unsafe {
        let n = 64;
        // Left behind.
        assert!(!remc_alloc(ctx, 0, 8, 1, &n).is_null());
        remc_launch(ctx, 0, Some(fails), params, 2, *params.add(2), 0)
    }
}

/// `first, states`: each block waits for the one before it, and adds its number to what that one has
/// passed on; the block `first` fails instead.
unsafe extern "C" fn waits(args: *const u64, lo: u64, hi: u64, _: u64, error: *mut Error) {
    unsafe {
        let (first, sums, states) = (*args, *args.add(1) as *mut u64, *args.add(2) as *mut i64);
        for b in lo..hi {
            if b > 0 && remc_await(error, b, states.add(b as usize - 1)) != 0 {
                return;
            }
            if b == first {
                remc_fail(error, b, 7, 40, 1, [b as i64].as_ptr());
                return;
            }
            let before = if b == 0 { 0 } else { *sums.add(b as usize - 1) };
            *sums.add(b as usize) = before + b;
            remc_pass(states.add(b as usize));
        }
    }
}

/// `first, n`
unsafe extern "C" fn chained(ctx: *mut Context, params: *const u64, results: *mut u64) -> i32 {
    unsafe {
        let (first, n) = (*params, *params.add(1));
        let (sums, states) = (remc_alloc(ctx, 0, 8, 1, &n), remc_alloc(ctx, 0, 8, 1, &n));
        states.write_bytes(0, 8 * n as usize);
        let status = remc_launch(ctx, 0, Some(waits), [first, sums as u64, states as u64].as_ptr(), 3, n, 1);
        *results = *sums.cast::<u64>().add(n as usize - 1);
        status
    }
}

#[test]
fn blocks_wait_for_those_before_them() {
    for threads in [1, 2, 5] {
        let cpu = cpu(threads);
        for n in [1, 2, 1000] {
            let done = run(&cpu, chained, &[n, n], 1).map(|f| f.slots);
            assert_eq!(done.ok(), Some(vec![n * (n - 1) / 2]), "{threads} {n}");
            // Nobody waits for what comes after a failure.
            let stopped = run(&cpu, chained, &[n / 2, n], 1).err();
            let values = vec![n as i64 / 2];
            assert_eq!(stopped, Some(Stopped::Trap { trap: 7, prov: 40, values }), "{threads} {n}");
        }
    }
}

#[test]
fn the_lowest_failing_block_is_reported() {
    for threads in [1, 2, 5] {
        let cpu = cpu(threads);
        for first in [0, 1, 37, 998, 999] {
            let below = AtomicU64::new(0);
            let stopped = run(&cpu, failing, &[first, &raw const below as u64, 1000], 0).err();
            let values = vec![first as i64, -1];
            assert_eq!(stopped, Some(Stopped::Trap { trap: 7, prov: 40, values }), "{threads} {first}");
            assert_eq!(below.into_inner(), first, "blocks below run");
            assert_eq!(cpu.memory().live, 0, "what is left behind is freed");
        }
    }
}

/// `bytes, dims`: one allocation of rank 2.
unsafe extern "C" fn allocates(ctx: *mut Context, params: *const u64, results: *mut u64) -> i32 {
    unsafe {
        *results = remc_alloc(ctx, 9, *params, 2, params.add(1)) as u64;
        i32::from(*results == 0)
    }
}

#[test]
fn too_large() {
    let cpu = Cpu::new(CpuOptions { threads: 1, memory_limit: Some(8000) });
    assert!(run(&cpu, allocates, &[8, 10, 100], 1).is_ok());
    assert!(run(&cpu, allocates, &[8, 0, u64::MAX >> 1], 1).is_ok());
    for dims in [[10, 101], [1 << 62, 1 << 62]] {
        let Err(Stopped::TooLarge { trap, prov, values }) = run(&cpu, allocates, &[8, dims[0], dims[1]], 1)
        else {
            panic!("{dims:?}")
        };
        assert_eq!((prov, values.as_slice()), (Some(9), dims.map(|n| n as i64).as_slice()));
        assert_eq!(trap, Trap::TooLarge { rank: 2, by: DEVICE.into(), most: 1000 });
    }
}

/// A check of the plan, inside a loop that allocates, launches and frees.
unsafe extern "C" fn nested(ctx: *mut Context, params: *const u64, results: *mut u64) -> i32 {
    unsafe {
        let (rounds, stop_at) = (*params, *params.add(1));
        let workers = remc_workers(ctx);
        let counts = remc_alloc(ctx, 0, 8, 1, &workers).cast::<u64>();
        counts.write_bytes(0, workers as usize);
        for outer in 0..rounds {
            for inner in 0..outer {
                let n = inner + 1;
                let words = remc_alloc(ctx, 0, 8, 1, &n).cast::<u64>();
                if words.is_null() {
                    return 1;
                }
                words.write_bytes(0, n as usize);
                if remc_launch(ctx, 0, Some(bump), [words as u64, counts as u64].as_ptr(), 2, n, 0) != 0 {
                    return 1;
                }
                *results += *words.add(inner as usize);
                remc_free(ctx, words.cast());
            }
            if outer == stop_at {
                remc_stop(ctx, 3, 4, 1, [outer as i64].as_ptr());
                return 1;
            }
        }
        remc_free(ctx, counts.cast());
        0
    }
}

#[test]
fn nested_loops_of_a_plan_reuse_memory() {
    let cpu = cpu(2);
    let done = run(&cpu, nested, &[40, 1000], 1).unwrap();
    let want: u64 = (0..40u64).map(|outer| (0..outer).sum::<u64>()).sum();
    assert_eq!(done.slots, [want]);
    let stats = &done.stats;
    assert_eq!(stats.allocations, 1 + 40 * 39 / 2);
    assert!(stats.allocations - stats.reused <= 7, "{stats:?}");
    assert_eq!(stats.peak_bytes, 16 + 39 * 8);
    drop(done);
    let again = run(&cpu, nested, &[40, 1000], 1).unwrap();
    assert_eq!(again.stats.reused, again.stats.allocations, "all from the run before");
    let stopped = run(&cpu, nested, &[40, 20], 1).err();
    assert_eq!(stopped, Some(Stopped::Trap { trap: 3, prov: 4, values: vec![20] }));
    assert_eq!(cpu.memory().live, 0);
}

unsafe extern "C" fn says_nothing(_: *mut Context, _: *const u64, _: *mut u64) -> i32 {
    2
}

#[test]
fn a_stop_without_a_reason_is_a_mistake_of_the_compiler() {
    assert_eq!(run(&cpu(1), says_nothing, &[], 0).err(), Some(Stopped::Unexplained));
}

/// `n, nkeys, keys…`
unsafe extern "C" fn sorts(ctx: *mut Context, params: *const u64, results: *mut u64) -> i32 {
    unsafe {
        let out = remc_alloc(ctx, 0, 8, 1, params);
        *results = out as u64;
        if out.is_null() {
            return 1;
        }
        remc_sort(ctx, *params.add(1) as u32, params.add(2), *params, out.cast())
    }
}

/// Numbers that repeat, but seldom.
fn random(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
    *seed ^ *seed >> 33
}

fn scalars(ty: BaseTy, n: usize, few: bool, seed: &mut u64) -> Vec<Scalar> {
    let special = [0, 1, -1, i64::MIN, i64::MAX, 1 << 63 >> 16, 0x7e00, 0xfe00, 0x7c00, 0xfc00, 0x8000];
    let floats = [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 1.5, -1.5];
    (0..n)
        .map(|_| {
            loop {
                let r = random(seed);
                let s = match r % 4 {
                    0 if ty.is_float() => Scalar::from_float(ty, floats[r as usize / 4 % floats.len()]),
                    1 => Scalar::from_bits64(ty, special[r as usize / 4 % special.len()]),
                    _ if few => Scalar::from_bits64(ty, (r >> 8) as i64 % 5),
                    _ => Scalar::from_bits64(ty, random(seed) as i64),
                };
                if let Some(s) = s {
                    break s;
                }
            }
        })
        .collect()
}

#[test]
fn sorts_as_the_table_of_operators_says() {
    let mut seed = 1;
    let cpus = [cpu(1), cpu(2), cpu(5)];
    let mut check_of = |tys: &[(BaseTy, usize)], n: usize, few: bool, groups: usize| {
        let mut keys: Vec<Vec<Scalar>> =
            tys.iter().map(|(ty, width)| scalars(*ty, n * width, few, &mut seed)).collect();
        if groups > 0 {
            // As many items in the last group as in all others.
            keys[0] = (0..n as i64)
                .map(|k| Scalar::I64((k * 2 * groups as i64 / n as i64).min(groups as i64)))
                .collect();
        }
        let mut want: Vec<i64> = (0..n as i64).collect();
        want.sort_by(|a, b| {
            let (a, b) = (*a as usize, *b as usize);
            let parts = tys.iter().zip(&keys).flat_map(|((_, w), k)| (0..*w).map(move |i| (k, *w, i)));
            parts
                .map(|(k, w, i)| total_cmp(k[a * w + i], k[b * w + i]))
                .find(|o| o.is_ne())
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        let want = Value::of_scalars(BaseTy::I64, vec![n], want.into_iter().map(Scalar::I64));
        for cpu in &cpus {
            let inputs: Vec<Input> = tys
                .iter()
                .zip(&keys)
                .map(|((ty, w), k)| {
                    cpu.input(&Value::of_scalars(*ty, vec![n, *w], k.iter().copied())).unwrap()
                })
                .collect();
            let mut params = vec![n as u64, tys.len() as u64];
            for ((ty, width), input) in tys.iter().zip(&inputs) {
                let index = BaseTy::ALL.iter().position(|t| t == ty).unwrap();
                params.extend([input.slot(), index as u64, *width as u64]);
            }
            let done = run(cpu, sorts, &params, 1).unwrap();
            assert_eq!(
                done.array_of_shape(0, BaseTy::I64, &[n]).unwrap(),
                want,
                "{tys:?} {n} {}",
                cpu.workers()
            );
            assert_eq!(done.stats.sorts.launches, u64::from(n > 0));
        }
    };
    use BaseTy::*;
    for groups in [1, 2, 7, 5000] {
        for ty in [I64, F64, U8] {
            check_of(&[(I64, 1), (ty, 1)], 30_011, false, groups);
            check_of(&[(I64, 1), (ty, 3)], 3_011, true, groups);
        }
    }
    let mut check = |tys: &[(BaseTy, usize)], n: usize, few: bool| check_of(tys, n, few, 0);
    for ty in BaseTy::ALL {
        for n in [0, 1, 2, 100, 1000, 40_001] {
            check(&[(ty, 1)], n, n == 1000);
        }
    }
    check(&[(Bool, 1), (I16, 1), (Char, 1)], 30_000, true);
    check(&[(F64, 1), (F32, 1)], 30_000, true);
    check(&[(F64, 1), (F64, 1), (Bool, 2)], 20_000, true);
    // Few numbers of a group before what is sorted within it.
    check(&[(Bool, 1), (F64, 1)], 1000, true);
    // Two words, three, and more; runs of few items beside long ones.
    check(&[(I64, 1), (F64, 1)], 30_000, true);
    check(&[(I64, 1), (F64, 1), (U64, 1)], 40_001, true);
    check(&[(I64, 1), (F64, 1), (U64, 1)], 40_001, false);
    check(&[(I64, 1), (F64, 1)], 150, true);
    check(&[(I64, 1), (F64, 3)], 20_000, true);
    check(&[(Char, 20)], 20_000, true);
    check(&[(I64, 0), (U8, 8)], 20_000, true);
    check(&[(I64, 0)], 20_000, true);
    check(&[], 50, true);
}

/// `n, type, keys, bytes, number of places, places`
unsafe extern "C" fn sorts_keys(ctx: *mut Context, params: *const u64, results: *mut u64) -> i32 {
    unsafe {
        let out = remc_alloc(ctx, 0, *params.add(3), 1, params);
        *results = out as u64;
        if out.is_null() {
            return 1;
        }
        let (count, places) = (*params.add(4) as u32, *params.add(5) as *const i64);
        remc_sort_keys(ctx, *params.add(1) as u32, *params.add(2) as *const u8, *params, out, count, places)
    }
}

/// Elements are sorted as their places are, to the bit: zeros keep their signs, and what is no number its pattern.
#[test]
fn keys_are_sorted_as_their_places_are() {
    let mut seed = 1;
    let cpus = [cpu(1), cpu(2), cpu(5)];
    let mut check = |ty: BaseTy, n: usize, few: bool, near: Option<u64>| {
        let mut keys = scalars(ty, n, few, &mut seed);
        if let Some(step) = near {
            // Numbers close together, and some far off.
            for (k, x) in keys.iter_mut().enumerate().filter(|(k, _)| k % 1000 != 3) {
                let bits = (1 << (ty.bits().min(60) - 3)) | (k as u64 % 5000 * step);
                *x = Scalar::from_bits64(ty, bits as i64).unwrap_or(*x);
            }
        }
        let mut want = keys.clone();
        want.sort_by(|a, b| total_cmp(*a, *b));
        let index = BaseTy::ALL.iter().position(|t| *t == ty).unwrap() as u64;
        for cpu in &cpus {
            let input = cpu.input(&Value::of_scalars(ty, vec![n], keys.iter().copied())).unwrap();
            let bytes = u64::from(ty.bits().div_ceil(8));
            let done = run(cpu, sorts_keys, &[n as u64, index, input.slot(), bytes, 0, 0], 1).unwrap();
            let found = done.array_of_shape(0, ty, &[n]).unwrap();
            let same = |k: usize| match found.data.get(k) {
                Some(remc_base::Atom::Scalar(x)) => x.to_bits64() == want[k].to_bits64(),
                _ => false,
            };
            assert!(found.data.len() == n && (0..n).all(same), "{ty} {n} {few} {near:?} {}", cpu.workers());
            assert_eq!(done.stats.sorts.launches, u64::from(n > 0));
            // Of some places these are as in all.
            let at = [n / 3, n / 2, n.saturating_sub(1)].map(|k| k as i64);
            let params = [n as u64, index, input.slot(), bytes, at.len() as u64, at.as_ptr() as u64];
            let done = run(cpu, sorts_keys, &params, 1).unwrap();
            let found = done.array_of_shape(0, ty, &[n]).unwrap();
            let same = |k: usize| match found.data.get(k) {
                Some(remc_base::Atom::Scalar(x)) => x.to_bits64() == want[k].to_bits64(),
                _ => n == 0,
            };
            assert!(at.iter().all(|k| same(*k as usize)), "{ty} {n} {few} {near:?} {at:?}");
        }
    };
    for ty in BaseTy::ALL {
        for n in [0, 1, 2, 95, 96, 100, 1000, 5000, 40_001, 150_000] {
            check(ty, n, false, None);
            check(ty, n, true, None);
        }
        check(ty, 60_000, false, Some(1));
        check(ty, 60_000, false, Some(1 << 20));
    }
}

#[test]
fn every_callback_has_an_address() {
    let symbols = symbols();
    assert!(symbols.iter().all(|(name, at)| name.starts_with("remc_") && *at != 0));
    assert_eq!(symbols.len(), 13);
}

/// `n, words`: launches kernel 3 twice, which the plan knows by its number alone.
unsafe extern "C" fn launches_late(ctx: *mut Context, params: *const u64, _: *mut u64) -> i32 {
    unsafe {
        let counts = [0u64; 64];
        let args = [*params.add(1), counts.as_ptr() as u64];
        for _ in 0..2 {
            if remc_launch(ctx, 3, None, args.as_ptr(), 2, *params, 0) != 0 {
                return 1;
            }
        }
        0
    }
}

#[test]
fn a_kernel_that_is_compiled_late_is_asked_for_once_and_waiting_is_no_run_time() {
    let cpu = cpu(2);
    let mut words = [0u64; 5];
    let params = [5, words.as_mut_ptr() as u64];
    let asked = std::cell::RefCell::new(Vec::new());
    let wait = Duration::from_millis(300);
    let late = |kernel| {
        asked.borrow_mut().push(kernel);
        std::thread::sleep(wait);
        Ok(bump as KernelFn)
    };
    let touched = vec![Vec::new(); 4];
    let kernels =
        Kernels { touched: &touched, late: Some(&late), thresholds: None, limit: None, channels: None };
    // SAFETY: the entry keeps to the ABI, and the words outlive the call.
    let done = unsafe { cpu.run(launches_late, &params, 0, kernels) }.unwrap();
    assert_eq!(*asked.borrow(), [3]);
    assert_eq!(words, [0, 2, 4, 6, 8]);
    assert_eq!(done.stats.kernels[3].launches, 2);
    assert!(done.stats.time < wait, "{:?}", done.stats.time);

    let none = |_| Err("no such code".to_owned());
    for (late, why) in [(Some(&none as &Late<'_>), "no such code"), (None, "there is no code of kernel 3")] {
        let kernels = Kernels { touched: &touched, late, thresholds: None, limit: None, channels: None };
        // SAFETY: as above.
        let stopped = unsafe { cpu.run(launches_late, &params, 0, kernels) }.err().unwrap();
        assert_eq!(stopped, Stopped::Broken(why.into()));
    }
    assert_eq!(words, [0, 2, 4, 6, 8]);
}

/// Blocks of a millisecond, each of which waits for the one before: `states`.
unsafe extern "C" fn slow_chain(args: *const u64, lo: u64, hi: u64, _: u64, error: *mut Error) {
    unsafe {
        let states = *args as *mut i64;
        for block in lo..hi {
            if block > 0 && remc_await(error, block, states.add(block as usize - 1)) != 0 {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
            remc_pass(states.add(block as usize));
        }
    }
}

/// `states, n, rounds`: launches the blocks above.
unsafe extern "C" fn slow_chains(ctx: *mut Context, params: *const u64, _: *mut u64) -> i32 {
    unsafe {
        let (n, rounds) = (*params.add(1), *params.add(2));
        (0..rounds).any(|_| remc_launch(ctx, 0, Some(slow_chain), params, 1, n, 0) != 0).into()
    }
}

/// A limit ends a run between launches and between blocks, and nobody waits for a block that will not run.
#[test]
fn a_run_is_ended_by_its_limit() {
    let ended = AtomicBool::new(false);
    for threads in [1, 2, 5] {
        let cpu = cpu(threads);
        // One long launch, and many short ones.
        for (n, rounds) in [(20_000, 1), (1, 20_000)] {
            let mut states = vec![0i64; n as usize];
            let params = [states.as_mut_ptr() as u64, n, rounds];
            let mut within = |time| {
                states.fill(0);
                let limit = Some(Limit { time, ended: Some(&ended) });
                let kernels =
                    Kernels { touched: &[Vec::new()], late: None, thresholds: None, limit, channels: None };
                let start = Instant::now();
                // SAFETY: the entry keeps to the ABI, and the states outlive the call.
                let done = unsafe { cpu.run(slow_chains, &params, 0, kernels) };
                (done.err(), start.elapsed())
            };
            let (stopped, took) = within(Duration::from_millis(30));
            assert_eq!(stopped, Some(Stopped::Ended), "{threads} {n}");
            // All of it takes more than 20 s.
            assert!(took < Duration::from_secs(8), "{threads} {n}: {took:?}");
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(20));
                    ended.store(true, Relaxed);
                });
                let (stopped, took) = within(Duration::MAX);
                assert_eq!(stopped, Some(Stopped::Ended), "{threads} {n}");
                assert!(took < Duration::from_secs(8), "{threads} {n}: {took:?}");
            });
            ended.store(false, Relaxed);
        }
        // The next run is none the worse for it.
        let mut states = vec![0i64; 3];
        let params = [states.as_mut_ptr() as u64, 3, 1];
        assert!(run(&cpu, slow_chains, &params, 0).is_ok());
        assert_eq!(states, [1; 3]);
    }
}
