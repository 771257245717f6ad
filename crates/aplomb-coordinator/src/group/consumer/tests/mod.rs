mod convert;
mod lab;
mod rows;
mod simulation;
