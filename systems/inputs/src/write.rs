//! Writers for graph files, the counterparts of the readers.

use std::io::{self, Write};

use crate::csr::Csr;

/// Writes a graph as a Matrix Market coordinate file: `general`, with field `integer` if it has
/// weights and `pattern` otherwise. Reading it gives the same graph if its rows are sorted. All
/// graphs from this crate's readers and generators are.
///
/// # Errors
/// Returns the errors of the output.
pub fn write_matrix_market(graph: &Csr, mut output: impl Write) -> io::Result<()> {
    let field = if graph.weights().is_some() {
        "integer"
    } else {
        "pattern"
    };
    writeln!(output, "%%MatrixMarket matrix coordinate {field} general")?;
    writeln!(output, "{0} {0} {1}", graph.vertices(), graph.arcs())?;
    write_arcs(graph, 1, output)
}

/// Writes a graph as an edge list. The format does not state the number of vertices, so those after
/// the last one with an arc are lost.
///
/// # Errors
/// Returns the errors of the output.
pub fn write_edge_list(graph: &Csr, output: impl Write) -> io::Result<()> {
    write_arcs(graph, 0, output)
}

fn write_arcs(graph: &Csr, first: u32, mut output: impl Write) -> io::Result<()> {
    for from in 0..graph.vertices() {
        for (to, weight) in graph.arcs_of(from) {
            write!(output, "{} {}", from + first, to + first)?;
            if graph.weights().is_some() {
                write!(output, " {weight}")?;
            }
            writeln!(output)?;
        }
    }
    Ok(())
}
