// Runs the steps of ../steps.py and tells what each found, as it does.
'use strict'

const { readFileSync } = require('node:fs')
const readline = require('node:readline')
const { createRequire } = require('node:module')

// The newest releases are not installed beside this file: the first argument says where.
const [home, bootstrap, nothing] = process.argv.slice(2)
const installed = createRequire(home + '/')

const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]()

const say = line => process.stdout.write(JSON.stringify(line) + '\n')

const restarted = async () => {
  say({ restart: true })
  await answers.next()
}

const run = async (library, steps) => {
  for (const [step, ask] of Object.entries(steps)) {
    let said
    try {
      said = await ask(step === 'nowhere' ? nothing : bootstrap)
    } catch (failure) {
      said = { error: `${failure.name}: ${failure.message}` }
    }
    say({ step, said })
  }
  // Read, not required: not every package lets its own be required.
  const { version } = JSON.parse(readFileSync(`${home}/node_modules/${library}/package.json`))
  say({ release: `${library} ${version}` })
  process.exit(0)
}

module.exports = { TOPIC: 'first', RECORDS: 20, installed, nothing, restarted, run }
