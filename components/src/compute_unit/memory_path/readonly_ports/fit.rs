//! Checks that connections and addresses match the specified read paths.

use warpweave_framework::Unfit;

use super::ReadonlyPorts;
use super::queue::ReadonlyQueue;
use crate::compute_unit::spec::ComputeUnitSpec;
use crate::demands::Demands;

impl ReadonlyPorts {
    /// Fails if a path has no connection, a connection has no path, or arguments overlap other
    /// data.
    pub(crate) fn fit(
        &self,
        spec: &ComputeUnitSpec,
        demands: Option<&Demands>,
    ) -> Result<(), Unfit> {
        for port in &self.0 {
            let names = port.names;
            let refuse = |message: String| Err(Unfit::at(names.path, message));
            let is_wired = port.port.request.is_connected();
            if port.queue.is_some() && !is_wired {
                return refuse(format!(
                    "{} use the port `{path}`, which is not connected; wire it to a cache, such as `\"cu.{path} <-> {path}.up\": (latency: 1)`, or remove `{path}`",
                    names.loads,
                    path = names.path,
                ));
            }
            for (name, is_connected) in [
                (names.path, is_wired),
                (names.control, port.control.command.is_connected()),
            ] {
                if port.queue.is_none() && is_connected {
                    return refuse(format!(
                        "the port `{name}` is connected, but {} do not use `{path}`; set `{path}`, or \
                         leave the wire out",
                        names.loads,
                        path = names.path,
                    ));
                }
            }
        }
        self.arguments_fit(spec, demands)
    }

    fn arguments_fit(
        &self,
        spec: &ComputeUnitSpec,
        demands: Option<&Demands>,
    ) -> Result<(), Unfit> {
        let mut ranges = self.queues().filter_map(ReadonlyQueue::arguments);
        let Some(arguments) = ranges.next() else {
            return Ok(());
        };
        let refuse = |what: String| {
            let message = format!(
                "kernel arguments, {:#x} to {:#x}, overlap {what}",
                arguments.start, arguments.end
            );
            Unfit::at("constants.arguments", message)
        };
        let private = spec.private_range();
        if private.start < arguments.end && arguments.start < private.end {
            return Err(refuse(format!(
                "private memory of the compute unit, {:#x} to {:#x}",
                private.start, private.end
            )));
        }
        let buffers = demands.map_or(&[][..], |demands| &demands.buffers);
        let over = buffers.iter().find(|buffer| {
            let end = buffer.base.saturating_add(buffer.bytes);
            buffer.base < arguments.end && arguments.start < end
        });
        over.map_or(Ok(()), |buffer| {
            let what = format!("buffer `{}` at {:#x}", buffer.name, buffer.base);
            let there = format!("`{}` has {} bytes", buffer.name, buffer.bytes);
            Err(refuse(what).beside_origin(there, buffer.origin))
        })
    }
}
