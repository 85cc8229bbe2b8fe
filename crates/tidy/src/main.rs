//! Prints the lines of the repository by kind, beside their budgets.

use etherweave_tidy::{Repository, budget::Lines};

fn main() {
    print!("{}", Lines::count(Repository::open().files()));
}
