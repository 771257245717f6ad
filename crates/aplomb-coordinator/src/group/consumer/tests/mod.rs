mod classic_client;
mod convert;
mod gaps;
mod lab;
mod rows;
mod script;
mod simulation;
