package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// change is one line of the log: a creation or deletion that was begun ("asked") or that the broker has confirmed.
type change struct {
	What       string `json:"what"` // create or delete
	Topic      string `json:"topic"`
	Partitions int32  `json:"partitions,omitempty"`
	State      string `json:"state"` // asked, confirmed or refused
	ID         string `json:"id,omitempty"`
	Error      string `json:"error,omitempty"`
}

// churn creates and deletes topics, several at a time and each name again and again, until it is killed or standard input ends.
// Every line is in the log before the next step is taken.
func churn(o options) error {
	log, err := os.OpenFile(o["log"], os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	out := newLines(log)
	note := func(line change) {
		out.print(line)
		out.flush()
	}
	// One attempt each: a retry of a request that had worked would be answered with a refusal.
	client, err := o.client(kgo.RequestRetries(0))
	if err != nil {
		return err
	}
	defer client.Close()
	stop := stopped()
	var workers sync.WaitGroup
	for worker := range o.number("workers", 4) {
		workers.Go(func() {
			random := rand.New(rand.NewSource(o.number("seed", 0)*1000 + worker))
			exists := map[string]bool{}
			for {
				select {
				case <-stop:
					return
				default:
				}
				name := fmt.Sprintf("%s-%d-%d", o["id"], worker, random.Intn(int(o.number("names", 12))))
				step := createTopic
				if exists[name] {
					step = deleteTopic
				}
				done, err := step(client, name, 1+random.Int31n(4), note)
				if err != nil {
					return // whether it happened is not known, so there is no next step
				}
				if done {
					exists[name] = !exists[name]
				}
			}
		})
	}
	workers.Wait()
	return nil
}

func createTopic(client *kgo.Client, name string, partitions int32, note func(change)) (bool, error) {
	request := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions, topic.ReplicationFactor = name, partitions, 1
	request.Topics = append(request.Topics, topic)
	request.TimeoutMillis = 20_000
	line := change{What: "create", Topic: name, Partitions: partitions, State: "asked"}
	note(line)
	response, err := request.RequestWith(context.Background(), client)
	if err == nil {
		err = kerr.ErrorForCode(response.Topics[0].ErrorCode)
	}
	if err == nil {
		line.ID = base64.RawURLEncoding.EncodeToString(response.Topics[0].TopicID[:])
	}
	return conclude(line, err, note)
}

func deleteTopic(client *kgo.Client, name string, _ int32, note func(change)) (bool, error) {
	request := kmsg.NewPtrDeleteTopicsRequest()
	topic := kmsg.NewDeleteTopicsRequestTopic()
	topic.Topic = &name
	request.Topics, request.TopicNames = append(request.Topics, topic), append(request.TopicNames, name)
	request.TimeoutMillis = 20_000
	line := change{What: "delete", Topic: name, State: "asked"}
	note(line)
	response, err := request.RequestWith(context.Background(), client)
	if err == nil {
		err = kerr.ErrorForCode(response.Topics[0].ErrorCode)
	}
	return conclude(line, err, note)
}

// conclude notes how the step ended, and says whether it was done. Without an answer it stays "asked", which is an error.
func conclude(line change, err error, note func(change)) (bool, error) {
	var code *kerr.Error
	switch {
	case err == nil:
		line.State = "confirmed"
	case errors.As(err, &code):
		line.State, line.Error = "refused", code.Message
	default:
		return false, err
	}
	note(line)
	return err == nil, nil
}

// topics prints what topics there are, with their ids and numbers of partitions, and no internal ones.
func topics(o options) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	defer client.Close()
	request := kmsg.NewPtrMetadataRequest()
	request.Topics = nil
	response, err := request.RequestWith(context.Background(), client)
	if err != nil {
		return err
	}
	for _, topic := range response.Topics {
		if topic.IsInternal {
			continue
		}
		if err := kerr.ErrorForCode(topic.ErrorCode); err != nil {
			return fmt.Errorf("%s: %w", *topic.Topic, err)
		}
		id := base64.RawURLEncoding.EncodeToString(topic.TopicID[:])
		leaderless := 0
		for _, partition := range topic.Partitions {
			if partition.ErrorCode != 0 {
				leaderless++
			}
		}
		stdout.print(map[string]any{"topic": *topic.Topic, "id": id, "partitions": len(topic.Partitions), "leaderless": leaderless})
	}
	return nil
}
