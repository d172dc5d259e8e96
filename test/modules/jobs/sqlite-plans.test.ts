/** The plans of the worker's statements on SQLite: they find and order jobs by indexes, however many jobs wait. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect, it } from '@jest/globals'
import { bootstrap, Database, Module } from 'filigree'
import { Job, Jobs, jobs } from 'filigree/jobs'
import { readSql } from '../../records/run-sql.js'
import { waitUntil } from '../../wait-until.js'

const ran: string[] = []

class Work {
  @Job() now(): void {
    ran.push('now')
  }
  @Job() later(): void {
    ran.push('later')
  }
  @Job({ group: () => 'a' }) grouped(): void {
    ran.push('grouped')
  }
}

@Module({ providers: [Work], imports: [jobs({ work: true, poll: '1s' })] })
class App {}

/** The steps of a plan that read the whole table, or sort the jobs that they read. */
async function slowSteps(database: Database, query: string): Promise<string[]> {
  const plan = await readSql(
    database,
    `explain query plan ${query.replaceAll(/'[^']*'|\?/g, (part) => (part === '?' ? 'null' : part))}`,
  )
  const steps = plan.map(([, parent, , detail]) => ({ parent, detail: String(detail) }))
  const readsJobs = (parent: unknown): boolean =>
    steps.some((step) => step.parent === parent && /^(SCAN|SEARCH) jobs\b/.test(step.detail))
  return steps
    .filter(
      ({ parent, detail }) =>
        detail === 'SCAN jobs' ||
        (/^USE TEMP B-TREE FOR .*ORDER BY$/.test(detail) && readsJobs(parent)),
    )
    .map(({ detail }) => `${detail}: ${query}`)
}

it('use indexes in the order that claims, polls and leases need', async () => {
  const statements = new Set<string>()
  const listener = (message: unknown): void => {
    const { sql } = message as { readonly sql: string }
    if (/\bjobs\b/.test(sql) && !sql.startsWith('insert')) statements.add(sql)
  }
  const app = await bootstrap(App, {
    listen: false,
    logger: false,
    env: {},
    database: 'sqlite::memory:',
  })
  subscribe('filigree:statement', listener)
  try {
    const queue = app.get(Jobs)
    await queue.add(Work, 'now')
    await queue.add(Work, 'grouped')
    await queue.add(Work, 'later', undefined, { in: '1s' })
    const hasPolled = (): boolean =>
      [...statements].some((sql) => sql.startsWith('select (select 1'))
    await queue.drain()
    await waitUntil(() => ran.length === 3 && hasPolled())
  } finally {
    unsubscribe('filigree:statement', listener)
  }
  const database = app.get(Database)
  const slow = await Promise.all([...statements].map((sql) => slowSteps(database, sql)))
  await app.close()
  const text = [...statements].join('\n')
  for (const part of ['finished', 'set later_at = null', 'min(', 'delete from jobs', 'lease_until'])
    expect(text).toContain(part)
  expect(slow.flat()).toEqual([])
})
