/**
 * Takes the picture of the atlas's documentation that the page about the atlas uploads:
 * `TSX_TSCONFIG_PATH=test/tsconfig.json node --import tsx test/browser/screenshot.ts`
 */
import { writeFileSync } from 'node:fs'
import { bootstrap } from 'filigree'
import { AtlasModule } from '../../samples/atlas/app.js'
import { withPage } from './open-page.js'
import { toSmallPng } from './small-png.js'

const app = await bootstrap(AtlasModule, {
  port: 0,
  host: '127.0.0.1',
  logger: false,
  database: 'sqlite::memory:',
  docs: { title: 'Atlas', description: 'The countries and cities of the world.' },
})
await withPage(app.url, async ({ page }) => {
  await page.goto(`${app.url}/swagger`)
  // Beyond 30 operations, the groups are closed.
  await page.locator('.opblock-tag').nth(1).click()
  await page.locator('.opblock').first().waitFor()
  writeFileSync('docs/swagger.png', await toSmallPng(page, await page.screenshot()))
})
await app.close()
