mod classic_client;
mod convert;
mod lab;
mod rows;
mod script;
mod simulation;
