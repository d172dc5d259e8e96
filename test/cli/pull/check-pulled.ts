/**
 * Runs `filigree pull` on a database and checks what it wrote: it compiles under `strict`, an application starts with it in
 * production, `migrate make` finds nothing, a second run writes nothing, the database is as before, and every record lists
 * rows, answers a nested GraphQL query, and creates a row.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bootstrap, Database, Module, type Application } from '../../../src/index.js'
import { makeMigration } from '../../../src/records/migrations/make-migration.js'
import { Problems } from '../../../src/errors/problems.js'
import { readTable } from '../../../src/records/model/read-table.js'
import type { Table } from '../../../src/records/model/table.js'
import type { Class } from '../../public-types.js'
import { runCommand } from '../../../src/cli/run-command.js'
import { fileOfAddress } from '../../../src/engines/database-address.js'
import { quoteTable } from '../../../src/engines/contract/quote.js'
import { Client } from '../../records/postgres-server.js'
import { internalsOf } from '../../records/open-database.js'
import { createRows, type Creation } from './create-rows.js'
import { dumpDatabase } from './dump-database.js'
import { nestedQueryOf } from './nested-query.js'

export interface PullReport {
  readonly written: readonly string[]
  readonly differences: readonly string[]
  readonly leftOut: readonly { readonly where: string; readonly message: string }[]
  readonly remarks: readonly { readonly where: string; readonly message: string }[]
  readonly tables: number
  readonly views: number
  readonly columns: number
  readonly milliseconds: number
}

export interface CheckedPull {
  readonly report: PullReport
  /** The compiler's errors. */
  readonly typeErrors: string
  /** Problems that stopped the start in production. */
  readonly startErrors: readonly string[]
  /** The files of a migration; none if there is nothing to do. */
  readonly migrations: readonly string[]
  readonly second: PullReport
  readonly isUnchanged: boolean
  /** Records whose list failed, with the reason. */
  readonly listErrors: readonly string[]
  readonly queryErrors: readonly string[]
  /** Records of views that the database itself cannot read, with its reason. */
  readonly brokenViews: readonly string[]
  readonly creations: readonly Creation[]
  readonly folder: string
  /** Milliseconds of each part, in order. */
  readonly times: ReadonlyMap<string, number>
}

export interface CheckOptions {
  readonly args?: readonly string[]
  /** Schemas that are dumped for the comparison. */
  readonly schemas?: readonly string[]
  /** Leaves the folder with the files. */
  readonly keeps?: boolean
}

/** Does a part of the check, and remembers how long it took. */
type Timed = <T>(part: string, work: () => T | Promise<T>) => Promise<T>

export async function checkPulled(
  url: string,
  { args = [], schemas = ['public'], keeps = false }: CheckOptions = {},
): Promise<CheckedPull> {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-pull-'))
  const times = new Map<string, number>()
  const timed: Timed = async (part, work) => {
    const start = performance.now()
    const result = await work()
    times.set(part, performance.now() - start)
    return result
  }
  try {
    const before = await dumpDatabase(url, schemas)
    const report = await timed('pull', () => pull(folder, url, args))
    const second = await timed('second run', () => pull(folder, url, args))
    const isUnchanged = before === (await dumpDatabase(url, schemas))
    const typeErrors = await timed('compile', () => findTypeErrors(folder))
    const index = join(folder, 'src/records/index.ts')
    const { records } = await timed(
      'import',
      () => import(pathToFileURL(index).href) as Promise<{ records: Class[] }>,
    )
    const started = await timed('start', () => start(records, url))
    const base = { report, second, isUnchanged, typeErrors, folder, times }
    if (Array.isArray(started))
      return {
        ...base,
        startErrors: started,
        migrations: [],
        listErrors: [],
        queryErrors: [],
        brokenViews: [],
        creations: [],
      }
    try {
      return {
        ...base,
        startErrors: [],
        ...(await checkRecords(started, { records, folder, timed, url })),
      }
    } finally {
      await started.close()
    }
  } finally {
    if (!keeps) await rm(folder, { recursive: true })
  }
}

async function pull(folder: string, url: string, args: readonly string[]): Promise<PullReport> {
  const texts = { out: '', err: '' }
  const code = await runCommand(['pull', url, '--json', ...args], {
    out: (text) => Promise.resolve(void (texts.out += text)),
    err: (text) => Promise.resolve(void (texts.err += text)),
    cwd: folder,
  })
  if (code !== 0) throw new Error(texts.err)
  return JSON.parse(texts.out) as PullReport
}

/** As in a new project, with the sources of the framework. */
async function findTypeErrors(folder: string): Promise<string> {
  const config = {
    compilerOptions: {
      ...{ target: 'es2023', module: 'nodenext', lib: ['es2023', 'esnext.disposable', 'dom'] },
      ...{ strict: true, noEmit: true, skipLibCheck: true, experimentalDecorators: true },
      ...{ noUncheckedIndexedAccess: true, types: ['node'] },
      ...{
        isolatedModules: true,
        noUnusedLocals: true,
        typeRoots: [join(root, 'node_modules/@types')],
      },
      paths: { filigree: [join(root, 'src/index.ts')] },
    },
    include: ['src'],
  }
  await writeFile(join(folder, 'package.json'), '{ "private": true, "type": "module" }')
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(root, 'node_modules/typescript7/bin/tsc')
  if (!existsSync(compiler)) throw new Error('The compiler is missing.')
  const options = { cwd: folder, encoding: 'utf8' } as const
  const { stdout } = spawnSync(process.execPath, [compiler, '-p', folder], options)
  // The sources of the framework have a configuration of their own.
  return stdout.replace(/^\.\..*\n(?: .*\n)*/gm, '')
}

const root = join(import.meta.dirname, '../../..')
const token = 'a-token-of-thirty-two-characters'

/** @returns the messages of the problems if it does not start */
async function start(records: Class[], url: string): Promise<Application | string[]> {
  class AppModule {}
  Module({ records })(AppModule)
  try {
    return await bootstrap(AppModule, {
      env: { NODE_ENV: 'production', APP_API_KEY: token },
      auth: { keys: false },
      logger: false,
      database: url,
      listen: false,
    })
  } catch (error) {
    const { problems } = error as { problems?: { message: string }[] }
    return problems?.map(({ message }) => message) ?? [String((error as Error).stack)]
  }
}

interface RecordsToCheck {
  readonly records: readonly Class[]
  readonly folder: string
  readonly timed: Timed
  readonly url: string
}

async function checkRecords(app: Application, { records, folder, timed, url }: RecordsToCheck) {
  const database = app.get(Database)
  const migration = await timed('migrate make', () =>
    makeMigration(internalsOf(database), 'nothing', { folder: join(folder, 'migrations') }),
  )
  const tables = records.map((type) => readTable(type, new Problems()) as Table)
  const listErrors: string[] = []
  const queryErrors: string[] = []
  const broken = new Map<Table, string>()
  const creations = await timed('creates', () => createRows(database, tables))
  await timed('lists', async () => {
    for (const table of tables)
      try {
        await database.records(table.type).list({ limit: 5 })
      } catch (error) {
        const reason = await readErrorOf(table, url)
        if (reason === undefined) listErrors.push(`${table.type.name}: ${String(error)}`)
        else broken.set(table, reason)
      }
  })
  await timed('nested queries', async () => {
    for (const table of tables.filter((one) => !broken.has(one))) {
      const { name } = table.type
      const query = nestedQueryOf(table)
      const response = await app.inject({ method: 'POST', url: '/graphql', json: { query } })
      const { errors } = response.json() as { errors?: readonly { message: string }[] }
      if (errors !== undefined) queryErrors.push(`${name}: ${errors[0]?.message ?? ''} in ${query}`)
    }
  })
  const brokenViews = [...broken].map(([{ type }, reason]) => `${type.name}: ${reason}`)
  return { migrations: migration?.files ?? [], listErrors, queryErrors, brokenViews, creations }
}

/** @returns the error of a statement that the database gets without this framework */
async function readErrorOf({ name }: Table, url: string): Promise<string | undefined> {
  if (fileOfAddress(url) !== undefined) return undefined
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(`select * from ${quoteTable(name)} limit 5`)
    return undefined
  } catch (error) {
    return String(error)
  } finally {
    await client.end()
  }
}
