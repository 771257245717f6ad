mod lab;
mod rows;
mod simulation;
