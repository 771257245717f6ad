// KafkaJS, by TLS and SASL: writes records, reads them from the start, and prints their values, or the error. The command line is that of
// the other clients that come in so: see ../README.md.
'use strict'

const fs = require('node:fs')
const { parseArgs } = require('node:util')
const { Kafka, logLevel } = require('kafkajs')

const names = ['bootstrap', 'topic', 'count', 'mechanism', 'user', 'password', 'token', 'ca', 'cert', 'key']
const { values: o } = parseArgs({ options: Object.fromEntries(names.map(name => [name, { type: 'string' }])) })

const run = async () => {
  const file = path => (path ? fs.readFileSync(path) : undefined)
  const credentials = o.token ? { oauthBearerProvider: async () => ({ value: o.token }) } : { username: o.user, password: o.password }
  const kafka = new Kafka({
    clientId: 'secure',
    brokers: [o.bootstrap],
    logLevel: logLevel.NOTHING,
    retry: { retries: 2 },
    ssl: o.ca ? { ca: [file(o.ca)], cert: file(o.cert), key: file(o.key) } : undefined,
    sasl: o.mechanism ? { mechanism: o.mechanism.toLowerCase(), ...credentials } : undefined,
  })
  const count = Number(o.count)
  const producer = kafka.producer()
  await producer.connect()
  await producer.send({ topic: o.topic, messages: [...Array(count).keys()].map(n => ({ value: `value-${n}` })) })
  await producer.disconnect()
  const consumer = kafka.consumer({ groupId: `of-${o.topic}` })
  await consumer.connect()
  await consumer.subscribe({ topic: o.topic, fromBeginning: true })
  const values = []
  await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error('nothing came for 30 s')), 30000).unref()
    consumer.run({
      eachMessage: async ({ message }) => {
        values.push(message.value.toString())
        if (values.length === count) resolve()
      },
    })
  })
  await consumer.disconnect()
  return values
}

run().then(
  values => console.log(JSON.stringify({ values })),
  error => console.log(JSON.stringify({ error: String(error) })),
)
