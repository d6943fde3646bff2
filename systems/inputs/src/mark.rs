//! Mark that some editors write at the beginning of a text.

/// Marks a text as UTF-8; skipped at the start of graphs and tables.
pub(crate) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
