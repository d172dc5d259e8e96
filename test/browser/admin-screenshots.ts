/**
 * Takes the pictures of the admin page for docs/admin.md, or all views into a folder to look at:
 * `TSX_TSCONFIG_PATH=test/tsconfig.json node --import tsx test/browser/admin-screenshots.ts [folder]`
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database } from 'filigree'
import type { Page } from 'playwright-core'
import { root } from '../repository/source-files.js'
import { Ticket } from '../admin/desk.js'
import { startDesk } from './admin-desk.js'
import { withPage } from './open-page.js'
import { toSmallPng } from './small-png.js'

const app = await startDesk()
const [, , folder] = process.argv

const views: Record<string, (page: Page) => Promise<unknown>> = {
  start: (page) => page.goto(`${app.url}/admin`),
  list: async (page) => {
    await page.goto(`${app.url}/admin/tickets?orderBy=-priority`)
    await page.getByRole('checkbox', { name: 'Choose Badge is not read', exact: true }).check()
  },
  filter: async (page) => {
    await page.goto(`${app.url}/admin/tickets?status=open&priority.gte=1`)
    await page.getByRole('button', { name: 'Filter', exact: true }).click()
    await page.getByRole('form', { name: 'Filter' }).waitFor()
  },
  form: async (page) => {
    await page.goto(`${app.url}/admin/tickets/1`)
    await page.getByRole('combobox', { name: 'Org' }).click()
    await page.getByRole('option').first().waitFor()
  },
  faults: async (page) => {
    await page.goto(`${app.url}/admin/tickets/new`)
    await page.getByRole('button', { name: 'Save' }).click()
  },
  conflict: async (page) => {
    await page.goto(`${app.url}/admin/tickets/2`)
    await page.getByLabel('Subject').fill('Chair squeaks when one leans back')
    const tickets = app.get(Database).records(Ticket)
    const subject = `Chair of the hall squeaks (${String(Math.random()).slice(2, 4)})`
    await tickets.update(2, { subject })
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('region', { name: /^Conflict/ }).waitFor()
  },
  question: async (page) => {
    await page.goto(`${app.url}/admin/tickets`)
    await page.getByLabel('Choose all').check()
    await page.getByRole('button', { name: /^Delete/ }).click()
  },
  many: async (page) => {
    await page.goto(`${app.url}/admin/orgs`)
    await page.getByLabel('Choose all').check()
    await page.getByRole('button', { name: /^Edit/ }).click()
  },
  figures: async (page) => {
    await page.goto(`${app.url}/admin/tickets/figures`)
    await page.getByRole('img').waitFor()
  },
  history: async (page) => {
    await page.goto(`${app.url}/admin/tickets/2`)
    await page.getByRole('button', { name: 'History' }).click()
    await page.getByRole('region', { name: 'History' }).getByRole('row').first().waitFor()
  },
  import: (page) => page.goto(`${app.url}/admin/labels/import`),
}

/** Those of the documentation, with the picture's height. */
const shown: Record<string, readonly string[]> = {
  light: ['list', 'conflict'],
  dark: ['form'],
  phone: ['list'],
}

for (const look of ['light', 'dark', 'phone'] as const) {
  await withPage(app.url, async ({ page }) => {
    await page.emulateMedia({ colorScheme: look === 'dark' ? 'dark' : 'light' })
    await page.setViewportSize(
      look === 'phone' ? { width: 390, height: 760 } : { width: 1180, height: 760 },
    )
    await page.goto(`${app.url}/admin`)
    await page.getByLabel('Name').fill('ann')
    await page.getByLabel('Password').fill('right')
    if (folder !== undefined) {
      mkdirSync(folder, { recursive: true })
      await page.screenshot({ path: join(folder, `${look}-sign-in.png`) })
    }
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('button', { name: 'Sign out' }).waitFor()
    for (const [name, show] of Object.entries(views)) {
      const isShown = shown[look]?.includes(name) === true
      if (folder === undefined && !isShown) continue
      await show(page)
      await page.waitForTimeout(400)
      const picture = await page.screenshot({ fullPage: folder !== undefined })
      if (folder !== undefined) writeFileSync(join(folder, `${look}-${name}.png`), picture)
      else
        writeFileSync(join(root, `docs/admin-${name}-${look}.png`), await toSmallPng(page, picture))
    }
  })
}
await app.close()
