"""Odd, wrong and extreme requests, made from the schemas in Apache Kafka's own jar, asked of Apache Kafka and of the broker under test."""
