/** The development page in a real browser: failed responses, filters, selected requests, statements and tables. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Controller,
  Database,
  Field,
  Get,
  HasMany,
  Module,
  Record,
  type Application,
  type Rel,
} from 'filigree'
import type { Page } from 'playwright-core'
import { expectAccessible, findProblems, forEachDisplay } from '../browser/accessibility.js'
import { withPage } from '../browser/open-page.js'
import { silentLog } from '../silent-log.js'
import { startMonitoring, stopMonitoring } from './development-monitor.js'

@Record({ indexes: [{ fields: ['name'] }] })
class Shelf {
  @Field('id') id!: number
  @Field('string', { maxLength: 40, unique: true }) code!: string
  @Field('string') name!: string
  @HasMany(() => Book) books!: Rel<Book[]>
}
@Record
class Book {
  @Field('id') id!: number
  @Field('integer', { min: 1 }) pages!: number
  @Field('integer') shelfId!: number
  @BelongsTo(() => Shelf, { onDelete: 'cascade' }) shelf!: Rel<Shelf>
}

@Controller('/shelves', { crud: Shelf })
class Shelves {
  static inject = [Database]
  constructor(private readonly database: Database) {}

  @Get('/slow') async slow() {
    for (const { id } of await this.database.records(Shelf).list({ limit: 10 }))
      await this.database.records(Book).list({ where: { shelfId: id } })
    return []
  }

  @Get('/broken/<pin>') broken(pin: string): string {
    throw new Error(`<img src=x> the lamp is broken, pin ${pin}`)
  }
}
@Module({ controllers: [Shelves], records: [Shelf, Book] })
class LibraryModule {}

const secret = 'secret-of-the-page'
const monitor = startMonitoring(secret)
let app: Application
let origin = ''

beforeAll(async () => {
  app = await bootstrap(LibraryModule, {
    ...{ port: 0, host: '127.0.0.1', database: 'sqlite::memory:', logger: silentLog },
    env: { NODE_ENV: 'development' },
  })
  origin = app.url
  const shelves = app.get(Database).records(Shelf)
  for (const name of ['a', 'b', 'c', 'd']) await shelves.create({ name, code: name })
})
afterAll(async () => {
  stopMonitoring(monitor)
  await app.close()
})
beforeEach(() => {
  monitor.recorder.clear()
})

const cookie = (): string => `filigree-dev-${new URL(origin).port}=${secret}`
const fail = (headers: { [name: string]: string } = {}) =>
  fetch(`${origin}/shelves/broken/4711x`, { headers: { accept: 'text/html', ...headers } })

/** Opens the page, and gives the browser its cookie. */
async function open(page: Page, view: string): Promise<void> {
  await page.goto(`${origin}/__filigree?secret=${secret}#${view}`)
  // On a phone the list beside the details is hidden.
  await page.locator('main h2:visible').first().waitFor()
}

describe('a response that failed', () => {
  it('is the view of the request for the developer, and a plain page with the message without the cookie', async () => {
    const errorPage = await fail({ cookie: cookie() })
    expect([errorPage.status, errorPage.headers.get('content-type')]).toEqual([
      500,
      'text/html; charset=utf-8',
    ])
    expect(errorPage.headers.get('content-security-policy')).toContain("script-src 'self'")
    const text = await errorPage.text()
    expect(text).toMatch(/<html lang="en" data-request="\d+">/)
    expect(text).toContain('Error: &lt;img src=x&gt; the lamp is broken, pin (hidden)')
    expect(text).toContain('Shelves.broken')
    expect(text).toMatch(/<mark> +\d+ {6}throw new Error\(/)
    expect(text).toMatch(/href="vscode:\/\/file\/[^"]+development-browser\.slow\.ts:\d+"/)
    expect(text).not.toContain('4711x')
    const strangers: { [name: string]: string }[] = [{}, { cookie: 'filigree-dev-1=x' }]
    for (const headers of strangers) {
      const plain = await (await fail(headers)).text()
      expect(plain).toContain('the lamp is broken, pin (hidden) — For the source and more')
      expect(plain).not.toMatch(/Shelves|data-request|4711x/)
    }
    const passed = await (await fail({ cookie: cookie(), via: '1.1 proxy' })).text()
    expect(passed).toContain('Something went wrong')
    expect(passed).not.toMatch(/lamp|Shelves|data-request/)
    const json = await fail({ cookie: cookie(), accept: 'application/json' })
    expect(await json.json()).toEqual({
      error: 'Internal server error',
      code: 'INTERNAL_SERVER_ERROR',
    })
  })

  it('shows the steps of the request and what explain knows, without faults of access', async () => {
    await withPage(origin, async ({ page, errors, strangers }) => {
      await open(page, 'requests')
      await forEachDisplay(page, async (display) => {
        await page.goto(`${origin}/shelves/broken/4711x`)
        await page.waitForSelector('#request')
        await expectAccessible(page, display)
      })
      expect(await page.title()).toBe('Error: <img src=x> the lamp is broken, pin (hidden)')
      expect(await page.locator('main img').count()).toBe(0)
      const text = (await page.locator('main').textContent()) ?? ''
      expect(text).toContain('500 in ')
      expect(text).toContain('handler Shelves.broken')
      expect(text).toContain('GET /shelves/broken/<pin>')
      expect(text).toContain('gateeverybody; let in')
      expect(text).not.toContain('4711x')
      await page.click('nav >> text=Routes')
      await page.waitForSelector('details.route')
      expect(page.url()).toBe(`${origin}/__filigree#routes`)
      const unexpected = errors.filter((message) => !message.includes('status of 500'))
      expect({ unexpected, strangers }).toEqual({ unexpected: [], strangers: [] })
    })
  })
})

describe('the list of requests', () => {
  it('filters by status, path and text, and hides assets and pages of the framework', async () => {
    for (const path of [
      '/shelves',
      '/shelves/99',
      '/swagger',
      '/nowhere',
      '/favicon.ico',
      '/app.css',
    ])
      await (await fetch(origin + path)).text()
    await (await fail()).text()
    await withPage(origin, async ({ page }) => {
      await open(page, 'requests')
      const rows = page.locator('.list tbody tr')
      const visibleRequests = async (): Promise<string[]> =>
        (await page.locator('.list tbody a').allTextContents()).reverse()
      await rows.first().waitFor()
      expect(await visibleRequests()).toEqual([
        'GET /shelves',
        'GET /shelves/99',
        'GET /nowhere',
        'GET /shelves/broken/(hidden)',
      ])
      expect(await page.locator('.list > p').textContent()).toBe('4 shown, 3 hidden')
      await page.getByLabel('Assets and framework pages').check()
      await expectRows(page, 7)
      await page.getByLabel('Assets and framework pages').uncheck()
      await page.getByLabel('Status').selectOption('4')
      await expectRows(page, 2)
      expect(await visibleRequests()).toEqual(['GET /shelves/99', 'GET /nowhere'])
      await page.getByLabel('Path').fill('SHELVES')
      await expectRows(page, 1)
      await page.getByLabel('Status').selectOption('')
      await expectRows(page, 3)
      await page.getByLabel('Path').fill('')
      // Of the SQL, and of the error.
      await page.getByLabel('Text in').fill('from "shelf"')
      await expectRows(page, 2)
      await page.getByLabel('Text in').fill('the lamp is')
      await expectRows(page, 1)
      expect(await findProblems(page)).toEqual([])
    })
  })

  it('stays where it is while requests are selected', async () => {
    for (let index = 0; index < 60; index++)
      await (await fetch(`${origin}/shelves/${index}`)).text()
    await withPage(origin, async ({ page }) => {
      await open(page, 'requests')
      const link = (path: string) => page.locator(`.list a:text-is("GET ${path}")`)
      const top = async (path: string): Promise<number> => (await link(path).boundingBox())?.y ?? -1
      for (const path of ['/shelves/30', '/shelves/25']) {
        await link(path).scrollIntoViewIfNeeded()
        const before = await top(path)
        await link(path).click()
        await page.waitForFunction(
          (text) => document.querySelector('#request')?.textContent === text,
          `GET ${path}`,
        )
        expect(Math.abs((await top(path)) - before)).toBeLessThan(3)
        // New requests come above it.
        await (await fetch(`${origin}${path}00`)).text()
        await link(`${path}00`).waitFor({ state: 'attached' })
        expect(Math.abs((await top(path)) - before)).toBeLessThan(3)
      }
      expect(await page.locator('.list [aria-current]').count()).toBe(1)
      // On a phone the request replaces the list, and the list comes back where it was.
      await page.setViewportSize({ width: 375, height: 740 })
      await page.click('text=All requests')
      await link('/shelves/30').scrollIntoViewIfNeeded()
      const before = await page.evaluate(() => scrollY)
      expect(before).toBeGreaterThan(200)
      await link('/shelves/30').click()
      await page.locator('#request', { hasText: 'GET /shelves/30' }).waitFor()
      expect(await page.locator('.list').isVisible()).toBe(false)
      expect(await page.evaluate(() => scrollY)).toBe(0)
      await page.click('text=All requests')
      await page.locator('.list').waitFor()
      expect(Math.abs((await page.evaluate(() => scrollY)) - before)).toBeLessThan(3)
    })
  })
})

async function expectRows(page: Page, count: number): Promise<void> {
  await page.waitForFunction(
    (expected) => document.querySelectorAll('.list tbody tr').length === expected,
    count,
  )
}

describe('the views', () => {
  it('group equal statements with their number', async () => {
    await (await fetch(`${origin}/shelves/slow`)).text()
    await withPage(origin, async ({ page }) => {
      await open(page, 'requests')
      await page.click('.list tbody a')
      await page.waitForSelector('ol.steps')
      const texts = await page.locator('ol.steps ol.steps > li summary code').allTextContents()
      expect(texts.filter((text) => text.includes('from "book"'))).toHaveLength(1)
      const group = page.locator('ol.steps ol.steps > li', { hasText: 'from "book"' })
      expect(await group.locator('.mark').first().textContent()).toBe('sent 4 times')
      expect(await group.locator('.bar i').count()).toBe(4)
      await group.locator('summary').click()
      const times = await group.locator('pre').last().textContent()
      expect(times?.split('\n')).toEqual(Array(4).fill(expect.stringMatching(/^at .+ ms: .+ ms$/)))
    })
  })

  it('show relations, constraints and indexes of records', async () => {
    await withPage(origin, async ({ page, errors }) => {
      await open(page, 'records')
      const region = async (name: string): Promise<string[]> =>
        await page.getByRole('region', { name, exact: true }).locator('td').allTextContents()
      expect(await region('Relations of Book')).toEqual([
        'shelf',
        'belongs to Shelf',
        'shelf_id = shelf.id, on delete cascade',
      ])
      expect(await region('Relations of Shelf')).toEqual([
        'books',
        'has many Book',
        'id = book.shelf_id',
      ])
      const constraints = await region('Constraints of Book')
      expect(constraints.slice(0, 2)).toEqual(['primary key', 'id'])
      expect(constraints).toContain('foreign key shelf_id references shelf (id) on delete cascade')
      expect(constraints).toContain('check "pages" >= 1')
      const indexes = await region('Indexes of Shelf')
      expect(indexes).toContain('name')
      expect(indexes).toContain('unique code')
      expect(await findProblems(page)).toEqual([])
      expect(errors).toEqual([])
    })
  })
})

describe('FILIGREE_EDITOR', () => {
  const before = process.env.FILIGREE_EDITOR
  afterAll(() => {
    if (before === undefined) delete process.env.FILIGREE_EDITOR
    else process.env.FILIGREE_EDITOR = before
  })

  it.each([
    ['cursor', /href="cursor:\/\/file\/[^"]+\.ts:\d+"/],
    ['webstorm', /href="webstorm:\/\/open\?file=\/[^"]+\.ts&amp;line=\d+"/],
    ['mine://{file}?{line}', /href="mine:\/\/\/[^"]+\.ts\?\d+"/],
    ['javascript:alert({file})', undefined],
    ['unknown', undefined],
  ])('%s opens the source', async (editor, link) => {
    process.env.FILIGREE_EDITOR = editor
    const text = await (await fail({ cookie: cookie() })).text()
    expect(text).toContain('development-browser.slow.ts:')
    if (link === undefined) expect(text).not.toContain('in the editor')
    else expect(text).toMatch(link)
  })
})

describe('on a phone', () => {
  it('every view fits, and what has no room is left out', async () => {
    await fail()
    await fetch(`${origin}/shelves?name=the-shelf-in-the-corner&orderBy=-id&limit=10&with=books`)
    await withPage(origin, async ({ page }) => {
      await page.setViewportSize({ width: 390, height: 800 })
      for (const view of ['requests', 'requests/1', 'routes', 'records', 'waiting', 'log']) {
        await open(page, view)
        const tooWide = await page.evaluate(() =>
          [document.documentElement, ...document.querySelectorAll('.scroll')]
            .filter((one) => one.scrollWidth > one.clientWidth)
            .map((one) => one.getAttribute('aria-label') ?? one.tagName),
        )
        expect({ view, tooWide }).toEqual({ view, tooWide: [] })
      }
      const nav = await page.locator('nav').boundingBox()
      expect(nav?.height).toBeLessThan(50)
      await open(page, 'log')
      await page.getByText('request failed').first().waitFor()
      expect(await page.locator('main summary').first().textContent()).toContain(
        'Error: <img src=x> the lamp is broken',
      )
    })
  })
})
