// franz-go, by TLS and SASL.
package main

import (
	"context"
	"os"
	"time"

	"aplomb/tests/clients/internal/secure"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl/kerberos"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

func main() { secure.Run(run) }

func run(o secure.Options) ([]string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	options := []kgo.Opt{
		kgo.SeedBrokers(o.Bootstrap),
		kgo.DefaultProduceTopic(o.Topic),
		kgo.ConsumeTopics(o.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.RecordDeliveryTimeout(15 * time.Second),
	}
	tls, err := o.TLS()
	if err != nil {
		return nil, err
	}
	if tls != nil {
		options = append(options, kgo.DialTLSConfig(tls))
	}
	switch o.Mechanism {
	case "PLAIN":
		options = append(options, kgo.SASL(plain.Auth{User: o.User, Pass: o.Password}.AsMechanism()))
	case "SCRAM-SHA-256":
		options = append(options, kgo.SASL(scram.Auth{User: o.User, Pass: o.Password, IsToken: o.ByToken}.AsSha256Mechanism()))
	case "SCRAM-SHA-512":
		options = append(options, kgo.SASL(scram.Auth{User: o.User, Pass: o.Password, IsToken: o.ByToken}.AsSha512Mechanism()))
	case "OAUTHBEARER":
		options = append(options, kgo.SASL(oauth.Auth{Token: o.Token}.AsMechanism()))
	case "GSSAPI":
		principal, err := principal(o)
		if err != nil {
			return nil, err
		}
		options = append(options, kgo.SASL(kerberos.Auth{Client: principal, Service: "kafka"}.AsMechanismWithClose()))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := client.Ping(ctx); err != nil {
		return nil, err
	}
	for n := range o.Count {
		if err := client.ProduceSync(ctx, kgo.StringRecord(secure.Value(n))).FirstErr(); err != nil {
			return nil, err
		}
	}
	var values []string
	for len(values) < o.Count {
		fetches := client.PollFetches(ctx)
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fetches.EachRecord(func(record *kgo.Record) { values = append(values, string(record.Value)) })
	}
	return values, nil
}

func principal(o secure.Options) (*client.Client, error) {
	keys, err := keytab.Load(o.Keytab)
	if err != nil {
		return nil, err
	}
	realms, err := config.Load(os.Getenv("KRB5_CONFIG"))
	if err != nil {
		return nil, err
	}
	return client.NewWithKeytab(o.User, o.Realm, keys, realms), nil
}
