package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	earliest = -2
	latest   = -1
)

// found is one record as read.
type found struct {
	At        int64  `json:"at,omitempty"`
	Partition int32  `json:"partition"`
	Offset    int64  `json:"offset"`
	ID        string `json:"id"`
	Seq       int64  `json:"seq"`
}

// read prints every record of its partitions, from "--from 0:17,3:0" (or the start) up to the end as it was when it began, and last
// where that was. A record that is not where and what a producer sent is an error.
func read(o options) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(o.number("timeout", 60))*time.Second)
	defer cancel()
	asking, err := o.client()
	if err != nil {
		return err
	}
	defer asking.Close()
	partitions := o.partitions()
	ends, err := listOffsets(ctx, asking, o["topic"], partitions, latest)
	if err != nil {
		return err
	}
	at, err := o.positions(ctx, asking, partitions)
	if err != nil {
		return err
	}
	starts, behind := map[int32]int64{}, map[int32]kgo.Offset{}
	for _, partition := range partitions {
		starts[partition] = at[partition]
		if at[partition] < ends[partition] {
			behind[partition] = kgo.NewOffset().At(at[partition])
		}
	}
	if err := readUntil(ctx, o, behind, at, ends); err != nil {
		return err
	}
	stdout.print(map[string]any{"starts": starts, "ends": ends})
	return nil
}

// positions are where reading begins: what --from says, and for the rest the start of the log.
func (o options) positions(ctx context.Context, client *kgo.Client, partitions []int32) (map[int32]int64, error) {
	at, err := listOffsets(ctx, client, o["topic"], partitions, earliest)
	if err != nil || o["from"] == "" {
		return at, err
	}
	for _, pair := range strings.Split(o["from"], ",") {
		partition, offset, _ := strings.Cut(pair, ":")
		p, err := strconv.ParseInt(partition, 10, 32)
		if err != nil {
			return nil, err
		}
		if at[int32(p)], err = strconv.ParseInt(offset, 10, 64); err != nil {
			return nil, err
		}
	}
	return at, nil
}

// readUntil reads the partitions of behind, from there to their ends.
func readUntil(ctx context.Context, o options, behind map[int32]kgo.Offset, at, ends map[int32]int64) error {
	if len(behind) == 0 {
		return nil
	}
	client, err := o.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o["topic"]: behind}), kgo.ConsumeResetOffset(kgo.NoResetOffset()))
	if err != nil {
		return err
	}
	defer client.Close()
	for left := len(behind); left > 0; {
		fetches := client.PollFetches(ctx)
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("partition %d, at %v of %v: %w", errs[0].Partition, at, ends, errs[0].Err)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			record := records.Next()
			if at[record.Partition] >= ends[record.Partition] {
				continue
			}
			if err := show(record, 0); err != nil {
				return err
			}
			at[record.Partition] = record.Offset + 1
			if record.Offset+1 >= ends[record.Partition] {
				left--
			}
		}
	}
	return nil
}

// follow prints records as they arrive, from the end as it is now, until standard input ends.
func follow(o options) error {
	ctx, cancel := context.WithCancel(context.Background())
	stop := stopped()
	go func() {
		<-stop
		cancel()
	}()
	asking, err := o.client()
	if err != nil {
		return err
	}
	defer asking.Close()
	ends, err := listOffsets(ctx, asking, o["topic"], o.partitions(), latest)
	if err != nil {
		return err
	}
	from := map[int32]kgo.Offset{}
	for partition, end := range ends {
		from[partition] = kgo.NewOffset().At(end)
	}
	client, err := o.client(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{o["topic"]: from}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxWait(500*time.Millisecond),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	stdout.print(map[string]any{"positioned": true})
	stdout.flushOften()
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if errs := fetches.Errors(); len(errs) > 0 {
			return fmt.Errorf("partition %d: %w", errs[0].Partition, errs[0].Err)
		}
		for records := fetches.RecordIter(); !records.Done(); {
			if err := show(records.Next(), now()); err != nil {
				return err
			}
		}
	}
}

func show(record *kgo.Record, at int64) error {
	id, partition, seq, err := parse(record.Value)
	if err != nil {
		return fmt.Errorf("partition %d, offset %d: %w", record.Partition, record.Offset, err)
	}
	if partition != record.Partition {
		return fmt.Errorf("partition %d, offset %d: a record that was sent to partition %d", record.Partition, record.Offset, partition)
	}
	stdout.print(found{At: at, Partition: partition, Offset: record.Offset, ID: id, Seq: seq})
	return nil
}

// listOffsets asks for one offset of each partition, again until each has an answer: after a restart a partition may not be there yet.
func listOffsets(ctx context.Context, client *kgo.Client, topic string, partitions []int32, timestamp int64) (map[int32]int64, error) {
	for {
		offsets, err := tryListOffsets(ctx, client, topic, partitions, timestamp)
		if err == nil || !kerr.IsRetriable(err) {
			return offsets, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("no offsets of %s: %w", topic, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func tryListOffsets(ctx context.Context, client *kgo.Client, topic string, partitions []int32, timestamp int64) (map[int32]int64, error) {
	request := kmsg.NewPtrListOffsetsRequest()
	request.ReplicaID = -1
	asked := kmsg.NewListOffsetsRequestTopic()
	asked.Topic = topic
	for _, partition := range partitions {
		one := kmsg.NewListOffsetsRequestTopicPartition()
		one.Partition, one.Timestamp = partition, timestamp
		asked.Partitions = append(asked.Partitions, one)
	}
	request.Topics = append(request.Topics, asked)
	offsets := make(map[int32]int64)
	for _, shard := range client.RequestSharded(ctx, request) {
		if shard.Err != nil {
			return nil, shard.Err
		}
		for _, answered := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, partition := range answered.Partitions {
				if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
					return nil, err
				}
				offsets[partition.Partition] = partition.Offset
			}
		}
	}
	return offsets, nil
}
