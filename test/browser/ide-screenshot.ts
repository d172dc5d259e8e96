/**
 * Takes the picture of the GraphQL IDE with a query of the atlas and its result, which the README shows:
 * `TSX_TSCONFIG_PATH=test/tsconfig.json node --import tsx test/browser/ide-screenshot.ts`
 */
import { writeFileSync } from 'node:fs'
import { bootstrap } from 'filigree'
import { AtlasModule } from '../../samples/atlas/app.js'
import { withPage } from './open-page.js'
import { toSmallPng } from './small-png.js'

const query = `query Iceland {
  countries(where: { code: { eq: "IS" } }) {
    name
    capital
    cities(limit: 3, orderBy: [{ name: desc }]) {
      name
      distance(lat: 64.14, lng: -21.9)
    }
  }
  cityCount
}`

const app = await bootstrap(AtlasModule, {
  port: 0,
  host: '127.0.0.1',
  logger: false,
  database: 'sqlite::memory:',
})
await withPage(app.url, async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 800 })
  await page.goto(`${app.url}/graphql`)
  const editor = page.locator('app-query-editor .cm-content').first()
  await editor.click()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.insertText(query)
  const result = page.locator('app-query-result').getByText('cityCount')
  await page.keyboard.press('ControlOrMeta+Enter')
  await result.waitFor()
  // Runs the query again, so that the displayed time does not include the request interception.
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Clear' }).click()
  await result.waitFor({ state: 'hidden' })
  await editor.click()
  await page.keyboard.press('ControlOrMeta+Enter')
  await result.waitFor()
  await page.getByText('Reloaded doc successfully').waitFor({ state: 'hidden' })
  writeFileSync('docs/graphql-ide.png', await toSmallPng(page, await page.screenshot()))
})
await app.close()
