// The Sarama client of the end-to-end suite.
package main

import (
	"fmt"
	"time"

	"aplomb/tests/clients/internal/suite"

	"github.com/IBM/sarama"
)

func main() {
	suite.Run(suite.Verbs{Produce: produce, Consume: consume, Group: group, Copy: copyAll})
}

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

var acksByName = map[string]sarama.RequiredAcks{"0": sarama.NoResponse, "1": sarama.WaitForLocal, "all": sarama.WaitForAll}

func produce(o suite.Options) error {
	codec, known := codecs[o.Text("--compression", "none")]
	if !known {
		return fmt.Errorf("unknown compression %q", o["--compression"])
	}
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Compression = codec
	config.Producer.RequiredAcks = acksByName[o.Text("--acks", "all")]
	config.Producer.Return.Successes = true
	config.Producer.Return.Errors = true
	config.Producer.Flush.Frequency = 5 * time.Millisecond
	config.Producer.MaxMessageBytes = 64 << 20
	if o.Has("--partition") {
		config.Producer.Partitioner = sarama.NewManualPartitioner
	}
	// One request at a time: Sarama demands it for idempotence, and without it a retry could reorder records.
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = o.Has("--idempotent")
	producer, err := sarama.NewAsyncProducer(o.Bootstrap(), config)
	if err != nil {
		return err
	}

	count := int(o.Number("--count", 1))
	rate := o.Number("--rate", 0)
	go func() {
		start := time.Now()
		for seq := 0; seq < count; seq++ {
			if rate > 0 {
				time.Sleep(time.Until(start.Add(time.Duration(seq) * time.Second / time.Duration(rate))))
			}
			producer.Input() <- message(o, seq)
		}
	}()
	acknowledged := 0
	for range count {
		select {
		case sent := <-producer.Successes():
			acknowledged++
			if config.Producer.RequiredAcks != sarama.NoResponse {
				suite.PrintAcknowledged(sent.Partition, sent.Offset, sent.Metadata.(int), nil)
			}
		case failed := <-producer.Errors():
			suite.PrintAcknowledged(0, 0, failed.Msg.Metadata.(int), failed.Err)
		}
	}
	if config.Producer.RequiredAcks == sarama.NoResponse {
		suite.Print(map[string]any{"count": acknowledged})
	}
	return producer.Close()
}

func message(o suite.Options, seq int) *sarama.ProducerMessage {
	message := &sarama.ProducerMessage{Topic: o["--topic"], Partition: int32(o.Number("--partition", 0)), Metadata: seq}
	// A nil []byte inside the interface would be an empty value, not a null one.
	if key := o.Key(seq); key != nil {
		message.Key = sarama.ByteEncoder(key)
	}
	if value := o.Value(seq); value != nil {
		message.Value = sarama.ByteEncoder(value)
	}
	if o.Has("--timestamp") {
		message.Timestamp = time.UnixMilli(o.Number("--timestamp", 0) + int64(seq))
	}
	for _, header := range o.Headers() {
		message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(header.Key), Value: header.Value})
	}
	return message
}

func consume(o suite.Options) error {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Consumer.Return.Errors = true
	// Closing waits for the fetch that is parked at the broker.
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Fetch.Default = int32(o.Number("--max-partition-bytes", 1<<20))
	client, err := sarama.NewClient(o.Bootstrap(), config)
	if err != nil {
		return err
	}
	defer client.Close()
	consumer, err := sarama.NewConsumerFromClient(client)
	if err != nil {
		return err
	}
	defer consumer.Close()

	partition := int32(o.Number("--partition", 0))
	var from int64
	switch asked := o.Text("--offset", "earliest"); {
	case o.Has("--timestamp"):
		if from, err = client.GetOffset(o["--topic"], partition, o.Number("--timestamp", 0)); err != nil {
			return err
		}
	case asked == "earliest":
		from = sarama.OffsetOldest
	case asked == "latest":
		from = sarama.OffsetNewest
	default:
		from = o.Number("--offset", 0)
	}
	records, err := consumer.ConsumePartition(o["--topic"], partition, from)
	if err != nil {
		return err
	}
	defer records.Close()

	deadline := time.After(time.Duration(o.Number("--timeout", 30)) * time.Second)
	for range o.Number("--count", 1) {
		select {
		case record := <-records.Messages():
			var headers []suite.Header
			for _, header := range record.Headers {
				headers = append(headers, suite.Header{Key: string(header.Key), Value: header.Value})
			}
			suite.PrintRecord("", record.Partition, record.Offset, record.Timestamp.UnixMilli(), record.Key, record.Value, headers)
		case failure := <-records.Errors():
			return failure
		case <-deadline:
			return nil
		}
	}
	return nil
}
