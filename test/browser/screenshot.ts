/**
 * Takes the picture of the atlas's documentation that the README shows:
 * `TSX_TSCONFIG_PATH=test/tsconfig.json node --import tsx test/browser/screenshot.ts`
 */
import { bootstrap } from 'filigree'
import { AtlasModule } from '../../samples/atlas/app.js'
import { withPage } from './open-page.js'

const app = await bootstrap(AtlasModule, {
  port: 0,
  host: '127.0.0.1',
  logger: false,
  database: 'sqlite::memory:',
  docs: { title: 'Atlas', description: 'The countries and cities of the world.' },
})
await withPage(app.url, async ({ page }) => {
  await page.goto(`${app.url}/swagger`)
  await page.locator('.opblock').first().waitFor()
  await page.screenshot({ path: 'docs/swagger.png' })
})
await app.close()
