//! Inputs of GPU programs: graphs, readers, seeded generators and host reference algorithms.
