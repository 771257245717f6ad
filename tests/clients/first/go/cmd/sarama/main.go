// The first minute with Sarama.
package main

import (
	"errors"
	"strconv"
	"time"

	"aplomb/tests/first/steps"

	"github.com/IBM/sarama"
)

func main() {
	steps.Run([]string{"github.com/IBM/sarama"}, []steps.Step{
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

func config() *sarama.Config {
	config := sarama.NewConfig()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	// By default it tries for 0.3 s, and a broker that has just started may not lead its partitions yet.
	config.Producer.Retry.Max = 30
	return config
}

// asked is what an admin client of its own answers.
func asked(bootstrap string, ask func(sarama.ClusterAdmin) (any, error)) (any, error) {
	admin, err := sarama.NewClusterAdmin([]string{bootstrap}, config())
	if err != nil {
		return nil, err
	}
	defer admin.Close()
	return ask(admin)
}

func topics(bootstrap string) (any, error) {
	return asked(bootstrap, func(admin sarama.ClusterAdmin) (any, error) {
		found, err := admin.ListTopics()
		names := []string{}
		for name := range found {
			names = append(names, name)
		}
		return steps.Shown(names), err
	})
}

func cluster(bootstrap string) (any, error) {
	return asked(bootstrap, func(admin sarama.ClusterAdmin) (any, error) {
		brokers, _, err := admin.DescribeCluster()
		return len(brokers), err
	})
}

func create(bootstrap string) (any, error) {
	_, err := asked(bootstrap, func(admin sarama.ClusterAdmin) (any, error) {
		return nil, admin.CreateTopic(steps.Topic, &sarama.TopicDetail{NumPartitions: 3, ReplicationFactor: 1}, false)
	})
	if err != nil {
		return nil, err
	}
	return topics(bootstrap)
}

func describe(bootstrap string) (any, error) {
	return asked(bootstrap, func(admin sarama.ClusterAdmin) (any, error) {
		found, err := admin.DescribeTopics([]string{steps.Topic})
		if err != nil {
			return nil, err
		}
		return len(found[0].Partitions), nil
	})
}

func configs(bootstrap string) (any, error) {
	return asked(bootstrap, func(admin sarama.ClusterAdmin) (any, error) {
		found, err := admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: steps.Topic})
		for _, entry := range found {
			if entry.Name == "cleanup.policy" {
				return entry.Value, err
			}
		}
		return len(found), err
	})
}

func write(producer sarama.SyncProducer) error {
	for number := range steps.Records {
		value := sarama.StringEncoder(strconv.Itoa(number))
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: steps.Topic, Value: value}); err != nil {
			return err
		}
	}
	return nil
}

func read(partition sarama.PartitionConsumer, count int) ([]int64, error) {
	var found []int64
	late := time.After(30 * time.Second)
	for len(found) < count {
		select {
		case message := <-partition.Messages():
			found = append(found, message.Offset)
		case <-late:
			return found, errors.New("nothing came for 30 s")
		}
	}
	return found, nil
}

func produce(bootstrap string) (any, error) {
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, config())
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	return steps.Records, write(producer)
}

// consuming hands over a consumer of the topic's first partition.
func consuming(bootstrap string, use func(sarama.PartitionConsumer) (any, error)) (any, error) {
	consumer, err := sarama.NewConsumer([]string{bootstrap}, config())
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(steps.Topic, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	return use(partition)
}

func consume(bootstrap string) (any, error) {
	return consuming(bootstrap, func(partition sarama.PartitionConsumer) (any, error) {
		found, err := read(partition, steps.Records)
		return len(found), err
	})
}

func missing(bootstrap string) (any, error) {
	return asked(bootstrap, func(admin sarama.ClusterAdmin) (any, error) {
		found, err := admin.DescribeTopics([]string{"missing"})
		if err != nil {
			return nil, err
		}
		if found[0].Err == sarama.ErrUnknownTopicOrPartition {
			return "UNKNOWN_TOPIC_OR_PARTITION", nil
		}
		return found[0].Err.Error(), nil
	})
}

func restart(bootstrap string) (any, error) {
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, config())
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	return consuming(bootstrap, func(partition sarama.PartitionConsumer) (any, error) {
		return steps.OverRestart(
			func() error { return write(producer) },
			func(count int) ([]int64, error) { return read(partition, count) },
		)
	})
}

func remove(bootstrap string) (any, error) {
	_, err := asked(bootstrap, func(admin sarama.ClusterAdmin) (any, error) {
		return nil, admin.DeleteTopic(steps.Topic)
	})
	if err != nil {
		return nil, err
	}
	return topics(bootstrap)
}
