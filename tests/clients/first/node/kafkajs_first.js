// The first minute with KafkaJS: the steps of ../steps.py, told as it tells them. KafkaJS reads only
// as a member of a group; where others read records, the offsets of the partition are asked for here.
'use strict'

const { TOPIC, RECORDS, installed, nothing, restarted, run } = require('./steps.js')
const { Kafka, Partitioners, ConfigResourceTypes, logLevel } = installed('kafkajs')

const kafka = at =>
  new Kafka({ clientId: 'first', brokers: [at], logLevel: logLevel.NOTHING, retry: { retries: at === nothing ? 2 : 8 } })

const asked = async (client, ask) => {
  const admin = client.admin()
  await admin.connect()
  try {
    return await ask(admin)
  } finally {
    await admin.disconnect()
  }
}

const topics = at =>
  asked(kafka(at), async admin => (await admin.listTopics()).filter(name => !name.startsWith('__')).sort())

const cluster = at => asked(kafka(at), async admin => (await admin.describeCluster()).brokers.length)

const create = async at => {
  await asked(kafka(at), admin => admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 3 }] }))
  return topics(at)
}

const describe = at =>
  asked(kafka(at), async admin => (await admin.fetchTopicMetadata({ topics: [TOPIC] })).topics[0].partitions.length)

const configs = at =>
  asked(kafka(at), async admin => {
    const resources = [{ type: ConfigResourceTypes.TOPIC, name: TOPIC }]
    const described = await admin.describeConfigs({ resources, includeSynonyms: false })
    return described.resources[0].configEntries.find(entry => entry.configName === 'cleanup.policy').configValue
  })

const producing = async (at, use) => {
  const producer = kafka(at).producer({ createPartitioner: Partitioners.DefaultPartitioner })
  await producer.connect()
  try {
    return await use(producer)
  } finally {
    await producer.disconnect()
  }
}

const send = async producer => {
  const messages = Array.from({ length: RECORDS }, (_, number) => ({ value: String(number), partition: 0 }))
  await producer.send({ topic: TOPIC, messages })
  return RECORDS
}

const end = async admin =>
  Number((await admin.fetchTopicOffsets(TOPIC)).find(({ partition }) => partition === 0).high)

const produce = at => producing(at, send)

const consume = at => asked(kafka(at), end)

const missing = at =>
  asked(kafka(at), async admin => {
    try {
      return await admin.fetchTopicMetadata({ topics: ['missing'] })
    } catch (refused) {
      return refused.type
    }
  })

// The producer and the admin client are the same before and after.
const restart = at =>
  asked(kafka(at), admin =>
    producing(at, async producer => {
      await send(producer)
      const before = await end(admin)
      await restarted()
      await send(producer)
      const after = await end(admin)
      return [before, after - before, after - 1]
    }),
  )

const remove = async at => {
  await asked(kafka(at), admin => admin.deleteTopics({ topics: [TOPIC] }))
  return topics(at)
}

run('kafkajs', {
  list: topics, cluster, create, describe, configs, produce, consume, missing, restart, delete: remove, nowhere: topics,
})
