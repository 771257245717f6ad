//! The classic protocol, request by request.

mod changing;
mod counting;
mod joining;
mod lab;
mod loading;
mod long;
mod members;
mod offsets;
mod requests;
mod simulation;
mod static_members;
mod syncing;
