package main

import (
	"context"
	"time"

	"aplomb/tests/clients/internal/suite"

	"github.com/twmb/franz-go/pkg/kgo"
)

func copyAll(o suite.Options) error {
	session, err := kgo.NewGroupTransactSession(
		kgo.SeedBrokers(o.Bootstrap()...),
		kgo.TransactionalID(o["--transactional-id"]),
		kgo.ConsumerGroup(o["--group"]),
		kgo.ConsumeTopics(o["--topic"]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(),
		kgo.SessionTimeout(6*time.Second),
		kgo.DefaultProduceTopic(o["--output"]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	)
	if err != nil {
		return err
	}
	defer session.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(o.Number("--timeout", 60))*time.Second)
	defer cancel()

	count, copied := int(o.Number("--count", 1)), 0
	for transaction := 0; copied < count; {
		fetches := session.PollRecords(ctx, int(o.Number("--batch", 5)))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// While the broker is away there are errors; the client tries again.
		if fetches.NumRecords() == 0 {
			continue
		}
		if err := session.Begin(); err != nil {
			return err
		}
		promise := kgo.AbortingFirstErrPromise(session.Client())
		fetches.EachRecord(func(record *kgo.Record) {
			session.Produce(ctx, &kgo.Record{Value: record.Value}, promise.Promise())
		})
		isRight := promise.Err() == nil && suite.IsCommitted(transaction)
		committed, err := session.End(ctx, kgo.TransactionEndTry(isRight))
		if err != nil {
			return err
		}
		suite.PrintEnd(committed, fetches.NumRecords())
		transaction++
		if committed {
			copied += fetches.NumRecords()
		}
	}
	return nil
}
