/** Generates the code that some libraries require before their programs are compiled. */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root, runTool } from '../tools/install.js'

/**
 * Generates the routes of a controller block, and registers them in an application that handles errors as tsoa's guide
 * proposes.
 */
export function prepareTsoa(folder: string, code: readonly string[]): void {
  for (const [at, text] of code.entries()) {
    const block = join(folder, 'blocks', String(at))
    renameSync(join(block, 'main.ts'), join(block, 'controller.ts'))
    const authenticates = text.includes('expressAuthentication')
    const blockFolder = `blocks/${at}`
    const settings = {
      entryFile: `${blockFolder}/controller.ts`,
      controllerPathGlobs: [`${blockFolder}/controller.ts`],
      noImplicitAdditionalProperties: 'throw-on-extras',
      spec: { outputDirectory: blockFolder },
      routes: {
        ...{ routesDir: blockFolder, esm: true },
        ...(authenticates ? { authenticationModule: `${blockFolder}/controller.ts` } : {}),
      },
    }
    writeFileSync(join(block, 'tsoa.json'), JSON.stringify(settings))
    const cli = join(folder, 'node_modules/@tsoa/cli/dist/cli.js')
    runTool(process.execPath, [cli, 'routes', '-c', `${blockFolder}/tsoa.json`], folder)
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

/** SQL of the tables in the page's schema, because Prisma's command downloads an engine for it. */
export const prismaTables = [
  'create table "Category" (id integer primary key autoincrement, name text not null unique)',
  `create table "Product" (id integer primary key autoincrement, name text not null unique,
    price real not null default 1, stock integer not null default 0, deletedAt datetime,
    categoryId integer references "Category" (id))`,
  'create table "Tag" (id integer primary key autoincrement, name text not null)',
  `create table "_ProductToTag" ("A" integer not null references "Product" (id),
    "B" integer not null references "Tag" (id), unique ("A", "B"))`,
]

/** Generates the client from the page's schema, with a database in memory. */
export function preparePrisma(folder: string): void {
  // The adapter's copy was installed without compiling it, so the copy of the repository is used.
  rmSync(join(folder, 'node_modules/better-sqlite3'), { recursive: true, force: true })
  const page = readFileSync(join(root, 'docs/coming-from-typeorm-and-prisma.md'), 'utf8')
  const [, schema = ''] = /^```prisma\n([^]*?)^```$/m.exec(page) ?? []
  const [, client = ''] = /^```ts\n\/\/ prisma\.ts\n([^]*?)^```$/m.exec(page) ?? []
  const blocks = join(folder, 'blocks')
  writeFileSync(join(blocks, 'schema.prisma'), schema)
  writeFileSync(join(blocks, 'prisma.ts'), client.replace('file:./shop.db', ':memory:'))
  const cli = join(folder, 'node_modules/prisma/build/index.js')
  // Generating needs no engine, so any program can stand for it.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath }
  const config = join(blocks, 'schema.prisma')
  runTool(process.execPath, [cli, 'generate', '--schema', config], folder, env)
}
