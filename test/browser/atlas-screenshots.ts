/**
 * Takes the pictures of the atlas's page that the README shows:
 * `TSX_TSCONFIG_PATH=test/tsconfig.json node --import tsx test/browser/atlas-screenshots.ts [folder]`
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootstrap } from 'filigree'
import { AtlasModule } from '../../samples/atlas/app.js'
import { pageOptions } from '../../samples/atlas/page.js'
import { PictureFolder } from '../../samples/atlas/pictures.js'
import { withPage } from './open-page.js'

const target = process.argv[2] ?? 'docs'
const pictures = mkdtempSync(join(tmpdir(), 'filigree-pictures-'))
const app = await bootstrap(AtlasModule, {
  ...pageOptions,
  port: 0,
  host: '127.0.0.1',
  logger: false,
  database: 'sqlite::memory:',
  override: [[PictureFolder, new PictureFolder(pictures)]],
})
await withPage(app.url, async ({ page }) => {
  await page.setViewportSize({ width: 1200, height: 860 })
  await page.goto(app.url)
  await page.getByLabel('Name').fill('ada')
  await page.getByLabel('Password').fill('analytical')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Logged in as ada').waitFor()
  await page.getByLabel('Find a city').fill('santa maria')
  await page.getByText('found in').waitFor()
  await page.locator('#cities button').nth(1).click()
  await page.evaluate('document.activeElement.blur()')
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.screenshot({ path: join(target, `atlas-${colorScheme}.png`) })
  }
  if (target !== 'docs') {
    await page.setViewportSize({ width: 375, height: 800 })
    await page.screenshot({ path: join(target, 'atlas-phone.png'), fullPage: true })
  }
})
await app.close()
rmSync(pictures, { recursive: true })
