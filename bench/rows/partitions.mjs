/** Filigree's records without HTTP, found by key in a table of 60 partitions and in one without partitions. */
import { measureCalls } from '../harness/calls-row.mjs'
import { withPostgresShop } from '../harness/databases.mjs'

const contenders = [
  { name: 'one table', file: 'partitions/filigree.ts', env: { PARTITIONS: '0' } },
  { name: '60 partitions', file: 'partitions/filigree.ts', env: { PARTITIONS: '60' } },
]

const onPostgres = { database: 'PostgreSQL', inFlight: 16 }

export const row = {
  name: 'partitions',
  title: 'Partitions by time',
  targets: [{ figure: 0, of: '60 partitions', over: 'one table', atLeast: 0.7 }],
  measure: (options) =>
    withPostgresShop((url) => measureCalls(contenders, { ...onPostgres, url }, options)),
}
