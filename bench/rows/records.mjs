/** Records without HTTP: one found, fifty listed, a hundred thousand written; each contender times itself in its own process. */
import Database from 'better-sqlite3'
import { alternate, selectContenders, startContenders } from '../harness/contenders.mjs'
import { withPostgresShop, withSqliteShop } from '../harness/databases.mjs'
import { pick, toFigure } from '../harness/figures.mjs'
import { assertSameValue, timeCall, timeCalls } from '../harness/time-calls.mjs'
import { firstItems, items } from '../servers/shop.mjs'

const own = [
  { name: 'Filigree', file: 'records/filigree.ts' },
  { name: 'TypeORM', file: 'records/typeorm.mjs' },
  { name: 'Drizzle', file: 'records/drizzle.mjs' },
]
const onSqlite = [{ name: 'the driver', file: 'records/driver-sqlite.mjs' }, ...own]
const onPostgres = [{ name: 'the driver', file: 'records/driver-postgres.mjs' }, ...own]

const answers = [
  { name: 'find', n: 6, expected: items[6] },
  { name: 'find', n: 999, expected: items[999] },
  { name: 'list', n: 0, expected: firstItems(50) },
]

/** Starts those whose answers are right, hands them to `use` by name, and stops them. */
async function withContenders(contenders, { options, url, database, failures }, use) {
  const missed = []
  const chosen = selectContenders(contenders, options)
  const started = await startContenders(chosen, { env: { DATABASE_URL: url }, failures: missed })
  const byName = new Map()
  try {
    for (const { contender, server } of started) {
      try {
        for (const answer of answers) await assertSameValue(server, answer)
        byName.set(contender.name, server)
      } catch (error) {
        missed.push({ contender: contender.name, reason: error.message })
      }
    }
    return await use(byName, missed)
  } finally {
    for (const { server } of started) await server.stop()
    for (const { contender, reason } of missed) {
      failures.push({ contender: `${contender}, ${database}`, reason })
    }
  }
}

/** Calls a second and processor time of one call, as two figures. */
async function measureCall(byName, title, { call, inFlight }, options, failures) {
  const names = [...byName.keys()]
  const run = (seconds) => (name) => timeCalls(byName.get(name), call, { seconds, inFlight })
  if (options.warmup > 0) await alternate(names, 1, run(options.warmup), [])
  const results = await alternate(names, options.rounds, run(options.seconds), failures)
  return [
    toFigure(title, 'calls/s', 'higher', pick(results, 'perSecond')),
    toFigure(`${title}, processor time`, 'µs a call', 'lower', pick(results, 'cost')),
  ]
}

/** What was written is gone before the next one writes. */
async function measureInsertMany(byName, url, options, failures) {
  const insert = async (name) => {
    const { seconds } = await timeCall(byName.get(name), 'insertMany')
    const database = new Database(url.slice('sqlite:'.length))
    database.prepare('delete from item where id > ?').run(items.length)
    database.close()
    return seconds
  }
  const results = await alternate([...byName.keys()], options.rounds, insert, failures)
  return [toFigure('insert of 100,000, SQLite', 's', 'lower', results)]
}

function measureSqlite(options, failures) {
  return withSqliteShop((url) =>
    withContenders(
      onSqlite,
      { options, url, database: 'SQLite', failures },
      async (byName, missed) => [
        ...(await measureCall(
          byName,
          'find, SQLite',
          { call: 'find', inFlight: 1 },
          options,
          missed,
        )),
        ...(await measureCall(
          byName,
          'list, SQLite',
          { call: 'list', inFlight: 1 },
          options,
          missed,
        )),
        ...(await measureInsertMany(byName, url, options, missed)),
      ],
    ),
  )
}

/** Sixteen calls at the same time. A single call would measure the round trip to the server. */
function measurePostgres(options, failures) {
  const inFlight = 16
  return withPostgresShop((url) =>
    withContenders(
      onPostgres,
      { options, url, database: 'PostgreSQL', failures },
      async (byName, missed) => [
        ...(await measureCall(
          byName,
          'find, PostgreSQL',
          { call: 'find', inFlight },
          options,
          missed,
        )),
        ...(await measureCall(
          byName,
          'list, PostgreSQL',
          { call: 'list', inFlight },
          options,
          missed,
        )),
      ],
    ),
  )
}

/** Figures of calls a second: find and list on SQLite, then on PostgreSQL. */
const speeds = [0, 2, 5, 7]

export const row = {
  name: 'records',
  title: 'Records without HTTP',
  targets: [
    ...speeds.flatMap((figure) => [
      { figure, of: 'Filigree', over: 'the driver', atLeast: 0.7 },
      { figure, of: 'Filigree', over: 'TypeORM', atLeast: 1 },
      { figure, of: 'Filigree', over: 'Drizzle', atLeast: 1 },
    ]),
    { figure: 4, of: 'Filigree', atMost: 2 },
  ],
  async measure(options) {
    const failures = []
    const figures = [
      ...(await measureSqlite(options, failures)),
      ...(await measurePostgres(options, failures)),
    ]
    return { figures, failures }
  },
}
