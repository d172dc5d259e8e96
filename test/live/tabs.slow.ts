/** `api.live` in a real Chromium, with records. Functions passed to `evaluate` run in the page. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  Auth,
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  Module,
  NoAuth,
  Record as Table,
  reply,
  type Application,
  type Repository,
} from 'filigree'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { PlainClient } from '../../client/index.js'
import { launchBrowser } from '../client/browser.js'

@Table<City>({ rows: (user) => user !== null || { isOpen: true } })
class City {
  @Field('id') id!: number
  @Field('text') name!: string
  @Field('boolean') isOpen!: boolean
}

const html =
  '<!doctype html><title>cities</title><script src="/filigree.js"></script><script src="/filigree-live.js"></script>'

@Controller('/page')
class PageController {
  @Get('/') @NoAuth show() {
    return reply(html)
      .type('text/html; charset=utf-8')
      .header(
        'Content-Security-Policy',
        "default-src 'none'; script-src 'self'; connect-src 'self'",
      )
  }
}

@Controller('/cities', { crud: City })
class CityController {}

@Module({ records: [City], controllers: [PageController, CityController] })
class CitiesModule {}

interface PageState {
  api: PlainClient
  lists: Record<string, { name: string }[]>
  statuses: number[]
  stops: (() => void)[]
}
declare const window: PageState

let app: Application
let browser: Browser
let cities: Repository<City>
beforeAll(async () => {
  app = await bootstrap(CitiesModule, {
    port: 0,
    host: '127.0.0.1',
    logger: false,
    client: true,
    database: 'sqlite::memory:',
    env: {},
  })
  cities = app.get(Database).records(City)
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser.close()
  await app.close()
})

/** A page of this context, with the number of its connections for live queries. */
async function visit(context: BrowserContext): Promise<{ page: Page; requestCount: () => number }> {
  const page = await context.newPage()
  let requestCount = 0
  page.on('request', (request) => {
    if (request.url().endsWith('/filigree/live')) requestCount++
  })
  await page.goto(`${app.url}/page`)
  await page.evaluate(() => {
    Object.assign(window, { lists: {}, statuses: [], stops: [] })
  })
  return { page, requestCount: () => requestCount }
}

const draw = (page: Page, path: string, auth = false): Promise<void> =>
  page.evaluate(
    ([at, withToken]) => {
      window.api.configure({ auth: withToken })
      const stop = window.api.live(
        at,
        (rows) => {
          window.lists[at] = rows as { name: string }[]
        },
        { onClosed: (status) => window.statuses.push(status) },
      )
      window.stops.push(stop)
    },
    [path, auth] as const,
  )

const shows = async (page: Page, path: string, names: readonly string[]): Promise<void> => {
  await page.waitForFunction(
    ([at, expected]) => window.lists[at]?.map(({ name }) => name).join() === expected,
    [path, names.join()] as const,
  )
}

const path = '/cities?orderBy=id&limit=50'

describe('live queries in a browser', () => {
  it('are shared by the tabs of one sign-in, and continue when the requesting tab is closed', async () => {
    const context = await browser.newContext()
    const one = await visit(context)
    await draw(one.page, path)
    await shows(one.page, path, [])
    await cities.create({ name: 'Rome', isOpen: true })
    await shows(one.page, path, ['Rome'])
    const two = await visit(context)
    await draw(two.page, path)
    await shows(two.page, path, ['Rome'])
    await draw(two.page, '/cities?limit=1')
    await shows(two.page, '/cities?limit=1', ['Rome'])
    await cities.create({ name: 'Oslo', isOpen: true })
    await shows(one.page, path, ['Rome', 'Oslo'])
    await shows(two.page, path, ['Rome', 'Oslo'])
    expect(two.requestCount()).toBe(0)
    await one.page.close()
    await cities.create({ name: 'Bern', isOpen: true })
    await shows(two.page, path, ['Rome', 'Oslo', 'Bern'])
    expect(two.requestCount()).toBeGreaterThan(0)
    await context.close()
  })

  it('belong to their caller: another sign-in has its own query, and a revoked one is notified', async () => {
    const context = await browser.newContext()
    const anonymous = await visit(context)
    await draw(anonymous.page, path)
    await cities.create({ name: 'Secret', isOpen: false })
    await shows(anonymous.page, path, ['Rome', 'Oslo', 'Bern'])
    const token = await app.get(Auth).getToken({ sub: '7' })
    const signedIn = await visit(context)
    await signedIn.page.evaluate((storedToken) => {
      localStorage.setItem('app_token', storedToken)
    }, token)
    await draw(signedIn.page, path, true)
    await shows(signedIn.page, path, ['Rome', 'Oslo', 'Bern', 'Secret'])
    expect(signedIn.requestCount()).toBeGreaterThan(0)
    expect(await anonymous.page.evaluate((at) => window.lists[at]?.length, path)).toBe(3)
    await app.get(Auth).revokeAll('7')
    await signedIn.page.waitForFunction(() => window.statuses.includes(401))
    const next = await app.get(Auth).getToken({ sub: '8' })
    await signedIn.page.evaluate((storedToken) => {
      localStorage.setItem('app_token', storedToken)
    }, next)
    await cities.create({ name: 'Paris', isOpen: false })
    await shows(signedIn.page, path, ['Rome', 'Oslo', 'Bern', 'Secret', 'Paris'])
    await context.close()
  })
})
