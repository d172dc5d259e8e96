import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Module, type Application } from 'filigree'
import { withPage } from '../browser/open-page.js'
import { createLibrary } from './library.js'

const graphql = createLibrary().registerRoute()
const without = createLibrary({ ide: false }).registerRoute('/without')

@Module({ graphql: [graphql, without] })
class LibraryModule {}

let app: Application
beforeAll(async () => {
  app = await bootstrap(LibraryModule, { port: 0, host: '127.0.0.1', logger: false, env: {} })
})
afterAll(() => app.close())

describe('the IDE', () => {
  it('is the response to GET, whatever is accepted', async () => {
    for (const accept of ['text/html', '*/*', 'application/json']) {
      const response = await app.inject({ url: '/graphql', headers: { accept } })
      expect([response.status, response.headers['content-type']]).toEqual([
        200,
        'text/html; charset=utf-8',
      ])
      expect(response.headers['content-security-policy']).toContain(
        "default-src 'self'; script-src 'self'",
      )
      expect(response.body).toContain('<base href="/graphql/ide/">')
    }
  })

  it.each([
    ['main.js', 200, 'application/javascript; charset=utf-8'],
    ['styles.css', 200, 'text/css; charset=utf-8'],
    ['initial_options.js', 200, 'text/javascript; charset=utf-8'],
    ['nothing.js', 404, 'application/json; charset=utf-8'],
    ['..%2f..%2fpackage.json', 404, 'application/json; charset=utf-8'],
    ['%2e%2e/%2e%2e/package.json', 404, 'application/json; charset=utf-8'],
  ])('serves the file %s: %d', async (name, status, type) => {
    const response = await app.inject(`/graphql/ide/${name}`)
    expect([response.status, response.headers['content-type']]).toEqual([status, type])
  })

  it('runs the frame for third-party scripts in a sandbox', async () => {
    const response = await app.inject('/graphql/ide/iframe-sandbox/index.html')
    expect(response.status).toBe(200)
    expect(response.headers['content-security-policy']).toBe('sandbox allow-scripts')
  })

  it('can be turned off', async () => {
    expect((await app.inject('/without')).status).toBe(400)
    expect((await app.inject('/without/ide/main.js')).status).toBe(404)
    expect((await app.inject('/without?query=%7Becho%7D')).body).toBe('{"data":{"echo":"nothing"}}')
  })

  it('shows a query and its data in a browser, without a request to another origin', async () => {
    await withPage(app.url, async ({ page, errors, strangers }) => {
      await page.goto(`${app.url}/graphql`)
      const editor = page.locator('app-query-editor .cm-content').first()
      await editor.waitFor()
      await editor.click()
      await page.keyboard.press('ControlOrMeta+A')
      await page.keyboard.insertText('{ books(limit: 1) { title author { name } } }')
      await page.keyboard.press('ControlOrMeta+Enter')
      const result = page.locator('app-query-result')
      await result.getByText('"Jane Austen"').waitFor()
      await result.getByText('"Emma"').waitFor()
      expect(await page.getByText('Try Altair AI').isVisible()).toBe(false)
      expect(strangers).toEqual([])
      expect(errors).toEqual([])
    })
  })
})
