package main

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// A client's side of SCRAM (RFC 5802), as sarama.SCRAMClient wants it.
type client struct {
	hash                 func() hash.Hash
	user, password, bare string
	nonce                string
	signature            []byte
	done                 bool
}

func (c *client) Begin(user, password, _ string) error {
	random := make([]byte, 18)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	escaped := strings.NewReplacer("=", "=3D", ",", "=2C").Replace(user)
	c.password, c.nonce = password, base64.RawStdEncoding.EncodeToString(random)
	c.bare = "n=" + escaped + ",r=" + c.nonce
	return nil
}

func (c *client) Done() bool { return c.done }

func (c *client) Step(challenge string) (string, error) {
	switch {
	case challenge == "":
		return "n,," + c.bare, nil
	case c.signature == nil:
		return c.prove(challenge)
	}
	c.done = true
	said, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(challenge, "v="))
	if err != nil || subtle.ConstantTimeCompare(said, c.signature) != 1 {
		return "", errors.New("the broker does not know the password")
	}
	return "", nil
}

func (c *client) prove(challenge string) (string, error) {
	fields := map[string]string{}
	for _, field := range strings.Split(challenge, ",") {
		if name, value, found := strings.Cut(field, "="); found {
			fields[name] = value
		}
	}
	salt, err := base64.StdEncoding.DecodeString(fields["s"])
	iterations, wrong := strconv.Atoi(fields["i"])
	if err != nil || wrong != nil || !strings.HasPrefix(fields["r"], c.nonce) {
		return "", fmt.Errorf("this is no challenge: %q", challenge)
	}
	salted, err := pbkdf2.Key(c.hash, c.password, salt, iterations, c.hash().Size())
	if err != nil {
		return "", err
	}
	without := "c=biws,r=" + fields["r"]
	said := c.bare + "," + challenge + "," + without
	key := c.sign(salted, "Client Key")
	stored := c.hash()
	stored.Write(key)
	proof := c.sign(stored.Sum(nil), said)
	subtle.XORBytes(proof, proof, key)
	c.signature = c.sign(c.sign(salted, "Server Key"), said)
	return without + ",p=" + base64.StdEncoding.EncodeToString(proof), nil
}

func (c *client) sign(key []byte, text string) []byte {
	mac := hmac.New(c.hash, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
