// The first minute with kafka-go.
package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"aplomb/tests/first/steps"

	"github.com/segmentio/kafka-go"
)

func main() {
	steps.Run([]string{"github.com/segmentio/kafka-go"}, []steps.Step{
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
		{Name: "nowhere", Do: topics},
	})
}

func soon() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), 30*time.Second)
}

// client is a client with connections of its own: those that others share remember topics for some
// seconds, deleted ones among them.
func client(bootstrap string) *kafka.Client {
	return &kafka.Client{Addr: kafka.TCP(bootstrap), Timeout: 10 * time.Second, Transport: &kafka.Transport{}}
}

func metadata(bootstrap string, topics ...string) (*kafka.MetadataResponse, error) {
	ctx, cancel := soon()
	defer cancel()
	return client(bootstrap).Metadata(ctx, &kafka.MetadataRequest{Topics: topics})
}

func topics(bootstrap string) (any, error) {
	found, err := metadata(bootstrap)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, topic := range found.Topics {
		names = append(names, topic.Name)
	}
	return steps.Shown(names), nil
}

func cluster(bootstrap string) (any, error) {
	found, err := metadata(bootstrap)
	if err != nil {
		return nil, err
	}
	return len(found.Brokers), nil
}

func create(bootstrap string) (any, error) {
	ctx, cancel := soon()
	defer cancel()
	made, err := client(bootstrap).CreateTopics(ctx, &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: steps.Topic, NumPartitions: 3, ReplicationFactor: 1}},
	})
	if err != nil {
		return nil, err
	}
	if err := made.Errors[steps.Topic]; err != nil {
		return nil, err
	}
	return topics(bootstrap)
}

func describe(bootstrap string) (any, error) {
	found, err := metadata(bootstrap, steps.Topic)
	if err != nil {
		return nil, err
	}
	return len(found.Topics[0].Partitions), nil
}

func configs(bootstrap string) (any, error) {
	ctx, cancel := soon()
	defer cancel()
	found, err := client(bootstrap).DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: steps.Topic}},
	})
	if err != nil {
		return nil, err
	}
	for _, entry := range found.Resources[0].ConfigEntries {
		if entry.ConfigName == "cleanup.policy" {
			return entry.ConfigValue, nil
		}
	}
	return nil, errors.New("no cleanup.policy")
}

func producer(bootstrap string) *kafka.Writer {
	toFirst := kafka.BalancerFunc(func(kafka.Message, ...int) int { return 0 })
	return &kafka.Writer{
		Addr: kafka.TCP(bootstrap), Topic: steps.Topic, Balancer: toFirst, RequiredAcks: kafka.RequireAll,
		BatchTimeout: 10 * time.Millisecond, Transport: &kafka.Transport{},
	}
}

func consumer(bootstrap string) *kafka.Reader {
	return kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{bootstrap}, Topic: steps.Topic, Partition: 0, MaxWait: 500 * time.Millisecond,
	})
}

func write(writer *kafka.Writer) error {
	ctx, cancel := soon()
	defer cancel()
	messages := make([]kafka.Message, steps.Records)
	for number := range messages {
		messages[number].Value = []byte(strconv.Itoa(number))
	}
	return writer.WriteMessages(ctx, messages...)
}

// read goes on after an error, which a reader tells after three tries and itself goes on after.
func read(reader *kafka.Reader, count int) ([]int64, error) {
	ctx, cancel := soon()
	defer cancel()
	var found []int64
	for len(found) < count {
		message, err := reader.ReadMessage(ctx)
		if ctx.Err() != nil {
			return found, err
		}
		if err != nil {
			continue
		}
		found = append(found, message.Offset)
	}
	return found, nil
}

func produce(bootstrap string) (any, error) {
	writer := producer(bootstrap)
	defer writer.Close()
	return steps.Records, write(writer)
}

func consume(bootstrap string) (any, error) {
	reader := consumer(bootstrap)
	defer reader.Close()
	found, err := read(reader, steps.Records)
	return len(found), err
}

func missing(bootstrap string) (any, error) {
	found, err := metadata(bootstrap, "missing")
	if err != nil {
		return nil, err
	}
	if errors.Is(found.Topics[0].Error, kafka.UnknownTopicOrPartition) {
		return "UNKNOWN_TOPIC_OR_PARTITION", nil
	}
	return nil, found.Topics[0].Error
}

func restart(bootstrap string) (any, error) {
	writer, reader := producer(bootstrap), consumer(bootstrap)
	defer writer.Close()
	defer reader.Close()
	return steps.OverRestart(
		func() error { return write(writer) },
		func(count int) ([]int64, error) { return read(reader, count) },
	)
}

func remove(bootstrap string) (any, error) {
	ctx, cancel := soon()
	defer cancel()
	gone, err := client(bootstrap).DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{steps.Topic}})
	if err != nil {
		return nil, err
	}
	if err := gone.Errors[steps.Topic]; err != nil {
		return nil, err
	}
	return topics(bootstrap)
}
