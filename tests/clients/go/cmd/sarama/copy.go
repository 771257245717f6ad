package main

import (
	"context"
	"time"

	"aplomb/tests/clients/internal/suite"

	"github.com/IBM/sarama"
)

// copier is the member of the group.
type copier struct {
	options     suite.Options
	producer    sarama.SyncProducer
	transaction int
	left        int
	done        context.CancelFunc
}

func (c *copier) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (c *copier) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (c *copier) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	var batch []*sarama.ConsumerMessage
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			batch = append(batch, message)
		case <-session.Context().Done():
			return nil
		}
		if len(batch) < int(c.options.Number("--batch", 5)) && len(batch) < c.left {
			continue
		}
		// What is aborted is done again.
		for committed := false; !committed; c.transaction++ {
			committed = suite.IsCommitted(c.transaction)
			if err := c.transact(batch, committed); err != nil {
				return err
			}
			suite.PrintEnd(committed, len(batch))
		}
		if c.left -= len(batch); c.left <= 0 {
			c.done()
			return nil
		}
		batch = nil
	}
}

func (c *copier) transact(batch []*sarama.ConsumerMessage, commits bool) error {
	if err := c.producer.BeginTxn(); err != nil {
		return err
	}
	for _, message := range batch {
		copied := &sarama.ProducerMessage{Topic: c.options["--output"], Value: sarama.ByteEncoder(message.Value)}
		if _, _, err := c.producer.SendMessage(copied); err != nil {
			return err
		}
	}
	last := batch[len(batch)-1]
	offsets := []*sarama.PartitionOffsetMetadata{{Partition: last.Partition, Offset: last.Offset + 1}}
	if err := c.producer.AddOffsetsToTxn(map[string][]*sarama.PartitionOffsetMetadata{last.Topic: offsets}, c.options["--group"]); err != nil {
		return err
	}
	if commits {
		return c.producer.CommitTxn()
	}
	return c.producer.AbortTxn()
}

func copyAll(o suite.Options) error {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Net.MaxOpenRequests = 1
	config.Producer.Idempotent = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	config.Producer.Transaction.ID = o["--transactional-id"]
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	producer, err := sarama.NewSyncProducer(o.Bootstrap(), config)
	if err != nil {
		return err
	}
	defer producer.Close()
	group, err := sarama.NewConsumerGroup(o.Bootstrap(), o["--group"], config)
	if err != nil {
		return err
	}
	defer group.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(o.Number("--timeout", 60))*time.Second)
	defer cancel()
	member := &copier{options: o, producer: producer, left: int(o.Number("--count", 1)), done: cancel}
	for member.left > 0 {
		if err := group.Consume(ctx, []string{o["--topic"]}, member); err != nil {
			return err
		}
		if ctx.Err() != nil && member.left > 0 {
			return ctx.Err()
		}
	}
	return nil
}
