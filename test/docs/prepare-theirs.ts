/** What some libraries want to have generated before their programs are compiled. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runTool } from '../tools/install.js'

/**
 * A block is a controller: its routes are generated, and registered in an application that answers errors as tsoa's guide
 * proposes.
 */
export function prepareTsoa(folder: string, code: readonly string[]): void {
  for (const [at, text] of code.entries()) {
    const block = join(folder, 'blocks', String(at))
    renameSync(join(block, 'main.ts'), join(block, 'controller.ts'))
    const authenticates = text.includes('expressAuthentication')
    const own = `blocks/${at}`
    const settings = {
      entryFile: `${own}/controller.ts`,
      controllerPathGlobs: [`${own}/controller.ts`],
      noImplicitAdditionalProperties: 'throw-on-extras',
      spec: { outputDirectory: own },
      routes: {
        ...{ routesDir: own, esm: true },
        ...(authenticates ? { authenticationModule: `${own}/controller.ts` } : {}),
      },
    }
    writeFileSync(join(block, 'tsoa.json'), JSON.stringify(settings))
    const cli = join(folder, 'node_modules/@tsoa/cli/dist/cli.js')
    runTool(process.execPath, [cli, 'routes', '-c', `${own}/tsoa.json`], folder)
    writeFileSync(join(block, 'main.ts'), tsoaProgram)
  }
}

const tsoaProgram = `import express, { type ErrorRequestHandler } from 'express'
import { ValidateError } from 'tsoa'
import { RegisterRoutes } from './routes.js'

const app = express()
app.use(express.json(), express.urlencoded({ extended: true }))
RegisterRoutes(app)
const answerError: ErrorRequestHandler = (error, req, res, next) => {
  if (error instanceof ValidateError) return res.status(422).json({ details: error.fields })
  const { status, message } = error as { status?: number; message: string }
  res.status(status ?? 500).json({ error: status === undefined ? 'Internal server error' : message })
}
app.use(answerError)
app.listen(Number(process.env.PORT))
`

/** The tables of the page's schema: Prisma's own command for them wants an engine that it downloads. */
export const prismaTables = [
  'create table "Category" (id integer primary key autoincrement, name text not null unique)',
  `create table "Product" (id integer primary key autoincrement, name text not null unique,
    price real not null default 1, stock integer not null default 0, deletedAt datetime,
    categoryId integer references "Category" (id))`,
  'create table "Tag" (id integer primary key autoincrement, name text not null)',
  `create table "_ProductToTag" ("A" integer not null references "Product" (id),
    "B" integer not null references "Tag" (id), unique ("A", "B"))`,
]

/** Generates the client from the page's schema, and lets it use a database in memory. */
export function preparePrisma(folder: string): void {
  // The adapter's own copy was installed without being built; the repository's is found above it.
  rmSync(join(folder, 'node_modules/better-sqlite3'), { recursive: true, force: true })
  const page = readFileSync(join(root, 'docs/coming-from-typeorm-and-prisma.md'), 'utf8')
  const [, schema = ''] = /^```prisma\n([^]*?)^```$/m.exec(page) ?? []
  const [, client = ''] = /^```ts\n\/\/ prisma\.ts\n([^]*?)^```$/m.exec(page) ?? []
  const blocks = join(folder, 'blocks')
  writeFileSync(join(blocks, 'schema.prisma'), schema)
  writeFileSync(join(blocks, 'prisma.ts'), client.replace('file:./shop.db', ':memory:'))
  const cli = join(folder, 'node_modules/prisma/build/index.js')
  // Any program will do for the engine, which generating does not need.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath }
  const config = join(blocks, 'schema.prisma')
  runTool(process.execPath, [cli, 'generate', '--schema', config], folder, env)
}
