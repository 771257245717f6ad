// Sarama, by TLS and SASL.
package main

import (
	"crypto/sha256"
	"crypto/sha512"
	"errors"
	"os"
	"time"

	"aplomb/tests/clients/internal/secure"

	"github.com/IBM/sarama"
)

func main() { secure.Run(run) }

// A token that is known already, as sarama.AccessTokenProvider.
type bearer string

func (b bearer) Token() (*sarama.AccessToken, error) {
	return &sarama.AccessToken{Token: string(b)}, nil
}

func run(o secure.Options) ([]string, error) {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Metadata.Retry.Max = 1
	tls, err := o.TLS()
	if err != nil {
		return nil, err
	}
	config.Net.TLS.Enable, config.Net.TLS.Config = tls != nil, tls
	if o.Mechanism != "" {
		sasl := &config.Net.SASL
		sasl.Enable, sasl.User, sasl.Password, sasl.Version = true, o.User, o.Password, sarama.SASLHandshakeV1
		sasl.Mechanism = sarama.SASLMechanism(o.Mechanism)
		// Sarama leaves SCRAM to its users.
		switch o.Mechanism {
		case "SCRAM-SHA-256":
			sasl.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &client{hash: sha256.New} }
		case "SCRAM-SHA-512":
			sasl.SCRAMClientGeneratorFunc = func() sarama.SCRAMClient { return &client{hash: sha512.New} }
		case sarama.SASLTypeOAuth:
			sasl.TokenProvider = bearer(o.Token)
		case "GSSAPI":
			sasl.GSSAPI = sarama.GSSAPIConfig{
				AuthType: sarama.KRB5_KEYTAB_AUTH, KeyTabPath: o.Keytab, KerberosConfigPath: os.Getenv("KRB5_CONFIG"),
				ServiceName: "kafka", Username: o.User, Realm: o.Realm,
			}
		}
	}
	producer, err := sarama.NewSyncProducer([]string{o.Bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	for n := range o.Count {
		message := &sarama.ProducerMessage{Topic: o.Topic, Value: sarama.StringEncoder(secure.Value(n))}
		if _, _, err := producer.SendMessage(message); err != nil {
			return nil, err
		}
	}
	consumer, err := sarama.NewConsumer([]string{o.Bootstrap}, config)
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(o.Topic, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	var values []string
	for len(values) < o.Count {
		select {
		case message := <-partition.Messages():
			values = append(values, string(message.Value))
		case <-time.After(30 * time.Second):
			return nil, errors.New("nothing came for 30 s")
		}
	}
	return values, nil
}
