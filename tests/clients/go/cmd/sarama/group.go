package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"aplomb/tests/clients/internal/suite"

	"github.com/IBM/sarama"
)

var strategies = map[string]sarama.BalanceStrategy{
	"range":      sarama.NewBalanceStrategyRange(),
	"roundrobin": sarama.NewBalanceStrategyRoundRobin(),
	"sticky":     sarama.NewBalanceStrategySticky(),
}

func group(o suite.Options) error {
	me := suite.NewMember(o)
	strategy, known := strategies[o.Text("--assignor", "range")]
	if !known {
		return fmt.Errorf("unknown assignor %q", o["--assignor"])
	}
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Metadata.RefreshFrequency = time.Second
	config.Consumer.Return.Errors = true
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Group.Session.Timeout = me.Session
	config.Consumer.Group.Heartbeat.Interval = suite.Heartbeat
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategy}
	config.Consumer.Group.InstanceId = o["--instance"]
	config.Consumer.Offsets.AutoCommit.Enable = me.Auto
	config.Consumer.Offsets.AutoCommit.Interval = 500 * time.Millisecond
	if o.Text("--reset", "earliest") == "earliest" {
		config.Consumer.Offsets.Initial = sarama.OffsetOldest
	}
	membership, err := sarama.NewConsumerGroup(o.Bootstrap(), o["--group"], config)
	if err != nil {
		return err
	}
	go func() {
		for err := range membership.Errors() {
			me.Error(err)
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			// It ends with each rebalance.
			if err := membership.Consume(ctx, me.Topics, handler{me, &sync.Mutex{}}); err != nil && !errors.Is(err, context.Canceled) {
				me.Error(err)
				time.Sleep(100 * time.Millisecond)
			}
		}
	}()
	goesOn := true
	for goesOn && err == nil {
		time.Sleep(50 * time.Millisecond)
		goesOn, err = me.GoesOn()
	}
	cancel()
	<-ended
	return errors.Join(err, membership.Close())
}

type handler struct {
	me *suite.Member
	// Partitions are read at the same time, and what each commits is told in order.
	committing *sync.Mutex
}

func (h handler) Setup(session sarama.ConsumerGroupSession) error {
	h.me.Assigned(session.Claims(), session.GenerationID())
	return nil
}

func (h handler) Cleanup(session sarama.ConsumerGroupSession) error {
	h.commit(session)
	h.me.Gone("revoked", session.Claims())
	return nil
}

func (h handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case <-session.Context().Done():
			return nil
		case record, more := <-claim.Messages():
			if !more {
				return nil
			}
			var headers []suite.Header
			for _, header := range record.Headers {
				headers = append(headers, suite.Header{Key: string(header.Key), Value: header.Value})
			}
			session.MarkMessage(record, "")
			h.me.Record(suite.Partition{Topic: record.Topic, Number: record.Partition}, record.Offset, record.Timestamp, record.Key, record.Value, headers)
			if len(claim.Messages()) == 0 {
				h.commit(session)
			}
		}
	}
}

// commit commits all that is marked. The library does not return failures here; they come with its other errors.
func (h handler) commit(session sarama.ConsumerGroupSession) {
	h.committing.Lock()
	defer h.committing.Unlock()
	if offsets := h.me.Uncommitted(); len(offsets) > 0 {
		session.Commit()
		h.me.Committed(offsets)
	}
}
