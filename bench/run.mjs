/** `npm run bench`: measures Filigree and its peers side by side; what counts are the ratios of one run. */
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { drawChart } from './harness/chart.mjs'
import { compileServers } from './harness/compile.mjs'
import { isBesideName } from './harness/contenders.mjs'
import { judge } from './harness/figures.mjs'
import { chooseLoad, describeMachine } from './harness/machine.mjs'
import { readOptions } from './harness/options.mjs'
import { formatRow } from './harness/table.mjs'
import { rows as arena } from './rows/arena.mjs'
import { row as bootstrap } from './rows/bootstrap.mjs'
import { rows as bun } from './rows/bun.mjs'
import { citusRows } from './rows/citus.mjs'
import { row as drivers } from './rows/drivers.mjs'
import { row as firstResponse } from './rows/first-response.mjs'
import { row as get } from './rows/get.mjs'
import { row as graphqlDeep } from './rows/graphql-deep.mjs'
import { row as graphqlOne } from './rows/graphql-one.mjs'
import { row as graphql } from './rows/graphql.mjs'
import { row as idle } from './rows/idle.mjs'
import { row as keys } from './rows/keys.mjs'
import { rows as partitions } from './rows/partitions.mjs'
import { row as list } from './rows/list.mjs'
import { row as memory } from './rows/memory.mjs'
import { row as messages } from './rows/messages.mjs'
import { row as modules } from './rows/modules.mjs'
import { row as post } from './rows/post.mjs'
import { rows as postgres } from './rows/postgres.mjs'
import { row as records } from './rows/records.mjs'
import { row as routes } from './rows/routes.mjs'
import { row as scans } from './rows/scans.mjs'
import { row as secured } from './rows/secured.mjs'
import { row as recordTypes } from './rows/record-types.mjs'
import { row as types } from './rows/types.mjs'
import { row as upload } from './rows/upload.mjs'
import { row as workers } from './rows/workers.mjs'

const all = [
  get,
  post,
  secured,
  modules,
  ...bun,
  list,
  records,
  drivers,
  keys,
  ...partitions,
  graphql,
  graphqlDeep,
  graphqlOne,
  messages,
  ...postgres,
  ...(process.env.TEST_CITUS_URL ? citusRows(process.env.TEST_CITUS_URL) : []),
  ...arena,
  scans,
  routes,
  bootstrap,
  firstResponse,
  upload,
  memory,
  idle,
  workers,
  types,
  recordTypes,
]

function selectRows(names) {
  const groups = all.flatMap(({ group }) => group ?? [])
  const known = [...new Set([...groups, ...all.map(({ name }) => name)])]
  const unknown = names?.find((name) => !known.includes(name))
  if (unknown !== undefined)
    throw new Error(`--row ${unknown}: unknown. Rows: ${known.join(', ')}.`)
  return all.filter(({ name, group }) => !names || names.includes(name) || names.includes(group))
}

/** The versions that the lock file fixes for the peers. */
function readVersions() {
  const { packages } = JSON.parse(readFileSync(new URL('package-lock.json', import.meta.url)))
  const names = Object.keys(packages[''].dependencies)
  return Object.fromEntries(names.map((name) => [name, packages[`node_modules/${name}`].version]))
}

/** The figures saved before; rows that are not run again keep theirs. */
function readSaved(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).rows
  } catch (error) {
    if (error.code === 'ENOENT') return {}
    throw error
  }
}

function save(file, measured) {
  const rows = { ...readSaved(file), ...measured }
  const inOrder = all.filter(({ name }) => rows[name]).map(({ name }) => [name, rows[name]])
  const results = { versions: readVersions(), rows: Object.fromEntries(inOrder) }
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(file.replace(/(\.json)?$/, '.svg'), drawChart(results))
}

/** Cuts what timers measure to four digits, which is more than they are worth. */
const shorten = (_key, value) => (typeof value === 'number' ? Number(value.toPrecision(4)) : value)

async function measureRow(row, options, machine) {
  const { figures, failures } = await row.measure(options)
  const { rounds, seconds, warmup, connections, starts, size, requests } = options
  const settings = { rounds, seconds, warmup, connections, starts, size, requests }
  return {
    name: row.name,
    title: row.title,
    chart: row.chart,
    measuredAt: new Date().toISOString(),
    machine,
    settings,
    figures,
    targets: judge(row.targets, figures),
    failures,
  }
}

/** The options and rows asked for; a wrong flag ends here, with its message alone. */
function readCommand() {
  try {
    const options = readOptions(process.argv.slice(2))
    return { ...options, load: chooseLoad(options.load), selected: selectRows(options.rows) }
  } catch (error) {
    console.error(error.message)
    process.exit(1)
  }
}

async function main() {
  const options = readCommand()
  if (options.help) return console.log(options.help)
  const machine = describeMachine(options.load)
  console.log(`${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ${machine.load}`)
  console.log(
    machine.pinned ? 'Servers on core 0, load on core 1.' : 'Nothing is pinned to a core.',
  )
  if (options.load === 'autocannon') {
    console.log(
      'autocannon may be slower than the server: the ratios of the fastest rows then shrink.',
    )
  }
  await compileServers(options.beside)
  const measured = {}
  for (const row of options.selected) {
    const result = await measureRow(row, options, machine)
    console.log(formatRow(result))
    const names = result.figures.flatMap(({ contenders }) => Object.keys(contenders))
    if (options.beside !== undefined && !names.some(isBesideName)) {
      console.log('\n  ABSENT  Nothing of the other checkout runs in this row.')
    }
    // What the other checkout cannot do is no fault of this one.
    if (result.failures.some(({ contender }) => !isBesideName(contender))) process.exitCode = 1
    measured[row.name] = JSON.parse(JSON.stringify(result, shorten))
    if (options.save) save(path.resolve(import.meta.dirname, options.out), measured)
  }
  console.log(options.save ? `\nSaved in ${options.out}.` : '\nNot saved.')
}

await main()
