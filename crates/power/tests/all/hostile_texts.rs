//! Whatever a profile or price book says, the answer is a result or an error.

use etherweave_power::{Activity, Certainty, Entries, PowerProfile, PriceBook, Saving, TableKind, Tables, shipped};
use etherweave_primitives::{BitRate, Bytes, Power};
use etherweave_topology::{AsBuilt, Family, SingleSwitch, Topology};
use proptest::prelude::*;

/// A text with a piece of it replaced by another piece.
fn spliced(text: &str, at: usize, length: usize, insert: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let start = at % (characters.len() + 1);
    let end = (start + length).min(characters.len());
    characters[..start].iter().copied().chain(insert.chars()).chain(characters[end..].iter().copied()).collect()
}

/// The text with its `place`-th run of digits replaced.
fn renumbered(text: &str, place: usize, number: &str) -> String {
    let is_start = |&(at, letter): &(usize, char)| {
        letter.is_ascii_digit() && !text[..at].ends_with(|before: char| before.is_ascii_digit())
    };
    let starts: Vec<usize> = text.char_indices().filter(is_start).map(|(at, _)| at).collect();
    let start = starts[place % starts.len()];
    let rest = text[start..].trim_start_matches(|letter: char| letter.is_ascii_digit());
    format!("{}{number}{rest}", &text[..start])
}

fn number() -> impl Strategy<Value = String> {
    let ends = ["0", "1", "4294967296", "9223372036854775808", "18446744073709551615", "99999999999999999999", "1e308"];
    prop_oneof![prop::sample::select(ends.to_vec()).prop_map(str::to_owned), "[0-9]{1,22}", "[0-9.]{1,6}"]
}

fn stars() -> impl Iterator<Item = Topology> {
    let rates = [40, 100, 400, 800];
    let star = |gigabits, breakout| {
        let rate = BitRate::from_gbps(gigabits);
        let as_built = AsBuilt { breakout, ..AsBuilt::default() };
        let cable = "2m".parse().unwrap();
        SingleSwitch { hosts: 3, rate, cable, as_built }.generate().unwrap()
    };
    rates.into_iter().flat_map(move |gigabits| [1, 4].map(|breakout| star(gigabits, breakout)))
}

/// Draws and costs with whatever was read.
fn exercise_profile(text: &str) {
    let Ok(profile) = PowerProfile::parse("hostile", text) else { return };
    for topology in stars() {
        for kind in [TableKind::Cam, TableKind::Tcam] {
            let tables = Tables { kind, entries: Entries::Each(u64::MAX) };
            let _ = profile.draw(&topology, Some(&tables)).map(|draw| (draw.total().total(), draw.kinds[0].mean()));
        }
        for saving in Saving::ALL {
            let activity = Activity::even(&topology, 0.3, Bytes::new(u64::MAX), saving);
            let _ = profile.draw_under(&topology, None, &activity).map(|draw| Certainty::of(&draw.figures).to_string());
        }
    }
}

fn exercise_book(text: &str) {
    let Ok(book) = PriceBook::parse("hostile", text) else { return };
    let _ = book.year_of(Power::from_uw(u64::MAX)).map(|cost| cost.total.to_string());
    for topology in stars() {
        let _ = book.cost(&topology).map(|cost| (cost.total.to_string(), Certainty::of(&cost.figures).to_string()));
    }
}

fn profile(pick: usize) -> &'static str {
    let profiles = shipped::PROFILES.0;
    profiles[pick % profiles.len()].1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn spliced_texts_never_panic(
        at in any::<usize>(),
        length in 0usize..40,
        insert in "([\\[\\]{}=\"., a-zA-Z0-9/]|\\PC){0,12}",
        pick in any::<usize>(),
    ) {
        exercise_profile(&spliced(profile(pick), at, length, &insert));
        exercise_book(&spliced(shipped::PRICE_BOOKS.0[0].1, at, length, &insert));
    }

    #[test]
    fn any_numbers_never_panic(
        place in any::<usize>(), number in number(), again in any::<usize>(), pick in any::<usize>(),
    ) {
        let profile = renumbered(profile(pick), place, &number);
        exercise_profile(&profile);
        exercise_profile(&renumbered(&profile, again, "18446744073709551615"));
        let book = renumbered(shipped::PRICE_BOOKS.0[0].1, place, &number);
        exercise_book(&book);
        exercise_book(&renumbered(&book, again, "18446744073709"));
    }

    #[test]
    fn arbitrary_texts_never_panic(text in "\\PC*") {
        exercise_profile(&text);
        exercise_book(&text);
    }
}
