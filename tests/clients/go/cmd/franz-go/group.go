package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"aplomb/tests/clients/internal/suite"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var balancers = map[string]kgo.GroupBalancer{
	"range":              kgo.RangeBalancer(),
	"roundrobin":         kgo.RoundRobinBalancer(),
	"sticky":             kgo.StickyBalancer(),
	"cooperative-sticky": kgo.CooperativeStickyBalancer(),
	// The name under which the consumer protocol knows what the library calls sticky.
	"uniform": kgo.StickyBalancer(),
}

func group(o suite.Options) error {
	me := suite.NewMember(o)
	balancer, known := balancers[o.Text("--assignor", "range")]
	if !known {
		return fmt.Errorf("unknown assignor %q", o["--assignor"])
	}
	resets := map[string]kgo.Offset{"earliest": kgo.NewOffset().AtStart(), "latest": kgo.NewOffset().AtEnd(), "none": kgo.NoResetOffset()}
	options := []kgo.Opt{
		kgo.SeedBrokers(o.Bootstrap()...),
		kgo.ConsumerGroup(o["--group"]),
		kgo.ConsumeTopics(me.Topics...),
		kgo.Balancers(balancer),
		kgo.SessionTimeout(me.Session),
		kgo.HeartbeatInterval(suite.Heartbeat),
		kgo.ConsumeResetOffset(resets[o.Text("--reset", "earliest")]),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.MetadataMaxAge(time.Second),
		kgo.MetadataMinAge(200 * time.Millisecond),
		// A rebalance waits until what was polled is committed.
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, client *kgo.Client, partitions map[string][]int32) {
			_, generation := client.GroupMetadata()
			me.Assigned(partitions, generation)
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
			if me.Auto {
				// Which the library does in a function of its own only where there is no other.
				if err := client.CommitUncommittedOffsets(ctx); err != nil {
					me.Error(err)
				}
			}
			commit(ctx, client, me)
			me.Gone("revoked", partitions)
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) { me.Gone("lost", partitions) }),
	}
	if me.Auto {
		options = append(options, kgo.AutoCommitInterval(500*time.Millisecond))
	} else {
		options = append(options, kgo.DisableAutoCommit())
	}
	if o.Has("--instance") {
		options = append(options, kgo.InstanceID(o["--instance"]))
	}
	if o.Text("--protocol", "classic") == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	}
	if o.Has("--pattern") {
		options = append(options, kgo.ConsumeTopics(o["--pattern"]), kgo.ConsumeRegex())
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	for {
		goesOn, err := me.GoesOn()
		if err != nil || !goesOn {
			return err
		}
		poll(client, me)
	}
}

func poll(client *kgo.Client, me *suite.Member) {
	defer client.AllowRebalance()
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	fetches := client.PollFetches(ctx)
	fetches.EachError(func(_ string, _ int32, err error) {
		if !errors.Is(err, context.DeadlineExceeded) {
			me.Error(err)
		}
	})
	fetches.EachRecord(func(record *kgo.Record) {
		var headers []suite.Header
		for _, header := range record.Headers {
			headers = append(headers, suite.Header{Key: header.Key, Value: header.Value})
		}
		me.Record(suite.Partition{Topic: record.Topic, Number: record.Partition}, record.Offset, record.Timestamp, record.Key, record.Value, headers)
	})
	commit(context.Background(), client, me)
}

func commit(ctx context.Context, client *kgo.Client, me *suite.Member) {
	offsets := me.Uncommitted()
	if len(offsets) == 0 {
		return
	}
	asked := map[string]map[int32]kgo.EpochOffset{}
	for at, offset := range offsets {
		if asked[at.Topic] == nil {
			asked[at.Topic] = map[int32]kgo.EpochOffset{}
		}
		asked[at.Topic][at.Number] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
	var failed error
	client.CommitOffsetsSync(ctx, asked, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, response *kmsg.OffsetCommitResponse, err error) {
		failed = err
		if err != nil {
			return
		}
		for _, topic := range response.Topics {
			for _, partition := range topic.Partitions {
				if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
					failed = err
				}
			}
		}
	})
	if failed != nil {
		me.Error(failed)
		return
	}
	me.Committed(offsets)
}
