/** Repeats statements on a thread with a connection of its own. Sources: node-postgres, Client; Node.js, Worker threads. */
import { createRequire } from 'node:module'
import type { Heartbeat, HeartbeatOptions } from '../contract/heartbeat.js'
import { startHeartbeat } from '../contract/heartbeat-thread.js'
import { addressOfSession } from './session.js'
import type { PostgresOptions } from './options.js'

const program = `
const { library, url, wait } = require('node:worker_threads').workerData
const { Client } = require(library)
const open = async () => {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: wait,
    query_timeout: wait,
    keepAlive: true,
    application_name: 'filigree heartbeat',
  })
  client.on('error', () => undefined)
  await client.connect()
  return {
    run: async (text, values) => (await client.query({ text, values, rowMode: 'array' })).rows,
    close: () => client.end(),
  }
}
`

export function heartbeatOfServer(options: PostgresOptions, given: HeartbeatOptions): Heartbeat {
  const library = createRequire(import.meta.url).resolve('pg')
  const { connectTimeout: wait = 5000 } = options
  return startHeartbeat(program, { library, url: addressOfSession(options), wait }, given)
}
