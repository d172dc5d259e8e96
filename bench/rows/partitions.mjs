/** Filigree's records found and changed by key in a table of 60 partitions and in one without, with and without HTTP. */
import { measureCalls } from '../harness/calls-row.mjs'
import { withPostgresShop } from '../harness/databases.mjs'
import { loadServer } from '../harness/load.mjs'
import { measureLoad } from '../harness/load-row.mjs'
import { sendJson } from '../servers/json-request.mjs'

const contendersOf = (file) => [
  { name: 'one table', file, env: { PARTITIONS: '0' } },
  { name: '60 partitions', file, env: { PARTITIONS: '60' } },
]

const onPostgres = { database: 'PostgreSQL', inFlight: 16 }
const targets = [{ figure: 0, of: '60 partitions', over: 'one table', atLeast: 0.7 }]

const calls = {
  name: 'partitions',
  title: 'Partitions by time, without HTTP',
  targets,
  measure: (options) =>
    withPostgresShop((url) =>
      measureCalls(contendersOf('partitions/filigree.ts'), { ...onPostgres, url }, options),
    ),
}

const requestsTo = {
  get: (path) => ({ path }),
  patch: (path) => sendJson('PATCH', path, { title: 'Changed' }),
}

/** The keys are made with the rows, so each server says its own. */
function overHttp(name) {
  const load = (url, _, options, { ids }) =>
    loadServer(url, { requests: ids.map((id) => requestsTo[name](`/events/${id}`)) }, options)
  return {
    name: `partitions-${name}`,
    title: `Partitions by time: ${name.toUpperCase()} by key`,
    targets: name === 'get' ? targets : [],
    measure: (options) =>
      withPostgresShop((url) =>
        measureLoad(
          {
            contenders: contendersOf('partitions/filigree-http.ts'),
            env: { DATABASE_URL: url },
            load,
          },
          options,
        ),
      ),
  }
}

export const rows = [calls, overHttp('get'), overHttp('patch')]
