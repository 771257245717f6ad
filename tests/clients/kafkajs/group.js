// KafkaJS as a member of a group. It commits in order, between batches, and knows no static members.
'use strict'

const crypto = require('node:crypto')
const fs = require('node:fs')
const { setTimeout: sleep } = require('node:timers/promises')
const { AssignerProtocol, PartitionAssigners } = require('kafkajs')

// Members learn of a rebalance from a heartbeat's answer.
const HEARTBEAT_MS = 300

// KafkaJS brings an assignor that no other client has. This one is the `range` of all others, so that they can share a group.
const range = ({ cluster }) => ({
  name: 'range',
  version: 0,
  async assign({ members }) {
    const subscribed = {}
    for (const { memberId, memberMetadata } of members) {
      for (const topic of AssignerProtocol.MemberMetadata.decode(memberMetadata).topics) {
        subscribed[topic] = [...(subscribed[topic] || []), memberId].sort()
      }
    }
    const assignment = Object.fromEntries(members.map(({ memberId }) => [memberId, {}]))
    await cluster.addMultipleTargetTopics(Object.keys(subscribed))
    for (const [topic, ids] of Object.entries(subscribed)) {
      const partitions = cluster.findTopicPartitionMetadata(topic).map(each => each.partitionId)
      partitions.sort((a, b) => a - b)
      ids.forEach((id, i) => {
        const [from, to] = [i, i + 1].map(n => n * Math.floor(partitions.length / ids.length) + Math.min(n, partitions.length % ids.length))
        if (from < to) assignment[id][topic] = partitions.slice(from, to)
      })
    }
    return Object.entries(assignment).map(([memberId, topics]) => ({
      memberId,
      memberAssignment: AssignerProtocol.MemberAssignment.encode({ version: 0, assignment: topics, userData: Buffer.alloc(0) }),
    }))
  },
  protocol({ topics }) {
    return { name: 'range', metadata: AssignerProtocol.MemberMetadata.encode({ version: 0, topics, userData: Buffer.alloc(0) }) }
  },
})

const ASSIGNORS = { range, roundrobin: PartitionAssigners.roundRobin }

const text = bytes => (bytes === null || bytes === undefined ? null : bytes.toString())

const sha = bytes => (bytes === null ? null : crypto.createHash('sha256').update(bytes).digest('hex'))

const headersOf = headers =>
  Object.entries(headers || {}).flatMap(([key, value]) => [].concat(value).map(each => [key, text(each)]))

const group = async (kafka, options, print) => {
  const auto = options['--commit'] === 'auto'
  const topics = options['--topic'].split(',')
  const consumer = kafka.consumer({
    groupId: options['--group'],
    sessionTimeout: Number(options['--session'] || 10000),
    rebalanceTimeout: 30000,
    heartbeatInterval: HEARTBEAT_MS,
    metadataMaxAge: 1000,
    maxWaitTimeInMs: 100,
    partitionAssigners: [ASSIGNORS[options['--assignor'] || 'range']],
    retry: { initialRetryTime: 100, maxRetryTime: 1000, retries: 20 },
  })
  let held = []
  let failure = null
  const revoked = () => {
    if (held.length > 0) print({ revoked: held })
    held = []
  }
  consumer.on(consumer.events.REBALANCING, revoked)
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    revoked()
    held = Object.entries(payload.memberAssignment).flatMap(([topic, partitions]) => partitions.map(each => [topic, each]))
    print({ assigned: held })
  })
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (payload.restart) print({ error: payload.error.name, message: payload.error.message })
    else failure = payload.error
  })
  await consumer.connect()
  try {
    await consumer.subscribe({ topics, fromBeginning: (options['--reset'] || 'earliest') === 'earliest' })
    await consumer.run({
      autoCommit: auto,
      autoCommitInterval: 500,
      eachBatch: async ({ batch, resolveOffset, heartbeat }) => {
        const { topic, partition } = batch
        for (const { offset, timestamp, key, value, headers } of batch.messages) {
          const at = { topic, partition, offset: Number(offset), timestamp: Number(timestamp) }
          print({ ...at, key: text(key), value_sha: sha(value), headers: headersOf(headers) })
          resolveOffset(offset)
        }
        const next = Number(batch.lastOffset()) + 1
        if (!auto) {
          await consumer.commitOffsets([{ topic, partition, offset: String(next) }])
          print({ committed: [[topic, partition, next]] })
        }
        await heartbeat()
      },
    })
    const deadline = Date.now() + 1000 * Number(options['--timeout'] || 120)
    while (failure === null && !fs.existsSync(options['--until'])) {
      if (Date.now() > deadline) throw new Error('the file that ends the membership was not made in time')
      await sleep(50)
    }
  } finally {
    await consumer.disconnect()
  }
  revoked()
  if (failure !== null) throw failure
}

module.exports = { group }
