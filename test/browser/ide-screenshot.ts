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
  const editor = page.locator('.graphiql-query-editor .view-lines')
  await editor.getByText('query').waitFor()
  await editor.click()
  await page.keyboard.press('ControlOrMeta+A')
  // The editor would indent the lines again. It breaks this one line itself.
  await page.keyboard.insertText(query.replace(/\s+/g, ' '))
  await page.getByRole('button', { name: /prettify/i }).click()
  await page.getByRole('button', { name: /execute/i }).click()
  await page.locator('.graphiql-response .view-lines').getByText('cityCount').waitFor()
  writeFileSync('docs/graphql-ide.png', await toSmallPng(page, await page.screenshot()))
})
await app.close()
