package main

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"strconv"
)

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// value is what record seq of the producer id carries in a partition: its name, "id/partition/seq/", and then bytes that follow
// from the name, so that a reader can check every one of them.
func value(id string, partition int32, seq int64, size int) []byte {
	text := fmt.Appendf(make([]byte, 0, size), "%s/%d/%d/", id, partition, seq)
	sum := fnv.New32a()
	sum.Write(text)
	state := sum.Sum32() | 1
	for len(text) < size {
		state ^= state << 13
		state ^= state >> 17
		state ^= state << 5
		text = append(text, alphabet[state&63])
	}
	return text
}

// parse names the record that a value belongs to; an error if a byte of it is not what was sent.
func parse(data []byte) (id string, partition int32, seq int64, err error) {
	parts := bytes.SplitN(data, []byte("/"), 4)
	if len(parts) != 4 {
		return "", 0, 0, fmt.Errorf("a value that no producer sent: %.60q", data)
	}
	number, err := strconv.ParseInt(string(parts[1]), 10, 32)
	if err == nil {
		seq, err = strconv.ParseInt(string(parts[2]), 10, 64)
	}
	if err != nil {
		return "", 0, 0, fmt.Errorf("a value that no producer sent: %.60q", data)
	}
	id, partition = string(parts[0]), int32(number)
	if !bytes.Equal(data, value(id, partition, seq, len(data))) {
		return "", 0, 0, fmt.Errorf("damaged value of %s/%d/%d", id, partition, seq)
	}
	return id, partition, seq, nil
}
