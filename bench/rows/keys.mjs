/** Filigree's records without HTTP, found and changed by a key of one field and by a key of two. */
import { measureCalls } from '../harness/calls-row.mjs'
import { withPostgresShop, withSqliteShop } from '../harness/databases.mjs'

const contenders = [
  { name: 'one field', file: 'keys/filigree.ts', env: { KEY: 'one' } },
  { name: 'two fields', file: 'keys/filigree.ts', env: { KEY: 'two' } },
]

const onSqlite = { database: 'SQLite', inFlight: 1 }
const onPostgres = { database: 'PostgreSQL', inFlight: 16 }

export const row = {
  name: 'keys',
  title: 'Keys of two fields',
  // A call costs at most 1.1 times as much.
  targets: [0, 1, 2, 3].map((figure) => ({
    figure,
    of: 'two fields',
    over: 'one field',
    atLeast: 1 / 1.1,
  })),
  async measure(options) {
    const parts = [
      await withSqliteShop((url) => measureCalls(contenders, { ...onSqlite, url }, options)),
      await withPostgresShop((url) => measureCalls(contenders, { ...onPostgres, url }, options)),
    ]
    return {
      figures: parts.flatMap(({ figures }) => figures),
      failures: parts.flatMap(({ failures }) => failures),
    }
  },
}
