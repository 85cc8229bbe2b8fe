//! A fabric as texts for other programs: one file per format.
//!
//! - [`Export`] lists the formats; [`Export::files`] writes the texts of one.
//! - Every text is written in time and memory linear in the links, and is a function of the fabric and the names alone.
//! - GraphML carries everything: [`Custom`](crate::Custom) reads the same fabric back, ports and places included. The
//!   edge list carries links; names, levels and places are lost.
//!
//! Left out: drawings, and files; callers give the texts names and store them.
//!
//! ```
//! use etherweave_topology::{Export, ExportNames, Family, SingleSwitch};
//!
//! let pair = SingleSwitch { hosts: 2, ..SingleSwitch::default() }.generate().unwrap();
//! let files = Export::Slurm.files(&pair, &ExportNames::default()).unwrap();
//! assert_eq!(files[0].suffix, "-topology.conf");
//! assert!(files[0].text.ends_with("SwitchName=switch0 Nodes=host[0-1] LinkSpeed=100000\n"));
//! ```

mod cables;
mod dot;
mod edge_list;
mod graphml;
mod netbox;
mod order;
mod slurm;
mod slurm_names;
mod text;

use crate::Topology;
use etherweave_primitives::{InputError, params};

/// One text of an export.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportFile {
    /// How the file's name ends, after the fabric's: "-cables.csv".
    pub suffix: &'static str,
    /// Content of the file.
    pub text: String,
}

impl ExportFile {
    fn new(suffix: &'static str, text: String) -> ExportFile {
        ExportFile { suffix, text }
    }
}

params! {
    /// Names in exports of what a fabric itself has no name for.
    pub struct ExportNames {
        /// The fabric. Default "fabric".
        pub fabric: String = "fabric".to_owned(),
        /// Beginning of a cable's label, before its number. Default "C".
        pub cable: String = "C".to_owned(),
        /// NetBox: the site of all devices. Default "Site".
        pub site: String = "Site".to_owned(),
        /// NetBox: what the name of a rack begins with, before the name of the switch that stands in it with its hosts;
        /// switches without hosts get none. Default "", no racks.
        pub rack: String = String::new(),
        /// NetBox: the manufacturer of both device types. Default "Generic".
        pub manufacturer: String = "Generic".to_owned(),
        /// NetBox: role and device type of hosts. Default "Host".
        pub host: String = "Host".to_owned(),
        /// NetBox: role and device type of switches. Default "Switch".
        pub switch: String = "Switch".to_owned(),
        /// NetBox: the interface of a host. Default "eth0".
        pub host_interface: String = "eth0".to_owned(),
        /// NetBox: what the interface of a switch begins with, before its port. Default "port".
        pub switch_interface: String = "port".to_owned(),
        /// NetBox: the type of copper cables. Default "dac-passive".
        pub copper: String = "dac-passive".to_owned(),
        /// NetBox: the type of optical cables. Default "aoc".
        pub optical: String = "aoc".to_owned(),
    }
}

/// Everything that follows from the list of formats.
macro_rules! exports {
    ($($(#[doc = $doc:literal])* $format:ident = $name:literal by $file:ident,)*) => {
        /// A format that other programs read.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Export {
            $($(#[doc = $doc])* $format,)*
        }

        impl Export {
            /// All of them.
            pub const ALL: &[Export] = &[$(Export::$format),*];

            /// Returns the name of the format in commands.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Export::$format => $name,)*
                }
            }

            /// Returns a sentence about the format.
            pub fn help(self) -> &'static str {
                match self {
                    $(Export::$format => concat!($($doc),*).trim_start(),)*
                }
            }

            /// The texts of a fabric in this format.
            ///
            /// # Errors
            /// When a node has a name that the format cannot express.
            pub fn files(self, topology: &Topology, names: &ExportNames) -> Result<Vec<ExportFile>, InputError> {
                match self {
                    $(Export::$format => $file::files(topology, names),)*
                }
            }
        }
    };
}

exports! {
    /// GraphML with everything a fabric has; Etherweave, NetworkX, Gephi and yEd read it.
    GraphMl = "graphml" by graphml,
    /// An edge list as CSV, which `[topology.custom]` reads; hosts and switches by number.
    EdgeList = "edges" by edge_list,
    /// DOT for Graphviz: ranks by level, clusters by group, parallel links as one edge.
    Dot = "dot" by dot,
    /// A cable plan as CSV: number, ends, ports, class, rate, length, medium, breakout.
    Cables = "cables" by cables,
    /// Devices, interfaces and cables as CSV for NetBox's bulk import.
    NetBox = "netbox" by netbox,
    /// The `topology.conf` of Slurm's topology/tree plugin.
    Slurm = "slurm" by slurm,
}

impl std::str::FromStr for Export {
    type Err = InputError;

    fn from_str(text: &str) -> Result<Export, InputError> {
        let known = Export::ALL.iter().copied().find(|export| export.name() == text);
        known.ok_or_else(|| {
            let names: Vec<&str> = Export::ALL.iter().map(|export| export.name()).collect();
            InputError::new("export", format!("\"{text}\""), format!("one of {}", names.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_format_is_found_by_its_name_and_an_error_names_the_known_ones() {
        for &export in Export::ALL {
            assert_eq!(export.name().parse(), Ok(export));
            assert!(export.help().ends_with('.'), "{export:?}: {}", export.help());
        }
        let error = "gml".parse::<Export>().unwrap_err().to_string();
        assert_eq!(error, "export: \"gml\"; expected one of graphml, edges, dot, cables, netbox, slurm");
    }
}
