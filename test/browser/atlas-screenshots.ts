/**
 * Takes the pictures of the atlas's page that the README shows:
 * `TSX_TSCONFIG_PATH=test/tsconfig.json node --import tsx test/browser/atlas-screenshots.ts`
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bootstrap } from 'filigree'
import { AtlasModule } from '../../samples/atlas/app.js'
import { pageOptions } from '../../samples/atlas/page.js'
import { PictureFolder } from '../../samples/atlas/pictures.js'
import { withPage } from './open-page.js'
import { toSmallPng } from './small-png.js'

const folder = mkdtempSync(join(tmpdir(), 'filigree-pictures-'))
const app = await bootstrap(AtlasModule, {
  ...pageOptions,
  port: 0,
  host: '127.0.0.1',
  logger: false,
  database: 'sqlite::memory:',
  auth: { rotate: 'always' },
  override: [[PictureFolder, new PictureFolder(folder)]],
})
await withPage(app.url, async ({ page }) => {
  await page.setViewportSize({ width: 1200, height: 1110 })
  await page.goto(app.url)
  await page.getByLabel('Name').fill('ada')
  await page.getByLabel('Password').fill('analytical')
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByText('Logged in as ada').waitFor()
  await page.getByLabel('Find a city').fill('victoria')
  await page.getByText('found in').waitFor()
  await page.locator('#cities button').nth(4).click()
  await page.locator('.points .other').nth(99).waitFor({ state: 'attached' })
  const buffer = await page.locator('#map').screenshot()
  const files = { name: 'map.png', mimeType: 'image/png', buffer }
  await page.locator('#picture-file').setInputFiles(files)
  await page.getByRole('button', { name: 'Upload' }).click()
  await page.getByAltText('The picture of').waitFor()
  await page.evaluate('document.activeElement.blur()')
  const pictures = new Map<string, Buffer>()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    pictures.set(colorScheme, await page.screenshot())
  }
  for (const [name, picture] of pictures) {
    writeFileSync(`docs/atlas-${name}.png`, await toSmallPng(page, picture))
  }
})
await app.close()
rmSync(folder, { recursive: true })
