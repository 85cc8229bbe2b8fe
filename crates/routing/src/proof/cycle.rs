//! A cycle in a directed graph, when there is one.

use std::collections::VecDeque;

use super::matrix::Matrix;

const NONE: u32 = u32::MAX;

/// The rows of a shortest cycle through some row; none when there is no cycle.
pub(super) fn find(matrix: &Matrix) -> Option<Vec<u32>> {
    let stuck = peel(matrix);
    let member = member(matrix, &stuck)?;
    Some(shortest(matrix, &stuck, member))
}

/// Removes rows that no other waits for until none is left; returns which rows remain.
fn peel(matrix: &Matrix) -> Vec<bool> {
    let rows = 0..matrix.rows() as u32;
    let mut waiting = vec![0u32; matrix.rows()];
    rows.clone().flat_map(|row| matrix.successors(row)).for_each(|next| waiting[next as usize] += 1);
    let mut free: Vec<u32> = rows.filter(|&row| waiting[row as usize] == 0).collect();
    let mut is_left = vec![true; matrix.rows()];
    while let Some(row) = free.pop() {
        is_left[row as usize] = false;
        for next in matrix.successors(row) {
            waiting[next as usize] -= 1;
            if waiting[next as usize] == 0 {
                free.push(next);
            }
        }
    }
    is_left
}

/// A row on a cycle: depth first from what is left, until a row of the current path is met again.
fn member(matrix: &Matrix, is_left: &[bool]) -> Option<u32> {
    let mut is_done: Vec<bool> = is_left.iter().map(|left| !left).collect();
    let mut is_on_path = vec![false; is_left.len()];
    let start = is_left.iter().position(|&left| left)? as u32;
    let mut path = vec![(start, matrix.successors(start))];
    is_on_path[start as usize] = true;
    loop {
        // What is left has a cycle behind it, not before it: where a path ends, the next row that is left begins one.
        let Some((row, successors)) = path.last_mut() else {
            let start = is_done.iter().position(|&done| !done).expect("what cannot be peeled holds a cycle") as u32;
            is_on_path[start as usize] = true;
            path.push((start, matrix.successors(start)));
            continue;
        };
        match successors.find(|&next| !is_done[next as usize]) {
            Some(next) if is_on_path[next as usize] => return Some(next),
            Some(next) => {
                is_on_path[next as usize] = true;
                path.push((next, matrix.successors(next)));
            }
            None => {
                (is_on_path[*row as usize], is_done[*row as usize]) = (false, true);
                path.pop();
            }
        }
    }
}

/// The shortest cycle through a row, breadth first.
fn shortest(matrix: &Matrix, is_left: &[bool], start: u32) -> Vec<u32> {
    let mut before = vec![NONE; is_left.len()];
    let mut frontier = VecDeque::from([start]);
    while before[start as usize] == NONE {
        let row = frontier.pop_front().expect("the row is on a cycle");
        for next in matrix.successors(row) {
            if before[next as usize] == NONE {
                before[next as usize] = row;
                frontier.push_back(next);
            }
        }
    }
    let mut cycle = vec![start];
    while before[cycle[cycle.len() - 1] as usize] != start {
        cycle.push(before[cycle[cycle.len() - 1] as usize]);
    }
    cycle[1..].reverse();
    cycle
}
