/** Runs the heartbeat in a thread with its own connection. Sources: SQLite, WAL; Node.js, Worker threads. */
import { createRequire } from 'node:module'
import { type Heartbeat, type HeartbeatOptions, startHeartbeat } from '../contract/heartbeat.js'
import type { DriverName } from './driver.js'

export interface HeartbeatFile {
  readonly driver: DriverName
  readonly file: string
  /** Milliseconds to wait for a lock. */
  readonly timeout: number
}

const program = `
const { driver, library, file, timeout } = require('node:worker_threads').workerData
const opens = {
  'better-sqlite3': () => {
    const database = new (require(library))(file, { timeout })
    return { database, all: (sql, values) => database.prepare(sql).raw().all(values) }
  },
  'node:sqlite': () => {
    const database = new (require('node:sqlite').DatabaseSync)(file, { timeout })
    return {
      database,
      all: (sql, values) => {
        const statement = database.prepare(sql)
        statement.setReturnArrays(true)
        return statement.all(...values)
      },
    }
  },
  'bun:sqlite': () => {
    const database = new (require('bun:sqlite').Database)(file)
    return { database, all: (sql, values) => database.prepare(sql).values(...values) }
  },
}
const open = () => {
  const { database, all } = opens[driver]()
  database.exec('pragma busy_timeout = ' + timeout)
  database.exec('pragma synchronous = NORMAL')
  return { run: all, close: () => database.close() }
}
`

export function startSqliteHeartbeat(
  { driver, file, timeout }: HeartbeatFile,
  options: HeartbeatOptions,
): Heartbeat {
  const library =
    driver === 'better-sqlite3' ? createRequire(import.meta.url).resolve(driver) : undefined
  return startHeartbeat(program, { driver, library, file, timeout }, options)
}
