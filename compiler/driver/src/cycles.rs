//! Cycles among definitions, found on names alone and before inference.
//!
//! The call graph of a file has its definitions as nodes and `refs` as edges; only definitions of one
//! file can form a cycle, since imports that form one are cut, and the prelude has none. Strongly connected components by
//! Tarjan's algorithm, on an explicit stack.
//!
//! A path is looked for once for each definition that is part of a cycle: in a component of many definitions for one of
//! them alone.

use crate::database::{Db, SourceFile};
use crate::names::{Def, DefKind, Namespace, lookup, parse, refs};
use remc_base::GlobalId;
use std::collections::{HashMap, VecDeque};

/// In a component of more definitions one alone says how it leads back to itself.
const MANY: usize = 64;

/// How many names of a path are shown.
const SHOWN: usize = 16;

/// For each definition that is part of a cycle, the number of its cycle's component.
#[derive(Clone, PartialEq, Eq, Default, Debug, salsa::SalsaValue)]
pub struct Components<'db> {
    pub of: HashMap<Def<'db>, usize>,
    /// Of those that are large, the definition whose name is first.
    pub first: HashMap<usize, Def<'db>>,
}

/// The cycles of a file's call graph.
#[salsa::tracked]
pub fn file_cycles<'db>(db: &'db dyn Db, file: SourceFile) -> Components<'db> {
    components(db, &[file])
}

/// The component of a definition, if it is part of a cycle, and the definition that speaks for it if that is large. A
/// query of its own, so that an edge that closes no cycle changes nothing for the others.
#[salsa::tracked(returns(copy))]
pub fn component<'db>(db: &'db dyn Db, def: Def<'db>) -> Option<(usize, Option<Def<'db>>)> {
    let file = def.file(db);
    // The prelude has no cycles, as a test knows, and is not looked through for them.
    if file.prelude(db) {
        return None;
    }
    let all = file_cycles(db, file);
    let number = *all.of.get(&def)?;
    Some((number, all.first.get(&number).copied()))
}

/// Whether `target`, mentioned by `def`, leads back to `def`.
pub fn is_recursive<'db>(db: &'db dyn Db, def: Def<'db>, target: Def<'db>) -> bool {
    component(db, def).is_some_and(|c| component(db, target) == Some(c))
        && def.file(db).prelude(db) == target.file(db).prelude(db)
}

/// The calls by which `target`, mentioned by `def`, leads back to `def`: both ends included, `def`
/// first and last. `None` if it does not; empty if another definition of a large component has the path.
pub fn recursion<'db>(db: &'db dyn Db, def: Def<'db>, target: Def<'db>) -> Option<Vec<GlobalId>> {
    if !is_recursive(db, def, target) {
        return None;
    }
    if def == target {
        return Some(vec![def.global(db), def.global(db)]);
    }
    let of_def = component(db, def)?;
    if of_def.1.is_some_and(|first| first != def) {
        return Some(Vec::new());
    }
    // Breadth first, for the shortest way back.
    let mut from: HashMap<Def, Def> = HashMap::new();
    let mut queue = VecDeque::from([target]);
    while let Some(d) = queue.pop_front() {
        if d == def {
            break;
        }
        for next in edges(db, d) {
            if component(db, next) == Some(of_def) && next != target && !from.contains_key(&next) {
                from.insert(next, d);
                queue.push_back(next);
            }
        }
    }
    let mut path = vec![def.global(db)];
    let mut at = def;
    while at != target {
        at = *from.get(&at)?;
        path.push(at.global(db));
    }
    path.push(def.global(db));
    path.reverse();
    Some(path)
}

/// The definitions that a definition mentions.
pub fn edges<'db>(db: &'db dyn Db, def: Def<'db>) -> Vec<Def<'db>> {
    let names = refs(db, def);
    let file = def.file(db);
    let values = names.values.iter().filter_map(|n| lookup(db, file, Namespace::Values, n.clone()));
    let types = names.types.iter().filter_map(|n| lookup(db, file, Namespace::Types, n.clone()));
    values.chain(types).collect()
}

fn components<'db>(db: &'db dyn Db, files: &[SourceFile]) -> Components<'db> {
    let nodes: Vec<Def> = files
        .iter()
        .flat_map(|f| parse(db, *f).defs(db))
        .copied()
        .filter(|d| d.kind(db) != DefKind::Import && d.kind(db) != DefKind::Error)
        .collect();
    let position: HashMap<Def, usize> = nodes.iter().enumerate().map(|(i, d)| (*d, i)).collect();
    let next: Vec<Vec<usize>> = nodes
        .iter()
        .map(|d| edges(db, *d).iter().filter_map(|t| position.get(t).copied()).collect())
        .collect();
    let mut found = Components::default();
    for (number, scc) in tarjan(&next).into_iter().enumerate() {
        if scc.len() > MANY
            && let Some(first) = scc.iter().map(|i| nodes[*i]).min_by_key(|d| d.global(db))
        {
            found.first.insert(number, first);
        }
        if scc.len() > 1 || next[scc[0]].contains(&scc[0]) {
            found.of.extend(scc.into_iter().map(|i| (nodes[i], number)));
        }
    }
    found
}

/// A path as a message shows it: what is between the first and the last names of a long one is counted.
pub(crate) fn abridged(mut names: Vec<String>) -> Vec<String> {
    if names.len() > SHOWN {
        let left_out = names.len() - SHOWN;
        names.splice(SHOWN / 2..SHOWN / 2 + left_out, [format!("{left_out} others")]);
    }
    names
}

/// Strongly connected components (Tarjan 1972), each as a list of nodes.
fn tarjan(next: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; next.len()];
    let mut low = vec![0; next.len()];
    let mut on_stack = vec![false; next.len()];
    let mut stack = vec![];
    let mut count = 0;
    let mut found = vec![];
    for root in 0..next.len() {
        if order[root] != UNSEEN {
            continue;
        }
        // A frame is a node and how many of its edges were followed.
        let mut frames = vec![(root, 0)];
        while let Some((v, i)) = frames.pop() {
            if i == 0 {
                order[v] = count;
                low[v] = count;
                count += 1;
                stack.push(v);
                on_stack[v] = true;
            }
            match next[v].get(i) {
                Some(&w) => {
                    frames.push((v, i + 1));
                    if order[w] == UNSEEN {
                        frames.push((w, 0));
                    } else if on_stack[w] {
                        low[v] = low[v].min(order[w]);
                    }
                }
                None => {
                    if low[v] == order[v] {
                        let start = stack.iter().rposition(|w| *w == v).unwrap_or(0);
                        let scc = stack.split_off(start);
                        for w in &scc {
                            on_stack[*w] = false;
                        }
                        found.push(scc);
                    }
                    if let Some((parent, _)) = frames.last() {
                        low[*parent] = low[*parent].min(low[v]);
                    }
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{components, tarjan};
    use crate::database::Prelude;
    use crate::{Database, Session};

    #[test]
    fn the_prelude_has_none() {
        let session = Session::new(Database::default());
        assert!(components(&session.db, Prelude::get(&session.db).files(&session.db)).of.is_empty());
    }

    #[test]
    fn components_of_a_graph() {
        // 0 → 1 → 2 → 0, 2 → 3, 3 → 3, 4 → 0
        let mut sccs = tarjan(&[vec![1], vec![2], vec![0, 3], vec![3], vec![0]]);
        for s in &mut sccs {
            s.sort();
        }
        sccs.sort();
        assert_eq!(sccs, [vec![0, 1, 2], vec![3], vec![4]]);
    }

    #[test]
    fn a_long_chain_needs_no_stack() {
        let n = 200_000;
        let next: Vec<Vec<usize>> = (0..n).map(|i| if i + 1 < n { vec![i + 1] } else { vec![] }).collect();
        assert_eq!(tarjan(&next).len(), n);
    }
}
