import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Database, Field, Module, Record, Secured, type Application } from 'filigree'
import type { Locator, Page } from 'playwright-core'
import { displays, seriousProblems } from '../browser/accessibility.js'
import { withPage } from '../browser/open-page.js'
import { root } from '../openapi/command.js'
import { createLibrary } from './library.js'

@Record
class Lamp {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('integer') price!: number
}

@Record
@Secured
class Invoice {
  @Field('id') id!: number
  @Field('string') text!: string
}

const library = createLibrary().registerRoute('/library')
const without = createLibrary({ ide: false }).registerRoute('/without')

@Module({ records: [Lamp, Invoice], graphql: [library, without] })
class LampModule {}

const apiKey = 'a-key-for-the-tests-alone'
const time = 120_000
let app: Application
beforeAll(async () => {
  app = await bootstrap(LampModule, {
    ...{ port: 0, host: '127.0.0.1', logger: false, database: 'sqlite::memory:' },
    env: { APP_API_KEY: apiKey },
  })
  await app.get(Database).records(Lamp).create({ name: 'Dawn', price: 7 })
  await app.get(Database).records(Invoice).create({ text: 'paid by Ann' })
})
afterAll(() => app.close())

describe('the IDE', () => {
  it('is the response to GET, for every Accept header', async () => {
    for (const accept of ['text/html', '*/*', 'application/json']) {
      const response = await app.inject({ url: '/graphql', headers: { accept } })
      expect([response.status, response.headers['content-type']]).toEqual([
        200,
        'text/html; charset=utf-8',
      ])
      expect(response.headers['content-security-policy']).toContain(
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline';",
      )
      expect(response.body).toContain('src="/graphql/ide/ide.js"')
      expect(response.body).not.toMatch(/<script(?![^>]* src=)|\son\w+=|https?:/)
    }
  })

  it.each([
    ['ide.js', 200, 'application/javascript; charset=utf-8'],
    ['ide.css', 200, 'text/css; charset=utf-8'],
    ['graphql.js', 200, 'application/javascript; charset=utf-8'],
    ['nothing.js', 404, 'application/json; charset=utf-8'],
    ['..%2f..%2fpackage.json', 404, 'application/json; charset=utf-8'],
    ['%2e%2e/%2e%2e/package.json', 404, 'application/json; charset=utf-8'],
  ])('has the file %s: %d', async (name, status, type) => {
    const response = await app.inject(`/graphql/ide/${name}`)
    expect([response.status, response.headers['content-type']]).toEqual([status, type])
    expect(response.headers['x-content-type-options']).toBe('nosniff')
  })

  it('is compressed for clients that accept it, and has at most 1.5 MB', async () => {
    const url = '/graphql/ide/ide.js'
    const plain = await app.inject({ url, headers: { 'accept-encoding': 'gzip;q=0' } })
    expect(plain.headers['content-encoding']).toBeUndefined()
    const headers = { 'accept-encoding': 'gzip, deflate, br' }
    const compressed = await app.inject({ url, headers })
    expect(compressed.headers).toMatchObject({
      'content-encoding': 'gzip',
      'content-type': 'application/javascript; charset=utf-8',
      vary: expect.stringContaining('Accept-Encoding'),
    })
    expect(gunzipSync(compressed.bytes).equals(plain.bytes)).toBe(true)
    const etag = compressed.headers.etag ?? ''
    const again = await app.inject({ url, headers: { ...headers, 'if-none-match': etag } })
    expect(again.status).toBe(304)
    const folder = join(root, 'dist/server/pages/ide')
    const sizes = readdirSync(folder).map((name) => statSync(join(folder, name)).size)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1_500_000)
  })

  it('can be left out', async () => {
    expect((await app.inject('/without')).status).toBe(400)
    expect((await app.inject('/without/ide/ide.js')).status).toBe(404)
    expect((await app.inject('/without?query=%7Becho%7D')).body).toBe('{"data":{"echo":"nothing"}}')
  })
})

/** Opens the IDE. No script may fail, violate the policy or send requests to another origin. */
async function visit(
  path: string,
  use: (page: Page) => Promise<void>,
  { width = 1280, colorScheme = 'light' }: { width?: number; colorScheme?: 'light' | 'dark' } = {},
): Promise<void> {
  await withPage(app.url, async ({ page, errors, strangers }) => {
    page.setDefaultTimeout(40_000)
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await page.setViewportSize({ width, height: 844 })
    await page.goto(app.url + path)
    await use(page)
    expect({ errors, strangers }).toEqual({ errors: [], strangers: [] })
  })
}

const queryEditor = (page: Page): Locator => page.locator('.graphiql-query-editor .view-lines')
const response = (page: Page): Locator => page.locator('.graphiql-response .view-lines')

async function write(page: Page, editor: string, text: string): Promise<void> {
  await page.locator(`${editor} .view-lines`).click()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.press('Delete')
  // The editor closes a brace that is typed first.
  await page.keyboard.insertText(` ${text}`)
}

const writeQuery = (page: Page, text: string) => write(page, '.graphiql-query-editor', text)

const run = (page: Page) => page.getByRole('button', { name: /^Execute query/ }).click()

describe('the IDE in a browser', () => {
  it(
    'starts with a query of the schema, which runs',
    () =>
      visit('/graphql', async (page) => {
        await queryEditor(page).getByText('lamps').waitFor()
        await run(page)
        await response(page).getByText('"Dawn"').first().waitFor()
      }),
    time,
  )

  it(
    'runs what is typed, and suggests fields, by keyboard alone',
    () =>
      visit('/library', async (page) => {
        await queryEditor(page).getByText('query').first().waitFor()
        await writeQuery(page, '{ books(limit: 1) { title author { name } } }')
        await page.keyboard.press('ControlOrMeta+Enter')
        await response(page).getByText('"Jane Austen"').first().waitFor()
        await response(page).getByText('"Emma"').first().waitFor()
        await writeQuery(page, '{ books { ti')
        await page.keyboard.press('ControlOrMeta+Space')
        await page.locator('.suggest-widget').getByText('title').first().waitFor()
      }),
    time,
  )

  it(
    'sends the headers, and stores no token',
    () =>
      visit('/graphql', async (page) => {
        await queryEditor(page).getByText('lamps').waitFor()
        await writeQuery(page, '{ invoices { text } }')
        await write(
          page,
          '.graphiql-editor-tool .graphiql-editor:not(.hidden)',
          `{ "Authorization": "Bearer ${apiKey}" }`,
        )
        await run(page)
        await response(page).getByText('"paid by Ann"').first().waitFor()
        await page.reload()
        await queryEditor(page).getByText('invoices').waitFor()
        const stored = await page.evaluate(
          'JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage)])',
        )
        expect(stored).toContain('invoices')
        expect(stored).not.toContain(apiKey)
      }),
    time,
  )

  it.each([
    'subscription { lampChanged { event lamp { name price } } }',
    'query @live { lamps { id name price } }',
  ])(
    'shows each result of %s, until it is stopped',
    (query) =>
      visit('/graphql', async (page) => {
        const lamps = app.get(Database).records(Lamp)
        await queryEditor(page).getByText('lamps').waitFor()
        await writeQuery(page, query)
        const opened = page.waitForResponse(
          (sent) => sent.headers()['content-type']?.startsWith('text/event-stream') === true,
        )
        await run(page)
        await opened
        for (const name of ['Dusk', 'Noon']) {
          const { id } = await lamps.create({ name, price: 3 })
          await response(page).getByText(`"${name}"`).first().waitFor()
          await lamps.update(id, { price: 4711 })
          await response(page).getByText('4711').first().waitFor()
          await lamps.delete(id)
        }
        await page.getByRole('button', { name: /^Stop query/ }).click()
        await page.getByRole('button', { name: /^Execute query/ }).waitFor()
        expect(await response(page).textContent()).not.toMatch(/abort/i)
      }),
    time,
  )

  it.each(displays)(
    'has no serious accessibility problem, %s and %i pixels wide',
    (colorScheme, width) =>
      visit(
        '/graphql',
        async (page) => {
          const examine = async (view: string): Promise<void> => {
            expect({ view, found: await seriousProblems(page) }).toEqual({ view, found: [] })
          }
          await queryEditor(page).getByText('lamps').waitFor()
          await run(page)
          await response(page).getByText('"Dawn"').first().waitFor()
          await examine('result')
          await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
          await page.getByRole('link', { name: 'Query' }).waitFor()
          await examine('documentation')
          await page.getByRole('button', { name: 'Show History' }).click()
          await examine('history')
          await page.getByRole('button', { name: 'Open settings dialog' }).click()
          await page.getByRole('dialog').waitFor()
          await examine('settings')
        },
        { width, colorScheme },
      ),
    time,
  )
})
