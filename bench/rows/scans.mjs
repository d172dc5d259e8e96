/** One record by its key, alone and beside four clients whose questions look at every row, on SQLite and on PostgreSQL. */
import os from 'node:os'
import { withPostgresShop, withSqliteShop } from '../harness/databases.mjs'
import { withOther } from '../harness/contenders.mjs'
import { pick, toFigure } from '../harness/figures.mjs'
import { loadServer } from '../harness/load.mjs'
import { startServer } from '../harness/servers.mjs'

const request = { path: '/items/7' }
const scan = '/items?name.ilike=%25nothing%25&count=none'
const scanners = 4
/** SQLite's rows are looked at by threads of the server: a core for these, where there is one to spare. */
const cores = os.availableParallelism() >= 3 ? '0,2' : undefined

/** Asks again and again until it is told to end. @returns what ends it, and says how many were answered */
function keepScanning(url) {
  let isOver = false
  const loops = Array.from({ length: scanners }, async () => {
    let answered = 0
    while (!isOver) {
      const response = await fetch(url + scan)
      await response.text()
      if (response.status !== 200) throw new Error(`GET ${scan}: ${response.status}`)
      answered++
    }
    return answered
  })
  return async () => {
    isOver = true
    const counts = await Promise.all(loops)
    return counts.reduce((sum, count) => sum + count, 0)
  }
}

/** By the name of each database, and with the Filigree of another checkout. */
function contendersOn(name, parts, { beside }) {
  const contender = { name, file: 'scans/filigree.ts', ...parts }
  return beside === undefined ? [contender] : withOther(contender)
}

/** One after the other: the questions of one would be felt by the next. */
async function measureAll(contenders, options, failures) {
  const results = {}
  for (const contender of contenders) {
    Object.assign(results, await measureOne(contender, options, failures))
  }
  return results
}

async function measureOne({ name, ...contender }, options, failures) {
  let server
  try {
    server = await startServer(contender)
    // One client at a time: what is measured is how long it waits, not how many there are.
    const load = { ...options, connections: 1 }
    const results = { [`${name}, alone`]: [], [`${name}, beside four scans`]: [] }
    const ask = async () => {
      const { p50, p99 } = await loadServer(server.url, request, load)
      return { p50: p50 / 1000, p99: p99 / 1000, scans: 0 }
    }
    await loadServer(server.url, request, { ...load, seconds: options.warmup || 1 })
    for (let round = 0; round < options.rounds; round++) {
      results[`${name}, alone`].push(await ask())
      const end = keepScanning(server.url)
      try {
        const found = await ask()
        results[`${name}, beside four scans`].push({ ...found, scans: await end() })
      } catch (error) {
        await end()
        throw error
      }
    }
    return results
  } catch (error) {
    failures.push({ contender: name, reason: error.message })
    return {}
  } finally {
    await server?.stop()
  }
}

export const row = {
  name: 'scans',
  title: 'GET /items/7 beside questions that look at 200,000 rows',
  chart: false,
  targets: [
    { of: 'SQLite, beside four scans', atMost: 20 },
    { of: 'PostgreSQL, beside four scans', atMost: 20 },
  ],
  async measure(options) {
    const failures = []
    const results = {
      ...(await withSqliteShop((url) =>
        measureAll(
          contendersOn('SQLite', { env: { DATABASE_URL: url }, cores }, options),
          options,
          failures,
        ),
      )),
      ...(await withPostgresShop((url) =>
        measureAll(
          contendersOn('PostgreSQL', { env: { DATABASE_URL: url } }, options),
          options,
          failures,
        ),
      )),
    }
    return {
      figures: [
        toFigure('99th percentile', 'ms', 'lower', pick(results, 'p99')),
        toFigure('50th percentile', 'ms', 'lower', pick(results, 'p50')),
        toFigure('scans answered meanwhile', '', 'higher', pick(results, 'scans')),
      ],
      failures,
    }
  },
}
