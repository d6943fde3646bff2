//! Description files: a span-carrying tree over RON, quantities, expressions, overrides, typed access with places.
