package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"time"

	"aplomb/tests/clients/internal/suite"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

var errFenced = errors.New("fenced")

// teller takes from one account and gives to another, each time in one transaction.
type teller struct {
	options suite.Options
	random  *rand.Rand
	next    int
}

func transfer(o suite.Options) error {
	t := &teller{options: o, random: rand.New(rand.NewSource(o.Number("--seed", 0)))}
	for !t.isOver() {
		err := t.goOn()
		if errors.Is(err, errFenced) {
			suite.PrintNow(map[string]any{"fenced": true})
			return nil
		}
		if err != nil {
			// How this one has ended is not known; another producer of the same id aborts it if it has not.
			suite.PrintNow(map[string]any{"failed": err.Error()})
		}
	}
	return nil
}

func (t *teller) isOver() bool {
	_, err := os.Stat(t.options["--until"])
	return err == nil
}

func (t *teller) goOn() error {
	client, err := kgo.NewClient(
		kgo.SeedBrokers(t.options.Bootstrap()...),
		kgo.TransactionalID(t.options["--transactional-id"]),
		kgo.TransactionTimeout(10*time.Second),
		kgo.DefaultProduceTopic(t.options["--topic"]),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RetryBackoffFn(func(int) time.Duration { return 100 * time.Millisecond }),
	)
	if err != nil {
		return err
	}
	defer client.Close()
	for !t.isOver() {
		if err := t.transact(client); err != nil {
			return err
		}
	}
	return nil
}

func (t *teller) transact(client *kgo.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	partitions := int(t.options.Number("--partitions", 1))
	id := fmt.Sprintf("%s.%d", t.options["--name"], t.next)
	t.next++
	from := t.random.Intn(partitions)
	to := (from + 1 + t.random.Intn(partitions-1)) % partitions
	amount := 1 + t.random.Intn(100)
	commits := t.random.Intn(5) != 0
	if err := client.BeginTransaction(); err != nil {
		return fenced(err)
	}
	err := client.ProduceSync(ctx,
		&kgo.Record{Partition: int32(from), Value: []byte(fmt.Sprintf("%s:%d", id, -amount))},
		&kgo.Record{Partition: int32(to), Value: []byte(fmt.Sprintf("%s:%d", id, amount))},
	).FirstErr()
	if err != nil {
		if errors.Is(fenced(err), errFenced) {
			return errFenced
		}
		commits = false
		if err := client.AbortBufferedRecords(ctx); err != nil {
			return err
		}
	}
	if err := client.EndTransaction(ctx, kgo.TransactionEndTry(commits)); err != nil {
		return fenced(err)
	}
	suite.PrintNow(map[string]any{"ended": id, "committed": commits})
	return nil
}

func fenced(err error) error {
	if errors.Is(err, kerr.ProducerFenced) || errors.Is(err, kerr.InvalidProducerEpoch) {
		return errFenced
	}
	return err
}
