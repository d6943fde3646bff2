//! Cluster port: several compute units on one crossbar port.
