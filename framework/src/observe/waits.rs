//! Waits of components, as reported for a deadlock report.

/// Collects the waits that one component reports.
pub struct Waits<'a> {
    pub(crate) lines: &'a mut Vec<Wait>,
}

/// One condition that a component waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Port through which the reply must arrive, as the component named it.
    pub port: Option<String>,
    /// Describes the awaited condition in hardware terms.
    pub what: String,
}

impl Waits<'_> {
    /// Reports a wait for a message on the component's input `port`.
    pub fn on_port(&mut self, port: impl Into<String>, what: impl Into<String>) {
        self.lines.push(Wait {
            port: Some(port.into()),
            what: what.into(),
        });
    }

    /// Reports a wait for a condition inside the component.
    pub fn inside(&mut self, what: impl Into<String>) {
        self.lines.push(Wait {
            port: None,
            what: what.into(),
        });
    }
}
