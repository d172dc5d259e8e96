/**
 * The program of a reader thread: opens the file read-only, and runs one statement after the other. It is text, so that
 * no compiler, bundler or test runner has to ship a file where a thread would find it.
 */
import { functionsProgram } from './functions.js'

export const readerProgram = `
const { parentPort, workerData } = require('node:worker_threads')
const { driver, library, file, timeout } = workerData
const numbers = (row) => row.map((value) => (typeof value === 'bigint' ? Number(value) : value))

const open = {
  'better-sqlite3': () => new (require(library))(file, { readonly: true, timeout }),
  'node:sqlite': () => new (require('node:sqlite').DatabaseSync)(file, { readOnly: true, timeout }),
  'bun:sqlite': () => new (require('bun:sqlite').Database)(file, { readonly: true }),
}
const prepare = {
  'better-sqlite3': (sql) => {
    const statement = database.prepare(sql).raw()
    return (values) => statement.all(values)
  },
  'node:sqlite': (sql) => {
    const statement = database.prepare(sql)
    statement.setReturnArrays(true)
    return (values) => {
      try {
        return statement.all(...values)
      } catch (error) {
        if (error.code !== 'ERR_OUT_OF_RANGE') throw error
        statement.setReadBigInts(true)
        try {
          return statement.all(...values).map(numbers)
        } finally {
          statement.setReadBigInts(false)
        }
      }
    }
  },
  'bun:sqlite': (sql) => {
    const statement = database.prepare(sql)
    return (values) => statement.values(...values)
  },
}

const database = open[driver]()
database.exec('pragma case_sensitive_like = ON')
database.exec('pragma busy_timeout = ' + timeout)
for (const [name, run] of Object.entries(${functionsProgram})) {
  database.function(name, { deterministic: true }, run)
}
const prepared = new Map()
parentPort.on('message', ({ sql, values }) => {
  try {
    let run = prepared.get(sql)
    if (run === undefined) {
      if (prepared.size >= 100) prepared.clear()
      prepared.set(sql, (run = prepare[driver](sql)))
    }
    parentPort.postMessage({ rows: run(values) })
  } catch ({ name, code, errcode, message }) {
    parentPort.postMessage({ error: { name, code, errcode, message } })
  }
})
parentPort.postMessage({ ready: true })
`
