/** The fire drill: checks the promises of docs/production.md on the built package. `npm run operations`. */
import { rm } from 'node:fs/promises'
import { startOwnPostgres } from '../records/postgres-server.js'
import { buildShop, folder, stopAll, type Seen } from './ground.js'
import { trials } from './trials.js'

/** The time limit of a trial in milliseconds. */
const longest = 60_000

const only = process.argv.indexOf('--only') === -1 ? undefined : process.argv.at(-1)
await buildShop()
const server = await startOwnPostgres()
const rows: [string, Seen][] = []
try {
  for (const [name, trial] of Object.entries(trials)) {
    if (only !== undefined && !name.includes(only)) continue
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(reject, longest, new Error(`the trial did not end within ${longest} ms`))
    })
    const seen = await Promise.race([trial(server), late]).catch((error: unknown): Seen => ({
      promised: '',
      seen: `failed: ${String(error)}`,
      isKept: false,
    }))
    clearTimeout(timer)
    rows.push([name, seen])
    process.stderr.write(`${seen.isKept ? 'kept  ' : 'BROKEN'}  ${name}\n`)
  }
} finally {
  stopAll()
  await server.close()
  await rm(folder, { recursive: true, force: true })
}
const lines = rows.map(
  ([name, { promised, seen, isKept }]) =>
    `| ${name} | ${promised} | ${seen} | ${isKept ? 'kept' : '**broken**'} |`,
)
console.log(['| Trial | Promised | Observed | |', '| --- | --- | --- | --- |', ...lines].join('\n'))
process.exit(rows.every(([, { isKept }]) => isKept) ? 0 : 1)
