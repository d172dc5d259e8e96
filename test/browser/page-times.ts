/**
 * Measures how long two large pages take in a real Chromium, on a machine that does nothing else: the first row of 100,000 in the
 * admin page (at most 0.5 s), and `/swagger` of 60 records until its operations are listed and one is open (at most 1.5 s).
 * `npm run build && TSX_TSCONFIG_PATH=test/tsconfig.json node --import tsx test/browser/page-times.ts [runs]`
 * Prints every time and the median. Exits with 1 if a median is over its limit.
 */
import { bootstrap, Database } from 'filigree'
import type { Page } from 'playwright-core'
import { Ticket } from '../admin/desk.js'
import { PartsModule } from '../openapi/sixty-records.js'
import { startDesk } from './admin-desk.js'
import { withPage } from './open-page.js'

const runs = Number(process.argv[2] ?? 7)
const rows = 100_000

/** @returns the median in milliseconds. The first run, which fills caches, is not counted */
async function measure(page: Page, url: string, isUsable: () => Promise<void>): Promise<number> {
  const times: number[] = []
  for (let run = 0; run <= runs; run++) {
    await page.goto('about:blank')
    const start = performance.now()
    await page.goto(url, { waitUntil: 'commit' })
    await isUsable()
    if (run > 0) times.push(Math.round(performance.now() - start))
  }
  process.stdout.write(`${url}: ${times.join(', ')} ms\n`)
  return times.sort((one, other) => one - other)[Math.floor(times.length / 2)] ?? Infinity
}

async function measureAdmin(): Promise<number> {
  const app = await startDesk()
  const tickets = Array.from({ length: rows }, (_, index) => ({
    subject: `Ticket ${index}`,
    orgId: (index % 5) + 1,
    priority: index % 10,
  }))
  // Their history is written too, which takes longer than the timeout of one transaction.
  for (let start = 0; start < rows; start += 10_000)
    await app
      .get(Database)
      .records(Ticket)
      .insertMany(tickets.slice(start, start + 10_000))
  try {
    return await withPage(app.url, async ({ page }) => {
      await page.goto(`${app.url}/admin`)
      await page.getByLabel('Name').fill('ann')
      await page.getByLabel('Password').fill('right')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('button', { name: 'Sign out' }).waitFor()
      return await measure(page, `${app.url}/admin/tickets`, () =>
        page.locator('tbody tr').first().waitFor(),
      )
    })
  } finally {
    await app.close()
  }
}

async function measureSwagger(): Promise<number> {
  const app = await bootstrap(PartsModule, {
    ...{ port: 0, host: '127.0.0.1', logger: false, env: {}, database: 'sqlite::memory:' },
  })
  try {
    return await withPage(app.url, ({ page }) =>
      measure(page, `${app.url}/swagger`, async () => {
        await page.getByLabel('Filter').fill('part7 post')
        await page.locator('.opblock-post .opblock-summary-control').first().click()
        await page.locator('.opblock-post .opblock-body').first().waitFor()
      }),
    )
  } finally {
    await app.close()
  }
}

const results = [
  { what: `first row of ${rows} in the admin page`, limit: 500, median: await measureAdmin() },
  { what: '/swagger of 60 records', limit: 1500, median: await measureSwagger() },
]
for (const { what, limit, median } of results)
  process.stdout.write(`${what}: ${median} ms, at most ${limit} ms\n`)
process.exit(results.every(({ limit, median }) => median <= limit) ? 0 : 1)
