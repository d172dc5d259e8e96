/**
 * Loads dumps of real databases into an embedded PostgreSQL, or opens files of SQLite, and checks what `filigree pull` writes
 * for them: `npm run pull-real -- dump.sql shop.sqlite …`. Statements that fail are counted, because a dump may need
 * extensions, roles or a program of its own.
 */
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { splitStatements } from '../../../src/engines/contract/sql-script.js'
import { Client, startOwnPostgres, type PostgresServer } from '../../records/postgres-server.js'
import { checkPulled, type CheckedPull } from './check-pulled.js'

const files = process.argv.slice(2)
const server = files.some((file) => file.endsWith('.sql')) ? await startOwnPostgres() : undefined
try {
  for (const file of files) {
    const start = performance.now()
    const { url, schemas, note } =
      server !== undefined && file.endsWith('.sql')
        ? await load(file, server)
        : { url: `sqlite:${file}`, schemas: undefined, note: '' }
    const loaded = performance.now()
    const args = schemas === undefined ? [] : ['--schema', schemas.join(',')]
    const keeps = process.env.KEEP === '1'
    const checked = await checkPulled(url, { args, keeps, ...(schemas && { schemas }) })
    print(`${basename(file)}${note}`, checked, [loaded - start, performance.now() - loaded])
  }
} finally {
  await server?.close()
}

async function load(file: string, { createDatabase }: PostgresServer) {
  const url = await createDatabase()
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const script = await readFile(file, 'utf8')
    // Lines of psql, and rows of `copy … from stdin`, which a client cannot send.
    const text = script
      .replace(/^COPY [^;]*FROM stdin;\n[^]*?^\\\.$/gim, '')
      .replace(/^\\.*$/gm, '')
    const failures: string[] = []
    for (const statement of splitStatements(text, { nestedComments: true })) {
      if (/^\s*(?:create|drop) database\b/i.test(statement)) continue
      await client.query(statement).catch((error: unknown) => {
        failures.push(`${String(error)}: ${statement.trim().slice(0, 100)}`)
      })
    }
    // A dump leaves materialized views empty, and empty ones cannot be read.
    const views = await client.query(
      `select c.oid::regclass::text as name from pg_class c where c.relkind = 'm' and not c.relispopulated`,
    )
    for (const { name } of views.rows)
      await client.query(`refresh materialized view ${String(name)}`).catch((error: unknown) => {
        failures.push(`${String(error)}: ${String(name)}`)
      })
    if (process.env.FAILURES === '1') for (const failure of failures) console.log(`  ${failure}`)
    const { rows } = await client
      .query(
        `reset search_path;
      select nspname as name from pg_namespace n where nspname !~ '^pg_|^information_schema$' and exists
        (select from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p', 'v', 'm')) order by 1`,
      )
      .then((results) => (Array.isArray(results) ? (results[1] as typeof results) : results))
    const note = failures.length === 0 ? '' : ` (${failures.length} statements failed)`
    return { url, schemas: rows.map(({ name }) => String(name)), note }
  } finally {
    await client.end()
  }
}

function print(title: string, checked: CheckedPull, [loading, checking]: number[]): void {
  const { report, typeErrors, startErrors, migrations, second, isUnchanged } = checked
  const { listErrors, queryErrors, brokenViews, creations, folder, times } = checked
  const counts = ['created', 'refused', 'failed'].map(
    (outcome) => `${creations.filter((one) => one.outcome === outcome).length} ${outcome}`,
  )
  const passed = (errors: readonly unknown[]): string => (errors.length === 0 ? 'ok' : 'FAILED')
  console.log(`
${title}
  ${report.tables} tables, ${report.views} views, ${report.columns} columns in ${report.milliseconds} ms
  loaded in ${seconds(loading)}, checked in ${seconds(checking)}, files in ${folder}
  ${[...times].map(([part, milliseconds]) => `${part} ${seconds(milliseconds)}`).join(', ')}
  compiles:            ${typeErrors === '' ? 'ok' : 'FAILED'}
  starts:              ${passed(startErrors)}
  migrate make:        ${passed(migrations)}
  second run:          ${passed([...second.written, ...second.differences])}
  database unchanged:  ${isUnchanged ? 'ok' : 'FAILED'}
  lists:               ${passed(listErrors)}
  nested queries:      ${passed(queryErrors)}
  broken views:        ${brokenViews.length}
  creates:             ${counts.join(', ')}
  left out:            ${report.leftOut.length}, remarks: ${report.remarks.length}`)
  const details = [
    ...typeErrors.split('\n').slice(0, 20),
    ...[startErrors, second.differences, listErrors, queryErrors].flatMap((one) =>
      one.slice(0, 20),
    ),
    ...brokenViews.map((one) => `the view fails in the database itself: ${one}`),
    ...creations
      .filter(({ outcome }) => outcome !== 'created')
      .map(({ record, outcome, reason = '' }) => `${outcome} ${record}: ${reason}`),
    ...report.leftOut.map(({ where, message }) => `left out: ${where} ${message}`),
    ...report.remarks.map(({ where, message }) => `remark: ${where} ${message}`),
  ]
  for (const line of details) if (line !== '') console.log(`    ${line.slice(0, 300)}`)
}

function seconds(milliseconds = 0): string {
  return `${(milliseconds / 1000).toFixed(1)} s`
}
