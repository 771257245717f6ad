// The KafkaJS client of the end-to-end suite: `produce`, `group`, `copy`, and `offsets` (first and next offset of each partition). KafkaJS
// reads only as a member of a group, so it has no `consume`. The command line is the same for every client: see ../README.md.
'use strict'

const readline = require('node:readline')
const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require('kafkajs')
const snappy = require('snappyjs')
const lz4 = require('lz4js')
const lz4Hash = require('lz4js/xxh32.js')
const zstd = require('@bokuweb/zstd-wasm')
const { group } = require('./group')
const { copy } = require('./copy')

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
const FLAGS = new Set(['--idempotent', '--headers', '--tombstones'])
const COMPRESSION = { none: 'None', gzip: 'GZIP', snappy: 'Snappy', lz4: 'LZ4', zstd: 'ZSTD' }
const ACKS = { 0: 0, 1: 1, all: -1 }

const writeOnly = compress => () => ({
  compress,
  decompress: async () => {
    throw new Error('this client does not read')
  },
})

// Kafka's consumers refuse LZ4 frames whose blocks are not declared independent; lz4js never declares it, and a single block is.
const lz4Frame = bytes => {
  const frame = Buffer.from(lz4.compress(bytes))
  const hasContentSize = frame[4] & 0x08
  const checksumAt = 6 + (hasContentSize ? 8 : 0)
  frame[4] |= 0x20
  frame[checksumAt] = (lz4Hash.hash(0, frame, 4, checksumAt - 4) >>> 8) & 0xff
  return frame
}

CompressionCodecs[CompressionTypes.Snappy] = writeOnly(async encoder => Buffer.from(snappy.compress(encoder.buffer)))
CompressionCodecs[CompressionTypes.LZ4] = writeOnly(async encoder => lz4Frame(encoder.buffer))
CompressionCodecs[CompressionTypes.ZSTD] = writeOnly(async encoder => Buffer.from(zstd.compress(encoder.buffer, 3)))

const print = line => process.stdout.write(JSON.stringify(line) + '\n')

const parse = args => {
  const options = {}
  for (let i = 0; i < args.length; i++) {
    options[args[i]] = FLAGS.has(args[i]) ? true : args[++i]
  }
  return options
}

const number = (options, name, otherwise) => (name in options ? Number(options[name]) : otherwise)

const valueOf = (options, seq) => {
  if (options['--tombstones'] && seq % 5 === 3) return null
  const mask = seq % 2 === 0 ? 63 : 3
  let state = (Math.imul(number(options, '--seed', 0), 0x9e3779b1) + seq + 1) >>> 0 || 1
  let text = ''
  for (let i = number(options, '--size', 100); i > 0; i--) {
    state = (state ^ (state << 13)) >>> 0
    state = (state ^ (state >>> 17)) >>> 0
    state = (state ^ (state << 5)) >>> 0
    text += ALPHABET[state & mask]
  }
  return text
}

// Every header of the suite but the null one, which KafkaJS cannot encode.
const headersOf = options =>
  options['--headers']
    ? { seed: options['--seed'] || '0', twice: ['first', 'second'], empty: '', größe: '日本語' }
    : {}

const messageOf = (options, seq) => {
  const message = {
    key: '--key-prefix' in options ? options['--key-prefix'] + seq : null,
    value: valueOf(options, seq),
    headers: headersOf(options),
  }
  if ('--partition' in options) message.partition = Number(options['--partition'])
  if ('--timestamp' in options) message.timestamp = String(Number(options['--timestamp']) + seq)
  return message
}

const connect = options =>
  new Kafka({ clientId: 'aplomb-e2e', brokers: options['--bootstrap'].split(','), logLevel: logLevel.NOTHING })

const produce = async options => {
  const idempotent = Boolean(options['--idempotent'])
  const acks = ACKS[options['--acks'] || 'all']
  const producer = connect(options).producer({ idempotent, maxInFlightRequests: 1, allowAutoTopicCreation: true })
  await producer.connect()
  try {
    const count = number(options, '--count', 1)
    // The answer names a batch's partition and first offset only: without a given partition, one record a batch.
    const batch = '--partition' in options ? 10 : 1
    for (let first = 0; first < count; first += batch) {
      const seqs = Array.from({ length: Math.min(batch, count - first) }, (_, i) => first + i)
      await send(producer, options, acks, seqs)
    }
    if (acks === 0) print({ count })
  } finally {
    await producer.disconnect()
  }
}

const send = async (producer, options, acks, seqs) => {
  try {
    const [sent] = await producer.send({
      topic: options['--topic'],
      acks,
      compression: CompressionTypes[COMPRESSION[options['--compression'] || 'none']],
      messages: seqs.map(seq => messageOf(options, seq)),
    })
    if (acks === 0) return
    seqs.forEach((seq, i) => print({ partition: sent.partition, offset: Number(sent.baseOffset) + i, seq }))
  } catch (error) {
    seqs.forEach(seq => print({ seq, error: error.type || error.name, message: error.message }))
  }
}

const offsets = async options => {
  const admin = connect(options).admin()
  await admin.connect()
  try {
    for (const { partition, low, high } of await admin.fetchTopicOffsets(options['--topic'])) {
      print({ partition, low: Number(low), high: Number(high) })
    }
  } finally {
    await admin.disconnect()
  }
}

const VERBS = {
  produce,
  offsets,
  group: options => group(connect(options), options, print),
  copy: options => copy(connect(options), options, print),
}

const run = async ([verb, ...args]) => {
  if (!(verb in VERBS)) throw new Error(`unknown verb ${verb}`)
  await VERBS[verb](parse(args))
}

const session = async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    try {
      await run(JSON.parse(line))
      print({ end: true })
    } catch (error) {
      print({ end: true, error: error.type || error.name, message: error.message })
    }
  }
}

const main = async () => {
  await zstd.init()
  await (process.argv[2] === 'session' ? session() : run(process.argv.slice(2)))
}

main().catch(error => {
  console.error(error)
  process.exitCode = 1
})
