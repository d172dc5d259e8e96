/**
 * The tutorial, followed from its first page to its last, on SQLite and on PostgreSQL: each file is written, each command is
 * run, and each answer compared. `…`, moments and tokens are free. After each page the project's types are checked.
 */
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { root } from '../repository/source-files.js'
import { readPages, toPattern } from './pages.js'
import { Reader } from './reader.js'

const pages = readPages(join(root, 'docs/tutorial'))
const hasTools = ['curl', 'bash'].every((tool) => spawnSync(tool, ['--version']).status === 0)
/** One database for all pages. */
export function followTutorial(engine: 'sqlite' | 'postgres'): void {
  let reader: Reader
  let server: PostgresServer | undefined

  beforeAll(async () => {
    if (engine === 'postgres') server = await startPostgres()
    const url = server?.url
    reader = new Reader(await freePort(), url === undefined ? {} : { DATABASE_URL: url })
  })
  afterAll(async () => {
    await reader[Symbol.asyncDispose]()
    await server?.close()
  })

  // The pages' commands are those of a shell, and their requests curl's.
  const each = hasTools ? it.each : it.skip.each
  each(pages)('does what $name says', async ({ steps }) => {
    for (const step of steps) {
      const printed = await reader.follow(step)
      if (step.kind === 'command' && step.answer !== '')
        expect(`$ ${step.command}\n${printed}`).toMatch(toPattern(step.command, step.answer))
    }
    expect(reader.checkTypes()).toBe('')
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : 0
}
