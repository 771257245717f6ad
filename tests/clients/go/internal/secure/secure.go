// Package secure is what the programs have in common that come in by TLS and SASL: their command line, and TLS as it says.
package secure

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"os"
)

// Options is the command line.
type Options struct {
	Bootstrap, Topic, Mechanism, User, Password, Token, CA, Cert, Key string
	Keytab, Realm                                                     string
	Count                                                             int
	// ByToken: user and password are those of a delegation token.
	ByToken bool
}

// Run parses the command line, has the client write and read, and prints the values that were read, or the error.
func Run(client func(Options) ([]string, error)) {
	var o Options
	flag.StringVar(&o.Bootstrap, "bootstrap", "", "host:port")
	flag.StringVar(&o.Topic, "topic", "", "a topic of one partition")
	flag.IntVar(&o.Count, "count", 10, "records")
	flag.StringVar(&o.Mechanism, "mechanism", "", "of SASL; none without it")
	flag.StringVar(&o.User, "user", "", "")
	flag.StringVar(&o.Password, "password", "", "")
	flag.StringVar(&o.Token, "token", "", "of OAUTHBEARER")
	flag.BoolVar(&o.ByToken, "by-token", false, "user and password are a delegation token")
	flag.StringVar(&o.Keytab, "keytab", "", "GSSAPI: the keys of the user")
	flag.StringVar(&o.Realm, "realm", "", "GSSAPI: the realm of the user")
	flag.StringVar(&o.CA, "ca", "", "PEM: TLS, and who vouches for the broker")
	flag.StringVar(&o.Cert, "cert", "", "PEM: what the client shows")
	flag.StringVar(&o.Key, "key", "", "PEM: its key")
	flag.Parse()
	values, err := client(o)
	line := map[string]any{"values": values}
	if err != nil {
		line = map[string]any{"error": err.Error()}
	}
	_ = json.NewEncoder(os.Stdout).Encode(line)
}

// Value of a record.
func Value(n int) string { return fmt.Sprintf("value-%d", n) }

// TLS as the options have it; nil: none.
func (o Options) TLS() (*tls.Config, error) {
	if o.CA == "" {
		return nil, nil
	}
	authority, err := os.ReadFile(o.CA)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(authority)
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
