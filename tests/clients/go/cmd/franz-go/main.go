// The franz-go client of the end-to-end suite.
package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"aplomb/tests/clients/internal/suite"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	suite.Run(suite.Verbs{Produce: produce, Consume: consume, Group: group, Copy: copyAll, Transfer: transfer})
}

func codec(name string) (kgo.CompressionCodec, error) {
	switch name {
	case "none":
		return kgo.NoCompression(), nil
	case "gzip":
		return kgo.GzipCompression(), nil
	case "snappy":
		return kgo.SnappyCompression(), nil
	case "lz4":
		return kgo.Lz4Compression(), nil
	case "zstd":
		return kgo.ZstdCompression(), nil
	}
	return kgo.NoCompression(), fmt.Errorf("unknown compression %q", name)
}

func produce(o suite.Options) error {
	compression, err := codec(o.Text("--compression", "none"))
	if err != nil {
		return err
	}
	options := []kgo.Opt{
		kgo.SeedBrokers(o.Bootstrap()...),
		kgo.DefaultProduceTopic(o["--topic"]),
		kgo.ProducerBatchCompression(compression),
		kgo.ProducerLinger(5 * time.Millisecond),
		kgo.AllowAutoTopicCreation(),
	}
	acks := o.Text("--acks", "all")
	switch acks {
	case "0":
		options = append(options, kgo.RequiredAcks(kgo.NoAck()))
	case "1":
		options = append(options, kgo.RequiredAcks(kgo.LeaderAck()))
	default:
		options = append(options, kgo.RequiredAcks(kgo.AllISRAcks()))
	}
	if !o.Has("--idempotent") {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if o.Has("--partition") {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.Close()
	// The library's own delivery timeout counts from a record's time stamp, which here may be years ago.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()

	var acknowledged atomic.Int64
	rate := o.Number("--rate", 0)
	start := time.Now()
	for seq := 0; seq < int(o.Number("--count", 1)); seq++ {
		if rate > 0 {
			time.Sleep(time.Until(start.Add(time.Duration(seq) * time.Second / time.Duration(rate))))
		}
		record := &kgo.Record{Key: o.Key(seq), Value: o.Value(seq), Partition: int32(o.Number("--partition", 0))}
		if o.Has("--timestamp") {
			record.Timestamp = time.UnixMilli(o.Number("--timestamp", 0) + int64(seq))
		}
		for _, header := range o.Headers() {
			record.Headers = append(record.Headers, kgo.RecordHeader{Key: header.Key, Value: header.Value})
		}
		client.Produce(ctx, record, func(record *kgo.Record, err error) {
			if err == nil {
				acknowledged.Add(1)
			}
			if err != nil || acks != "0" {
				suite.PrintAcknowledged(record.Partition, record.Offset, seq, err)
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if acks == "0" {
		suite.Print(map[string]any{"count": acknowledged.Load()})
	}
	return nil
}

func consume(o suite.Options) error {
	offset := kgo.NewOffset()
	switch from := o.Text("--offset", "earliest"); {
	case o.Has("--timestamp"):
		offset = offset.AfterMilli(o.Number("--timestamp", 0))
	case from == "earliest":
		offset = offset.AtStart()
	case from == "latest":
		offset = offset.AtEnd()
	default:
		offset = offset.At(o.Number("--offset", 0))
	}
	partition := int32(o.Number("--partition", 0))
	client, err := kgo.NewClient(
		kgo.SeedBrokers(o.Bootstrap()...),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o["--topic"]: {partition: offset}}),
		kgo.FetchMaxPartitionBytes(int32(o.Number("--max-partition-bytes", 1<<20))),
		// An out-of-range offset is reported instead of silently becoming another one.
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
	)
	if err != nil {
		return err
	}
	defer client.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(o.Number("--timeout", 30))*time.Second)
	defer cancel()
	count := int(o.Number("--count", 1))
	for seen := 0; seen < count; {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return errs[0].Err
		}
		fetches.EachRecord(func(record *kgo.Record) {
			if seen++; seen > count {
				return
			}
			var headers []suite.Header
			for _, header := range record.Headers {
				headers = append(headers, suite.Header{Key: header.Key, Value: header.Value})
			}
			suite.PrintRecord("", record.Partition, record.Offset, record.Timestamp.UnixMilli(), record.Key, record.Value, headers)
		})
	}
	return nil
}
