/** Filigree's records without HTTP, by each driver of SQLite that this runtime has. */
import { alternate, selectContenders, startContenders } from '../harness/contenders.mjs'
import { withSqliteShop } from '../harness/databases.mjs'
import { pick, toFigure } from '../harness/figures.mjs'
import { assertSameValue, timeCall, timeCalls } from '../harness/time-calls.mjs'
import { firstItems, items } from '../servers/shop.mjs'

/** Filigree on a database, once by each driver. */
const contendersOn = (url) =>
  ['better-sqlite3', 'node:sqlite', 'bun:sqlite']
    .filter((name) => name === 'better-sqlite3' || hasBuiltin(name))
    .map((name) => ({
      name,
      file: 'records/filigree.ts',
      env: { DATABASE_URL: `${url}?driver=${name}` },
    }))

function hasBuiltin(name) {
  if (name === 'bun:sqlite') return process.versions.bun !== undefined
  // Before 22.16 it cannot give rows as lists, and is not taken.
  const { StatementSync } = process.getBuiltinModule?.(name) ?? {}
  return StatementSync !== undefined && 'setReturnArrays' in StatementSync.prototype
}

async function measureDrivers(byName, options, failures) {
  const names = [...byName.keys()]
  const calls = (call) => (name) =>
    timeCalls(byName.get(name), call, { seconds: options.seconds, inFlight: 1 })
  const figures = []
  for (const call of ['find', 'list']) {
    const results = await alternate(names, options.rounds, calls(call), failures)
    figures.push(toFigure(`${call} by driver`, 'calls/s', 'higher', pick(results, 'perSecond')))
  }
  const insert = async (name) => (await timeCall(byName.get(name), 'insertMany')).seconds
  const results = await alternate(names, options.rounds, insert, failures)
  return [...figures, toFigure('insert of 100,000 by driver', 's', 'lower', results)]
}

export const row = {
  name: 'drivers',
  title: 'Drivers of SQLite',
  targets: [],
  measure(options) {
    return withSqliteShop(async (url) => {
      const failures = []
      const chosen = selectContenders(contendersOn(url), options)
      const started = await startContenders(chosen, { env: {}, failures })
      const byName = new Map(started.map(({ contender, server }) => [contender.name, server]))
      try {
        for (const server of byName.values()) {
          await assertSameValue(server, { name: 'find', n: 6, expected: items[6] })
          await assertSameValue(server, { name: 'list', n: 0, expected: firstItems(50) })
        }
        return { figures: await measureDrivers(byName, options, failures), failures }
      } finally {
        for (const server of byName.values()) await server.stop()
      }
    })
  },
}
