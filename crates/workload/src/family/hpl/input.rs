//! `HPL.dat`, the input of HPL: values by line, words behind them are comments (`HPL_pdinfo.c`).

use etherweave_primitives::InputError;

use super::{GridOrder, PanelBroadcast, RowSwap};

/// Values of an `HPL.dat`, by the keys of the workload. It asks for one run: of every list one value.
///
/// Not read: what changes no message (the algorithm within a panel, storage, equilibration) and the residual.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
pub struct HplInput {
    size: u32,
    block: u32,
    order: GridOrder,
    rows: u32,
    columns: u32,
    broadcast: PanelBroadcast,
    depth: u32,
    swap: RowSwap,
    swap_threshold: u32,
}

impl HplInput {
    /// Reads the text of an `HPL.dat`.
    ///
    /// # Errors
    /// The first line that is missing, holds no number where one belongs, or asks for several runs.
    pub fn read(text: &str) -> Result<HplInput, InputError> {
        // Two titles, the name of a file and a device come first.
        let mut lines = Lines { lines: text.lines().enumerate().skip(4).collect::<Vec<_>>().into_iter() };
        let size = lines.only("N")?;
        let block = lines.only("NB")?;
        let order = lines.choice("PMAP", &[GridOrder::RowMajor, GridOrder::ColumnMajor])?;
        lines.one_of("the number of grids")?;
        let (rows, columns) = (lines.number("P")?, lines.number("Q")?);
        lines.skip("threshold")?;
        for list in ["PFACT", "NBMIN", "NDIV", "RFACT"] {
            lines.one_of(list)?;
            lines.skip(list)?;
        }
        lines.one_of("the number of broadcasts")?;
        let broadcast = lines.choice("BCAST", PanelBroadcast::ALL)?;
        let depth = lines.only("DEPTH")?;
        let swap = lines.choice("SWAP", &[RowSwap::BinaryExchange, RowSwap::SpreadRoll, RowSwap::Mix])?;
        let swap_threshold = lines.number("the swapping threshold")?;
        Ok(HplInput { size, block, order, rows, columns, broadcast, depth, swap, swap_threshold })
    }
}

/// The lines that are left, with their numbers from 0.
struct Lines<'a> {
    lines: std::vec::IntoIter<(usize, &'a str)>,
}

impl Lines<'_> {
    fn skip(&mut self, what: &str) -> Result<(), InputError> {
        self.lines.next().map(|_| ()).ok_or_else(|| ends_before(what))
    }

    /// The number at the start of a line.
    fn number(&mut self, what: &str) -> Result<u32, InputError> {
        self.numbered(what).map(|(_, number)| number)
    }

    fn numbered(&mut self, what: &str) -> Result<(usize, u32), InputError> {
        let (line, text) = self.lines.next().ok_or_else(|| ends_before(what))?;
        let word = text.split_whitespace().next().unwrap_or("");
        let excerpt = if word.is_empty() { "an empty line" } else { word };
        let error = || error(line, excerpt.chars().take(40).collect::<String>(), format!("{what}, a number from 0 on"));
        word.parse().map(|number| (line, number)).map_err(|_| error())
    }

    /// How many values a list has: one.
    fn one_of(&mut self, what: &str) -> Result<(), InputError> {
        let (line, count) = self.numbered(what)?;
        let expected = format!("1: a scenario is one run; {what} has several values");
        if count == 1 { Ok(()) } else { Err(error(line, count, expected)) }
    }

    /// The only value of a list behind its length.
    fn only(&mut self, what: &str) -> Result<u32, InputError> {
        self.one_of(what)?;
        self.number(what)
    }

    /// One of the values that HPL counts from 0.
    fn choice<T: Copy>(&mut self, what: &str, all: &[T]) -> Result<T, InputError> {
        let (line, number) = self.numbered(what)?;
        let last = all.len() - 1;
        all.get(number as usize).copied().ok_or_else(|| error(line, number, format!("{what}, 0 to {last}")))
    }
}

fn error(line: usize, mistake: impl std::fmt::Display, expected: impl std::fmt::Display) -> InputError {
    InputError::new("file", format!("line {}: {mistake}", line + 1), expected)
}

fn ends_before(what: &str) -> InputError {
    InputError::new("file", "the end of the file", format!("{what} of an HPL.dat"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// That of the 96 nodes in the artefact of Kenny et al. 2020, by its published values.
    const TEXT: &str = "HPLinpack benchmark input file\n\
        a site\n\
        HPL.out  output file name (if any)\n\
        6        device out\n\
        1        # of problems sizes (N)\n\
        491520   Ns\n\
        1        # of NBs\n\
        256      NBs\n\
        0        PMAP process mapping (0=Row-,1=Column-major)\n\
        1        # of process grids (P x Q)\n\
        32       Ps\n\
        96       Qs\n\
        16.0     threshold\n\
        1        # of panel fact\n\
        0        PFACTs (0=left, 1=Crout, 2=Right)\n\
        1        # of recursive stopping criterium\n\
        4        NBMINs (>= 1)\n\
        1        # of panels in recursion\n\
        2        NDIVs\n\
        1        # of recursive panel fact.\n\
        0        RFACTs (0=left, 1=Crout, 2=Right)\n\
        1        # of broadcast\n\
        0        BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)\n\
        1        # of lookahead depth\n\
        0        DEPTHs (>=0)\n\
        2        SWAP (0=bin-exch,1=long,2=mix)\n\
        64       swapping threshold\n\
        0        L1 in (0=transposed,1=no-transposed) form\n\
        0        U  in (0=transposed,1=no-transposed) form\n\
        1        Equilibration (0=no,1=yes)\n\
        8        memory alignment in double (> 0)\n";

    #[test]
    fn the_values_are_those_of_their_lines() {
        let expected = HplInput {
            size: 491_520,
            block: 256,
            order: GridOrder::RowMajor,
            rows: 32,
            columns: 96,
            broadcast: PanelBroadcast::Ring,
            depth: 0,
            swap: RowSwap::Mix,
            swap_threshold: 64,
        };
        assert_eq!(HplInput::read(TEXT), Ok(expected));
    }

    #[test]
    fn a_damaged_file_is_rejected_with_its_line() {
        let error = |from: &str, to: &str| HplInput::read(&TEXT.replace(from, to)).unwrap_err().to_string();
        let several = error("1        # of NBs\n256 ", "2        # of NBs\n256 192");
        assert_eq!(several, "file: line 7: 2; expected 1: a scenario is one run; NB has several values");
        assert_eq!(error("491520", "many"), "file: line 6: many; expected N, a number from 0 on");
        assert_eq!(error("491520", "-1"), "file: line 6: -1; expected N, a number from 0 on");
        assert_eq!(error("0        BCAST", "6        BCAST"), "file: line 23: 6; expected BCAST, 0 to 5");
        assert_eq!(error("32       Ps", ""), "file: line 11: an empty line; expected P, a number from 0 on");
    }

    #[test]
    fn a_file_cut_anywhere_is_read_or_rejected() {
        for end in 0..TEXT.len() {
            let _ = HplInput::read(&TEXT[..end]);
        }
        let error = HplInput::read("").unwrap_err().to_string();
        assert_eq!(error, "file: the end of the file; expected N of an HPL.dat");
    }
}
