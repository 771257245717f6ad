// The first minute with @platformatic/kafka. Its streams read as members of a group; records are asked
// for with its `fetch` here.
'use strict'

const { TOPIC, RECORDS, installed, nothing, restarted, run } = require('./steps.js')
const { Admin, Producer, Consumer, ConfigResourceTypes } = installed('@platformatic/kafka')

const options = at => ({ clientId: 'first', bootstrapBrokers: [at], ...(at === nothing ? { retries: 2, retryDelay: 500 } : {}) })

const using = async (client, use) => {
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}

const asked = (at, ask) => using(new Admin(options(at)), ask)

const topics = at => asked(at, async admin => (await admin.listTopics()).filter(name => !name.startsWith('__')).sort())

const cluster = at => asked(at, async admin => (await admin.metadata({ topics: [] })).brokers.size)

const create = async at => {
  await asked(at, admin => admin.createTopics({ topics: [TOPIC], partitions: 3, replicas: 1 }))
  return topics(at)
}

const describe = at =>
  asked(at, async admin => (await admin.metadata({ topics: [TOPIC] })).topics.get(TOPIC).partitionsCount)

const configs = at =>
  asked(at, async admin => {
    const [found] = await admin.describeConfigs({
      resources: [{ resourceType: ConfigResourceTypes.TOPIC, resourceName: TOPIC }],
    })
    return found.configs.find(({ name }) => name === 'cleanup.policy').value
  })

const send = async producer => {
  const messages = Array.from({ length: RECORDS }, (_, number) => ({
    topic: TOPIC, partition: 0, value: Buffer.from(String(number)),
  }))
  await producer.send({ messages, acks: -1 })
  return RECORDS
}

const read = async (consumer, from, count) => {
  const metadata = await consumer.metadata({ topics: [TOPIC] })
  const { id, partitions } = metadata.topics.get(TOPIC)
  const found = []
  while (found.length < count) {
    const wanted = {
      partition: 0, currentLeaderEpoch: -1, fetchOffset: BigInt(from + found.length), lastFetchedEpoch: -1,
      partitionMaxBytes: 1048576,
    }
    const topic = { topicId: id, partitions: [wanted] }
    const { responses } = await consumer.fetch({
      node: partitions[0].leader, topics: [topic], minBytes: 1, maxBytes: 1048576, maxWaitTime: 500,
    })
    for (const batch of responses.flatMap(({ partitions: [{ records }] }) => records ?? [])) {
      for (const { offsetDelta } of batch.records) found.push(Number(batch.firstOffset) + offsetDelta)
    }
  }
  return found
}

const producing = (at, use) => using(new Producer(options(at)), use)

const consuming = (at, use) => using(new Consumer({ ...options(at), groupId: 'none' }), use)

const produce = at => producing(at, send)

const consume = at => consuming(at, async consumer => (await read(consumer, 0, RECORDS)).length)

const missing = at =>
  asked(at, async admin => {
    try {
      return await admin.metadata({ topics: ['missing'], autocreateTopics: false })
    } catch (refused) {
      return refused.message.startsWith('Unknown topic') ? 'UNKNOWN_TOPIC_OR_PARTITION' : refused.message
    }
  })

const restart = at =>
  consuming(at, consumer =>
    producing(at, async producer => {
      await send(producer)
      const before = await read(consumer, 0, 2 * RECORDS)
      await restarted()
      await send(producer)
      const after = await read(consumer, before.length, RECORDS)
      return [before.length, after.length, after.at(-1)]
    }),
  )

const remove = async at => {
  await asked(at, admin => admin.deleteTopics({ topics: [TOPIC] }))
  return topics(at)
}

run('@platformatic/kafka', {
  list: topics, cluster, create, describe, configs, produce, consume, missing, restart, delete: remove, nowhere: topics,
})
