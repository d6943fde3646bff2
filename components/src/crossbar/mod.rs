//! The crossbar: a request and a reply network between clusters and memory partitions.
