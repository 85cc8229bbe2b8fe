//! Work on each of several items that needs no other.

/// Does the same work on every item, each on a thread of its own; on a single item, on that of the caller. Work gets
/// the place of its item.
///
/// # Panics
/// When the work on an item does.
pub fn on_threads<T: Send>(items: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
    let Some(((first, others), work)) = items.split_first_mut().zip(Some(&work)) else { return };
    std::thread::scope(|scope| {
        for (place, item) in (1..).zip(others) {
            scope.spawn(move || work(place, item));
        }
        work(0, first);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_with_its_place() {
        for count in [0, 1, 5] {
            let mut items = vec![10; count];
            on_threads(&mut items, |place, item| *item += place);
            assert_eq!(items, (10..10 + count).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "a scoped thread panicked")]
    fn a_panic_of_any_item_is_one_of_the_caller() {
        on_threads(&mut [0, 1, 2], |place, _| assert!(place < 2, "as a bug would"));
    }
}
