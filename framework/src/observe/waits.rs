//! What components tell a deadlock report about themselves.

/// Collects the waits that one component reports.
pub struct Waits<'a> {
    pub(crate) lines: &'a mut Vec<Wait>,
}

/// One thing a component waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Port through which the answer must come, as the component named it.
    pub port: Option<String>,
    /// In words of the hardware.
    pub what: String,
}

impl Waits<'_> {
    /// The component waits for a message on its input `port`.
    pub fn on_port(&mut self, port: impl Into<String>, what: impl Into<String>) {
        self.lines.push(Wait {
            port: Some(port.into()),
            what: what.into(),
        });
    }

    /// The component waits for something inside itself.
    pub fn inside(&mut self, what: impl Into<String>) {
        self.lines.push(Wait {
            port: None,
            what: what.into(),
        });
    }
}
