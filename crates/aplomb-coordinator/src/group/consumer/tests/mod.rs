mod lab;
mod rows;
