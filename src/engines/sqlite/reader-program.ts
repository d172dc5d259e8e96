/**
 * The program of a reader thread: opens the file read-only, and runs one statement after the other. It is text, so that
 * no compiler, bundler or test runner has to ship a file where a thread would find it.
 */
export const readerProgram = `
const { parentPort, workerData } = require('node:worker_threads')
const { driver, library, file, timeout } = workerData
const fold = (text) => (typeof text === 'string' ? text.toLowerCase() : text)
const base64 = (value) =>
  typeof value === 'string' || value instanceof Uint8Array ? Buffer.from(value).toString('base64') : null
const double = (value) => {
  if (typeof value !== 'number') return null
  return Number.isFinite(value) ? String(value) : (value > 0 ? '' : '-') + '9.0e+999'
}
const complement = (digits) => digits.replace(/\\d/g, (digit) => String(9 - Number(digit)))
const sortable = (units) => {
  const digits = String(units < 0n ? -units : units).padStart(60, '0')
  return units < 0n ? '0' + complement(digits) : '1' + digits
}
const unitsOf = (kept) =>
  kept.length <= 20 ? BigInt(kept) : kept[0] === '1' ? BigInt(kept.slice(1)) : -BigInt(complement(kept.slice(1)))
const joined = (chunks) => chunks.reduce((sum, one) => sum * 1000000000n + BigInt(one), 0n)
const decimal = (value) => {
  if (typeof value !== 'string') return null
  const [scale, kept] = value.split(' ')
  const units = unitsOf(kept)
  const [sign, places] = [units < 0n ? '-' : '', Number(scale)]
  const digits = String(units < 0n ? -units : units).padStart(places + 1, '0')
  return sign + (places === 0 ? digits : digits.slice(0, -places) + '.' + digits.slice(-places))
}
const sum = (value) => (typeof value === 'string' ? sortable(joined(value.split(' '))) : null)
const mean = (value) => {
  if (typeof value !== 'string') return null
  const [count, ...chunks] = value.split(' ')
  const [rows, all] = [BigInt(count), joined(chunks)]
  const size = ((all < 0n ? -all : all) * 2n + rows) / (rows * 2n)
  return sortable(all < 0n ? -size : size)
}
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
database.function('filigree_fold', { deterministic: true }, fold)
database.function('filigree_base64', { deterministic: true }, base64)
database.function('filigree_double', { deterministic: true }, double)
database.function('filigree_decimal', { deterministic: true }, decimal)
database.function('filigree_sum', { deterministic: true }, sum)
database.function('filigree_mean', { deterministic: true }, mean)
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
