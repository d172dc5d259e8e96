/** The fire drill: checks the promises of docs/production.md on the built package. `npm run operations`. */
import { rm } from 'node:fs/promises'
import { startOwnPostgres } from '../records/postgres-server.js'
import { buildShop, folder, stopAll, type TrialResult } from './shop-processes.js'
import { trials } from './trials.js'

/** The time limit of a trial in milliseconds. */
const longest = 60_000

const only = process.argv.indexOf('--only') === -1 ? undefined : process.argv.at(-1)
await buildShop()
const server = await startOwnPostgres()
const rows: [string, TrialResult][] = []
try {
  for (const [name, trial] of Object.entries(trials)) {
    if (only !== undefined && !name.includes(only)) continue
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(reject, longest, new Error(`the trial did not end within ${longest} ms`))
    })
    const result = await Promise.race([trial(server), timeout]).catch(
      (error: unknown): TrialResult => ({
        promised: '',
        observed: `failed: ${String(error)}`,
        passed: false,
      }),
    )
    clearTimeout(timer)
    rows.push([name, result])
    process.stderr.write(`${result.passed ? 'passed' : 'BROKEN'}  ${name}\n`)
  }
} finally {
  stopAll()
  await server.close()
  await rm(folder, { recursive: true, force: true })
}
const lines = rows.map(
  ([name, { promised, observed, passed }]) =>
    `| ${name} | ${promised} | ${observed} | ${passed ? 'passed' : '**broken**'} |`,
)
console.log(['| Trial | Promised | Observed | |', '| --- | --- | --- | --- |', ...lines].join('\n'))
process.exit(rows.every(([, { passed }]) => passed) ? 0 : 1)
