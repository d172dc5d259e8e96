/**
 * Injects faults and prints the findings: `npm run faults`, or one part of it by
 * `npm run faults -- --only statements` (`postgres`, `commits`, `disk`, `processes`, `subscribers`).
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startOwnPostgres } from '../records/postgres-server.js'
import { textOf } from './command-line.js'
import { fillDisk } from './full-disk.js'
import { cutCommits } from './cut-commits.js'
import { killPostgres } from './killed-postgres.js'
import { killOneOfThree } from './killed-process.js'
import { injectStatementErrors } from './statement-errors.js'
import { notifySubscribers } from './many-subscribers.js'

const only = textOf('only')

/** Runs the part on both engines, with its own folder and its own server. */
async function onBoth(part: (url: string) => Promise<number>): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-reliability-'))
  const server = await startOwnPostgres()
  try {
    const found = await part(`sqlite:${join(folder, 'app.db')}`)
    return found + (await part(await server.createDatabase()))
  } finally {
    await server.close()
    await rm(folder, { recursive: true })
  }
}

const parts: Readonly<Record<string, () => Promise<number>>> = {
  statements: () => onBoth(injectStatementErrors),
  processes: () => onBoth(killOneOfThree),
  postgres: killPostgres,
  commits: cutCommits,
  disk: fillDisk,
  subscribers: () => onBoth(notifySubscribers),
}

let findings = 0
for (const [name, part] of Object.entries(parts)) {
  if (only === undefined || only === name) findings += await part()
}
process.exit(findings === 0 ? 0 : 1)
