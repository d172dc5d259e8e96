/**
 * Follows pages like a reader: writes each file, runs each command, and compares each output. `…`, times and tokens may
 * have any value. After each page the project's types are checked, where it has a compiler configuration.
 */
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { freePort } from '../free-port.js'
import { startPostgres, type PostgresServer } from '../records/postgres-server.js'
import { toPattern, type Page } from './pages.js'
import { Reader } from './reader.js'

const hasTools = ['curl', 'bash'].every((tool) => spawnSync(tool, ['--version']).status === 0)

/** Follows pages one after another, with one database for all of them. */
export function followPages(pages: readonly Page[], engine: 'sqlite' | 'postgres'): void {
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

  // The pages use shell commands, and curl for requests.
  const each = hasTools ? it.each : it.skip.each
  each(pages)('works as $name describes', async ({ steps }) => {
    for (const step of steps) {
      const printed = await reader.follow(step)
      if (step.kind === 'command' && step.response !== '')
        expect(`$ ${step.command}\n${printed}`).toMatch(toPattern(step.command, step.response))
    }
    expect(reader.checkTypes()).toBe('')
  })
}
