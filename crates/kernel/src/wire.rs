//! Values as words of 32 bits, for workers that share no memory.
//!
//! The form is fixed: fields in the order in which [`wire!`](crate::wire) lists them, longer numbers with their low
//! word first. The library that carries the words turns their bytes where machines differ.

use etherweave_primitives::{BitRate, ChannelId, Duration, HostId, Priority, Time};

/// A value that is sent as words and read back unchanged.
pub trait Wire: Sized {
    /// Appends its words.
    fn write(&self, words: &mut Vec<u32>);

    /// Takes a value off the front of the words.
    ///
    /// # Panics
    /// When the words end too early.
    fn read(words: &mut &[u32]) -> Self;
}

/// Structures, field by field: `wire! { Pair { left, right } }`. They are written and read in this order.
///
/// After a semicolon, a field that is sent as another value, with the functions there and back:
/// `wire! { Link { from, to; class: number => class_of } }`.
#[macro_export]
macro_rules! wire {
    ($($name:ident { $($field:ident),* $(; $other:ident: $there:path => $back:path)? })*) => {
        $(impl $crate::Wire for $name {
            fn write(&self, words: &mut Vec<u32>) {
                let $name { $($field,)* $($other)? } = self;
                $($crate::Wire::write($field, words);)*
                $($crate::Wire::write(&$there($other), words);)?
            }

            fn read(words: &mut &[u32]) -> $name {
                // Fields of a literal are evaluated in the order in which they stand here.
                $name { $($field: $crate::Wire::read(words),)* $($other: $back($crate::Wire::read(words)))? }
            }
        })*
    };
}

impl Wire for u32 {
    fn write(&self, words: &mut Vec<u32>) {
        words.push(*self);
    }

    fn read(words: &mut &[u32]) -> u32 {
        *words.split_off_first().expect("what is read was written")
    }
}

/// Values that others hold exactly: `Type as Other: there, back`.
macro_rules! through {
    ($($name:ty as $other:ty: $there:expr, $back:expr;)*) => {
        $(impl Wire for $name {
            fn write(&self, words: &mut Vec<u32>) {
                let there: fn($name) -> $other = $there;
                there(*self).write(words);
            }

            fn read(words: &mut &[u32]) -> $name {
                let back: fn($other) -> $name = $back;
                back(<$other>::read(words))
            }
        })*
    };
}

through! {
    bool as u32: u32::from, |word| word == 1;
    u8 as u32: u32::from, |word| word as u8;
    u16 as u32: u32::from, |word| word as u16;
    f64 as u64: f64::to_bits, f64::from_bits;
    Time as u64: Time::as_ps, Time::from_ps;
    Duration as u64: Duration::as_ps, Duration::from_ps;
    BitRate as u64: BitRate::as_bps, BitRate::from_bps;
    Priority as u8: Priority::get, Priority::new;
    HostId as u32: HostId::get, HostId::new;
    ChannelId as u32: ChannelId::get, ChannelId::new;
}

impl Wire for u64 {
    fn write(&self, words: &mut Vec<u32>) {
        words.extend([*self as u32, (*self >> 32) as u32]);
    }

    fn read(words: &mut &[u32]) -> u64 {
        let [low, high] = [(); 2].map(|()| u64::from(u32::read(words)));
        high << 32 | low
    }
}

impl Wire for u128 {
    fn write(&self, words: &mut Vec<u32>) {
        [*self as u64, (*self >> 64) as u64].iter().for_each(|half| half.write(words));
    }

    fn read(words: &mut &[u32]) -> u128 {
        let [low, high] = [(); 2].map(|()| u128::from(u64::read(words)));
        high << 64 | low
    }
}

/// Its bytes, one to a word.
impl Wire for String {
    fn write(&self, words: &mut Vec<u32>) {
        self.as_bytes().to_vec().write(words);
    }

    fn read(words: &mut &[u32]) -> String {
        String::from_utf8(Vec::read(words)).expect("what is read was written")
    }
}

/// Tuples, member by member.
macro_rules! tuple {
    ($($name:ident)*) => {
        impl<$($name: Wire),*> Wire for ($($name,)*) {
            #[expect(non_snake_case, reason = "members are called as their types")]
            fn write(&self, words: &mut Vec<u32>) {
                let ($($name,)*) = self;
                $($name.write(words);)*
            }

            fn read(words: &mut &[u32]) -> ($($name,)*) {
                ($($name::read(words),)*)
            }
        }
    };
}

tuple! { A B }
tuple! { A B C }

/// Member by member.
impl<T: Wire, const N: usize> Wire for [T; N] {
    fn write(&self, words: &mut Vec<u32>) {
        self.iter().for_each(|member| member.write(words));
    }

    fn read(words: &mut &[u32]) -> [T; N] {
        std::array::from_fn(|_| T::read(words))
    }
}

/// How many, then each.
impl<T: Wire> Wire for Vec<T> {
    fn write(&self, words: &mut Vec<u32>) {
        (self.len() as u64).write(words);
        self.iter().for_each(|member| member.write(words));
    }

    fn read(words: &mut &[u32]) -> Vec<T> {
        (0..u64::read(words)).map(|_| T::read(words)).collect()
    }
}

impl<T: Wire> Wire for Option<T> {
    fn write(&self, words: &mut Vec<u32>) {
        self.is_some().write(words);
        self.iter().for_each(|value| value.write(words));
    }

    fn read(words: &mut &[u32]) -> Option<T> {
        bool::read(words).then(|| T::read(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value comes out as it went in, and in between it is these words.
    fn check<T: Wire + PartialEq + std::fmt::Debug>(value: &T, expected: &[u32]) {
        let mut words = Vec::new();
        value.write(&mut words);
        assert_eq!(words, expected);
        let mut left = &words[..];
        assert_eq!((&T::read(&mut left), left), (value, &[][..]));
    }

    #[derive(PartialEq, Debug)]
    struct Pair {
        left: u16,
        right: Option<bool>,
    }

    wire! { Pair { left; right: there => back } }

    fn there(right: &Option<bool>) -> [u8; 1] {
        [right.map_or(2, u8::from)]
    }

    fn back([word]: [u8; 1]) -> Option<bool> {
        (word < 2).then_some(word == 1)
    }

    #[test]
    fn numbers_are_written_low_word_first_and_lists_after_their_length() {
        check(&0x0123_4567_89ab_cdef_u64, &[0x89ab_cdef, 0x0123_4567]);
        check(&(1_u128 << 96 | 7), &[7, 0, 0, 1]);
        check(&-0.0_f64, &[0, 1 << 31]);
        check(&vec![5_u16, 65_535], &[2, 0, 5, 65_535]);
        check(&[(1_u8, 2_u32, true)], &[1, 2, 1]);
        check(&Some((1_u32, 2_u32)), &[1, 1, 2]);
        check(&None::<u32>, &[0]);
        check(&"ö".to_owned(), &[2, 0, 0xc3, 0xb6]);
        check(&Time::from_ps(1 << 33), &[0, 2]);
    }

    #[test]
    fn fields_are_written_in_the_order_of_the_list() {
        check(&Pair { left: 7, right: Some(true) }, &[7, 1]);
        check(&Pair { left: 8, right: None }, &[8, 2]);
    }
}
