// The first minute with franz-go: kgo for records, kadm for everything else.
package main

import (
	"context"
	"strconv"
	"time"

	"aplomb/tests/first/steps"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	steps.Run([]string{"github.com/twmb/franz-go", "github.com/twmb/franz-go/pkg/kadm"}, []steps.Step{
		{Name: "list", Do: topics},
		{Name: "cluster", Do: cluster},
		{Name: "create", Do: create},
		{Name: "describe", Do: describe},
		{Name: "configs", Do: configs},
		{Name: "produce", Do: produce},
		{Name: "consume", Do: consume},
		{Name: "missing", Do: missing},
		{Name: "restart", Do: restart},
		{Name: "delete", Do: remove},
		{Name: "nowhere", Do: nowhere},
	})
}

func soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 30*time.Second)
}

// asked is what an admin client of its own answers.
func asked[T any](bootstrap string, ask func(context.Context, *kadm.Client) (T, error)) (T, error) {
	ctx, cancel := soon()
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		var none T
		return none, err
	}
	defer client.Close()
	return ask(ctx, kadm.NewClient(client))
}

func topics(bootstrap string) (any, error) {
	return asked(bootstrap, func(ctx context.Context, admin *kadm.Client) (any, error) {
		found, err := admin.ListTopics(ctx)
		return steps.Shown(found.Names()), err
	})
}

func cluster(bootstrap string) (any, error) {
	return asked(bootstrap, func(ctx context.Context, admin *kadm.Client) (any, error) {
		found, err := admin.BrokerMetadata(ctx)
		return len(found.Brokers), err
	})
}

func create(bootstrap string) (any, error) {
	_, err := asked(bootstrap, func(ctx context.Context, admin *kadm.Client) (any, error) {
		return admin.CreateTopic(ctx, 3, 1, nil, steps.Topic)
	})
	if err != nil {
		return nil, err
	}
	return topics(bootstrap)
}

func describe(bootstrap string) (any, error) {
	return asked(bootstrap, func(ctx context.Context, admin *kadm.Client) (any, error) {
		found, err := admin.ListTopics(ctx, steps.Topic)
		return len(found[steps.Topic].Partitions), err
	})
}

func configs(bootstrap string) (any, error) {
	return asked(bootstrap, func(ctx context.Context, admin *kadm.Client) (any, error) {
		found, err := admin.DescribeTopicConfigs(ctx, steps.Topic)
		if err != nil {
			return nil, err
		}
		topic, err := found.On(steps.Topic, nil)
		for _, config := range topic.Configs {
			if config.Key == "cleanup.policy" {
				return config.MaybeValue(), err
			}
		}
		return topic.Configs, err
	})
}

func producer(bootstrap string) (*kgo.Client, error) {
	return kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.RecordPartitioner(kgo.ManualPartitioner()))
}

func consumer(bootstrap string) (*kgo.Client, error) {
	start := map[string]map[int32]kgo.Offset{steps.Topic: {0: kgo.NewOffset().AtStart()}}
	return kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ConsumePartitions(start))
}

func write(client *kgo.Client) error {
	ctx, cancel := soon()
	defer cancel()
	records := make([]*kgo.Record, steps.Records)
	for number := range records {
		records[number] = &kgo.Record{Topic: steps.Topic, Value: []byte(strconv.Itoa(number))}
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

func read(client *kgo.Client, count int) ([]int64, error) {
	ctx, cancel := soon()
	defer cancel()
	var found []int64
	for len(found) < count {
		fetched := client.PollRecords(ctx, count-len(found))
		if err := fetched.Err(); err != nil {
			return nil, err
		}
		fetched.EachRecord(func(record *kgo.Record) { found = append(found, record.Offset) })
	}
	return found, nil
}

func produce(bootstrap string) (any, error) {
	client, err := producer(bootstrap)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return steps.Records, write(client)
}

func consume(bootstrap string) (any, error) {
	client, err := consumer(bootstrap)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	found, err := read(client, steps.Records)
	return len(found), err
}

func missing(bootstrap string) (any, error) {
	return asked(bootstrap, func(ctx context.Context, admin *kadm.Client) (any, error) {
		found, err := admin.ListTopics(ctx, "missing")
		if err != nil {
			return nil, err
		}
		return nil, found["missing"].Err
	})
}

func restart(bootstrap string) (any, error) {
	writer, err := producer(bootstrap)
	if err != nil {
		return nil, err
	}
	defer writer.Close()
	reader, err := consumer(bootstrap)
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	return steps.OverRestart(
		func() error { return write(writer) },
		func(count int) ([]int64, error) { return read(reader, count) },
	)
}

func remove(bootstrap string) (any, error) {
	_, err := asked(bootstrap, func(ctx context.Context, admin *kadm.Client) (any, error) {
		return admin.DeleteTopic(ctx, steps.Topic)
	})
	if err != nil {
		return nil, err
	}
	return topics(bootstrap)
}

// nowhere sets the client's own limit: by default it tries for as long as it is let.
func nowhere(bootstrap string) (any, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.RetryTimeout(5*time.Second))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	found, err := kadm.NewClient(client).ListTopics(context.Background())
	return found.Names(), err
}
