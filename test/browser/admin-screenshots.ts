/**
 * Takes the pictures of the admin page for docs/admin.md, each view in light, dark and on a phone side by side, or full pictures of all
 * views one by one into a folder:
 * `TSX_TSCONFIG_PATH=test/tsconfig.json node --import tsx test/browser/admin-screenshots.ts [folder]`
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database, type Application } from 'filigree'
import type { Page } from 'playwright-core'
import { Ticket } from '../admin/desk.js'
import { root } from '../repository/source-files.js'
import { startDesk } from './admin-desk.js'
import { adminViews, signIn } from './admin-views.js'
import { withPage } from './open-page.js'
import { toSmallPng } from './small-png.js'

const [, , folder] = process.argv
if (folder !== undefined) mkdirSync(folder, { recursive: true })

const looks = ['light', 'dark', 'phone'] as const
const pictures = new Map<string, Buffer[]>()

for (const look of looks) {
  const app = await startDesk()
  await withPage(app.url, async ({ page }) => {
    await page.emulateMedia({ colorScheme: look === 'dark' ? 'dark' : 'light' })
    await take(app, page, look)
  })
  await app.close()
}
if (folder === undefined)
  await withPage('data:', async ({ page }) => {
    for (const [name, three] of pictures) {
      const picture = await toSmallPng(page, await besideEachOther(page, three))
      writeFileSync(join(root, `docs/admin-${name}.png`), picture)
    }
  })

async function take(app: Application, page: Page, look: (typeof looks)[number]): Promise<void> {
  const tickets = app.get(Database).records(Ticket)
  const isPhone = look === 'phone'
  for (const [name, { show, height = 700, isPublic = false }] of Object.entries(adminViews)) {
    await page.setViewportSize({ width: isPhone ? 390 : 1040, height })
    if (!isPublic && !(await page.getByRole('button', { name: 'Sign out' }).isVisible()))
      await signIn(page, app.url)
    await show({ page, url: app.url, tickets, isPhone }).catch((error: unknown) => {
      console.error(name, error)
      throw error
    })
    // Waits until animations have ended.
    await page.waitForTimeout(300)
    const picture = await page.screenshot({ fullPage: folder !== undefined })
    if (folder !== undefined) writeFileSync(join(folder, `${name}-${look}.png`), picture)
    pictures.set(name, [...(pictures.get(name) ?? []), picture])
  }
}

async function besideEachOther(page: Page, three: readonly Buffer[]): Promise<Buffer> {
  const images = three.map((one) => `<img src="data:image/png;base64,${one.toString('base64')}">`)
  await page.setViewportSize({ width: 2510, height: 400 })
  await page.setContent(
    `<!doctype html><body style="margin: 0; padding: 10px; display: flex; align-items: start; gap: 10px; width: max-content; background: #8b939b">${images.join('')}`,
  )
  return page.locator('body').screenshot()
}
