// Reads as a member of a group, and writes what it has read and the offsets in transactions; every third one is aborted, and done again.
'use strict'

const copy = async (kafka, options, print) => {
  const [topic, output, group] = [options['--topic'], options['--output'], options['--group']]
  const batchSize = Number(options['--batch'] || 5)
  let left = Number(options['--count'])
  let transactions = 0
  const producer = kafka.producer({ transactionalId: options['--transactional-id'], maxInFlightRequests: 1, idempotent: true })
  const consumer = kafka.consumer({ groupId: group, sessionTimeout: 6000, heartbeatInterval: 500, maxWaitTimeInMs: 100 })
  await producer.connect()
  await consumer.connect()

  const transact = async (messages, partition, commits) => {
    const transaction = await producer.transaction()
    await transaction.send({ topic: output, messages: messages.map(({ value }) => ({ value, partition: 0 })) })
    const offset = String(Number(messages[messages.length - 1].offset) + 1)
    await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic, partitions: [{ partition, offset }] }] })
    await (commits ? transaction.commit() : transaction.abort())
    print({ committed: commits, records: messages.length })
  }

  try {
    await consumer.subscribe({ topics: [topic], fromBeginning: true })
    await new Promise((resolve, reject) => {
      const eachBatch = async ({ batch, resolveOffset }) => {
        for (let first = 0; first < batch.messages.length && left > 0; first += batchSize) {
          const messages = batch.messages.slice(first, first + batchSize)
          for (let committed = false; !committed; transactions++) {
            committed = transactions % 3 !== 1
            await transact(messages, batch.partition, committed)
          }
          resolveOffset(messages[messages.length - 1].offset)
          left -= messages.length
        }
        if (left <= 0) resolve()
      }
      consumer.run({ autoCommit: false, eachBatch: given => eachBatch(given).catch(reject) }).catch(reject)
    })
  } finally {
    await consumer.disconnect()
    await producer.disconnect()
  }
}

module.exports = { copy }
