package main

import (
	"context"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// acknowledgement is one line of the log: where a record went, or why it went nowhere.
type acknowledgement struct {
	At        int64  `json:"at"`
	Partition int32  `json:"partition"`
	Seq       int64  `json:"seq"`
	Offset    int64  `json:"offset"`
	Error     string `json:"error,omitempty"`
}

// load sends to its partitions in turn until standard input ends, waits for the last acknowledgement, and says how many records
// each partition was sent.
func load(o options) error {
	file, err := os.Create(o["log"])
	if err != nil {
		return err
	}
	log := newLines(file)
	client, err := o.client(
		kgo.DefaultProduceTopic(o["topic"]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(int(o.number("buffered", 4000))),
		kgo.UnknownTopicRetries(-1),
	)
	if err != nil {
		return err
	}
	defer client.Close()

	partitions := o.partitions()
	size, rate := int(o.number("size", 200)), o.number("rate", 0)
	sent := make(map[int32]int64)
	stop := stopped()
	pace := newPace(rate)
	log.flushOften()
	for turn := 0; ; turn++ {
		select {
		case <-stop:
			return finish(client, log, sent)
		default:
		}
		pace.wait()
		partition := partitions[turn%len(partitions)]
		seq := sent[partition]
		sent[partition]++
		record := &kgo.Record{Partition: partition, Value: value(o["id"], partition, seq, size)}
		client.Produce(context.Background(), record, func(record *kgo.Record, err error) {
			line := acknowledgement{At: now(), Partition: record.Partition, Seq: seq, Offset: record.Offset}
			if err != nil {
				line.Error = err.Error()
			}
			log.print(line)
		})
	}
}

func finish(client *kgo.Client, log *lines, sent map[int32]int64) error {
	if err := client.Flush(context.Background()); err != nil {
		return err
	}
	log.flush()
	stdout.print(map[string]any{"sent": sent})
	return nil
}

// pace lets through so many a second; time lost in waiting for the broker is not made up for.
type pace struct {
	every time.Duration
	due   time.Time
}

func newPace(rate int64) *pace {
	if rate == 0 {
		return &pace{}
	}
	return &pace{every: time.Second / time.Duration(rate), due: time.Now()}
}

func (p *pace) wait() {
	if p.every == 0 {
		return
	}
	time.Sleep(time.Until(p.due))
	p.due = p.due.Add(p.every)
	if late := time.Now().Add(-100 * time.Millisecond); p.due.Before(late) {
		p.due = late
	}
}
