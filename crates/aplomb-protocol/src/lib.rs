//! The wire: bytes to requests, responses to bytes.
