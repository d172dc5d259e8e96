/** The page about the move to PostgreSQL does what it says, with a server of the tests. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { freePort } from '../free-port.js'
import { startPostgres } from '../records/postgres-server.js'
import { root } from '../repository/source-files.js'
import { readSteps, toPattern } from '../tutorial/pages.js'
import { Reader } from '../tutorial/reader.js'

/** The line in which the reader writes the address. */
const address = /^export POSTGRES_URL=/

it('prints what the page shows after each command', async () => {
  const server = await startPostgres()
  const reader = new Reader(await freePort(), { POSTGRES_URL: await server.createDatabase() })
  try {
    const text = readFileSync(join(root, 'docs/from-sqlite-to-postgresql.md'), 'utf8')
    for (const step of readSteps(text)) {
      if (step.kind === 'command' && address.test(step.command)) continue
      const printed = await reader.follow(step)
      if (step.kind === 'command')
        expect(`$ ${step.command}\n${printed}`).toMatch(toPattern(step.command, step.response))
    }
  } finally {
    await reader[Symbol.asyncDispose]()
    await server.close()
  }
})
