/** The atlas's page in a real Chromium, from the first search to the logout. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, type Application } from 'filigree'
import type { Page, Request } from 'playwright-core'
import { AtlasModule } from '../../samples/atlas/app.js'
import { pageOptions } from '../../samples/atlas/page.js'
import { PictureFolder } from '../../samples/atlas/pictures.js'
import { withPage } from '../browser/open-page.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')
const pictures = mkdtempSync(join(tmpdir(), 'filigree-pictures-'))
let app: Application

beforeAll(async () => {
  app = await bootstrap(AtlasModule, {
    ...pageOptions,
    port: 0,
    host: '127.0.0.1',
    logger: false,
    env: {},
    database: 'sqlite::memory:',
    // Every secured answer brings a fresh token, so that no test has to wait for one.
    auth: { rotate: 'always' },
    override: [[PictureFolder, new PictureFolder(pictures)]],
  })
}, 120_000)

afterAll(async () => {
  await app.close()
  rmSync(pictures, { recursive: true, force: true })
})

/** Opens the page; nothing may break the policy, fail in a script or reach for another origin on the way. */
async function visit(use: (page: Page) => Promise<void>, path = '/'): Promise<void> {
  await withPage(app.url, async ({ page, errors, strangers }) => {
    await page.goto(app.url + path)
    await page.locator('#in option').nth(250).waitFor({ state: 'attached' })
    await use(page)
    // Chromium's own words about answers with 400 and more.
    const own = errors.filter((message) => !message.startsWith('Failed to load resource'))
    expect({ own, strangers }).toEqual({ own: [], strangers: [] })
  })
}

const searchBox = (page: Page) => page.getByLabel('Find a city')
const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
const rows = (page: Page) => page.locator('#cities b').allTextContents()

async function search(page: Page, text: string, summary: RegExp): Promise<void> {
  await searchBox(page).fill(text)
  await page.locator('#summary', { hasText: summary }).waitFor()
}

async function login(page: Page, name = 'ada', password = 'analytical'): Promise<void> {
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('Password').fill(password)
  await button(page, 'Log in').click()
}

async function enter(page: Page): Promise<void> {
  await login(page)
  await page.getByRole('heading', { name: 'Logged in as ada' }).waitFor()
}

describe('the beginning of the atlas', () => {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

  it('is a page for browsers, under a policy that allows nothing but its own parts', async () => {
    const { headers, body } = await app.inject({ url: '/', headers: { accept } })
    expect(headers['content-type']!.toLowerCase()).toBe('text/html; charset=utf-8')
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/)
    expect(headers['content-security-policy']).not.toContain('unsafe')
    expect(headers.vary).toContain('Accept')
    expect(body).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/)
  })

  it.each(['*/*', 'application/json'])('is JSON for programs that accept %s', async (kind) => {
    const { headers, body } = await app.inject({ url: '/', headers: { accept: kind } })
    expect(JSON.parse(body)).toMatchObject({ atlas: 'The countries and cities of the world.' })
    expect(headers.vary).toContain('Accept')
  })
})

describe('the search', () => {
  it('finds cities while somebody types, whatever the accents, and puts them on the map', () =>
    visit(async (page) => {
      await search(page, 'reykjavik', /^1 city, found in \d+ ms\.$/)
      expect(await rows(page)).toEqual(['Reykjavík'])
      const point = page.locator('#map .points .shown')
      expect(await point.getAttribute('d')).toBe('M-21.89541 -64.13548h0')
      expect(await page.getByRole('img').getAttribute('aria-label')).toBe('Map with Reykjavík')
      expect(await page.locator('#caption').textContent()).toBe('64° N, 22° W')
    }))

  it('waits until the typing rests', () =>
    visit(async (page) => {
      const seen: string[] = []
      page.on('request', (request) => seen.push(new URL(request.url()).search))
      await page.clock.install()
      await page.clock.pauseAt(Date.now() + 1000)
      await searchBox(page).pressSequentially('reykjav')
      await page.clock.runFor(199)
      expect(seen).toEqual([])
      const answered = page.waitForResponse(/q=reykjav&/)
      await page.clock.runFor(1)
      await answered
      expect(seen).toEqual(['?q=reykjav&limit=20&offset=0'])
    }))

  it('drops an answer that comes after the next question', () =>
    visit(async (page) => {
      const held = page.waitForRequest(/q=victoria/)
      const dropped = new Promise<Request>((resolve) => page.once('requestfailed', resolve))
      await page.route(/q=victoria/, () => undefined)
      await searchBox(page).fill('victoria')
      await held
      await search(page, 'reykjavik', /^1 city/)
      expect((await dropped).failure()?.errorText).toBe('net::ERR_ABORTED')
      expect(await rows(page)).toEqual(['Reykjavík'])
    }))

  it('turns pages by keyboard, and keeps the place in the address', () =>
    visit(async (page) => {
      await search(page, 'victoria', /^\d+ cities/)
      const first = await rows(page)
      await button(page, 'Next').focus()
      await page.keyboard.press('Enter')
      await page.locator('#page', { hasText: '21–40' }).waitFor()
      const second = await rows(page)
      expect([first.length, second.length]).toEqual([20, 20])
      expect(await page.locator('#cities button').first().evaluate(isFocused)).toBe(true)
      expect(new URL(page.url()).search).toBe('?q=victoria&offset=20')
      await page.reload()
      await page.locator('#page', { hasText: '21–40' }).waitFor()
      expect(await rows(page)).toEqual(second)
      await button(page, 'Previous').click()
      await page.locator('#page', { hasText: '1–20' }).waitFor()
      expect(await rows(page)).toEqual(first)
    }))

  it('draws the rest of a long result fainter, and looks closer at one city', () =>
    visit(async (page) => {
      await search(page, 'victoria', /^\d+ cities/)
      await page.locator('#map .other').nth(99).waitFor({ state: 'attached' })
      expect(await page.locator('#map .shown').count()).toBe(20)
      await page.locator('#cities button').first().click()
      await button(page, 'Zoom in').click()
      expect(await page.locator('#map').getAttribute('viewBox')).toMatch(/ 36 14\.4$/)
      expect(await page.locator('#map .ring').count()).toBe(1)
    }))

  it('lists a country, and searches in it', () =>
    visit(async (page) => {
      await page.getByLabel('In', { exact: true }).selectOption({ label: 'Iceland' })
      await page.locator('#summary', { hasText: /^\d+ cities/ }).waitFor()
      expect(await page.locator('#cities span').first().textContent()).toBe('Iceland')
      await search(page, 'victoria', /^No city has such a name\.$/)
      expect(await rows(page)).toEqual([])
    }))

  it('says what went wrong', () =>
    visit(async (page) => {
      await searchBox(page).fill('x'.repeat(121))
      const fault = page.locator('#search-fault', { hasText: 'q must have at most 120 characters' })
      await fault.waitFor()
      await page.route(/\/cities\?/, (route) => route.abort())
      await searchBox(page).fill('oslo')
      const gone = page.locator('#search-fault', { hasText: 'The server cannot be reached.' })
      await gone.waitFor()
    }))
})

const isFocused = (element: Element): boolean => element === document.activeElement

describe('the login', () => {
  it('is refused with a wrong password, and says so', () =>
    visit(async (page) => {
      await login(page, 'ada', 'wrong')
      await page.locator('#login .fault', { hasText: 'Name or password is wrong.' }).waitFor()
      expect(await page.getByLabel('City', { exact: true }).isVisible()).toBe(false)
    }))

  it('shows the server’s messages beside their fields', () =>
    visit(async (page) => {
      await login(page, 'a'.repeat(81), 'x')
      await page.locator('#login-name-fault').waitFor()
      const field = page.getByLabel('Name', { exact: true })
      expect(await page.locator('#login-name-fault').textContent()).toMatch(
        /^name must have at most/,
      )
      expect(await field.getAttribute('aria-describedby')).toBe('login-name-fault')
      expect(await field.evaluate(isFocused)).toBe(true)
    }))

  it('opens the forms, shows each fresh token, outlives a reload and ends with the logout', () =>
    visit(async (page) => {
      await enter(page)
      const token = page.locator('#token')
      await token
        .filter({ hasText: /^Fresh token \(1\) of [\d:]+, good until [\d:]+\.$/ })
        .waitFor()
      const before = await readToken(page)
      await outliveSecond(before)
      await page.reload()
      await page.getByRole('heading', { name: 'Logged in as ada' }).waitFor()
      await page.getByText('250 countries, 171,0').waitFor()
      expect(await readToken(page)).not.toBe(before)
      await button(page, 'Log out').click()
      expect(await readToken(page)).toBeNull()
      expect(await page.getByLabel('City', { exact: true }).isVisible()).toBe(false)
      expect(await page.getByRole('heading', { name: 'Log in' }).evaluate(isFocused)).toBe(true)
    }))

  it('asks for a fresh token in the second half of a token’s life', () =>
    visit(async (page) => {
      await page.clock.install()
      await enter(page)
      await page.locator('#token', { hasText: 'Fresh token (1)' }).waitFor()
      await page.clock.fastForward('31:00')
      await page.locator('#token', { hasText: 'Fresh token (2)' }).waitFor()
    }))

  it('ends where the server says so', () =>
    visit(async (page) => {
      await enter(page)
      await page.evaluate(() => {
        localStorage.setItem('app_token', 'x.y.z')
      })
      await button(page, 'Add').click()
      await page.locator('#login .fault', { hasText: 'Your login has ended.' }).waitFor()
      expect(await readToken(page)).toBeNull()
    }))

  it('and the logout hold in other tabs too', () =>
    visit(async (page) => {
      const opened = page.waitForEvent('popup')
      await page.evaluate(() => {
        window.open('/')
      })
      const other = await opened
      await button(other, 'Log in').waitFor()
      await enter(page)
      await other.getByRole('heading', { name: 'Logged in as ada' }).waitFor()
      await button(other, 'Log out').click()
      await button(page, 'Log in').waitFor()
      expect(await page.getByLabel('City', { exact: true }).isVisible()).toBe(false)
    }))
})

/** Tokens tell whole seconds: a fresh one within the second of the old would be the same token. */
async function outliveSecond(token: string | null): Promise<void> {
  const payload = Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString()
  const { iat } = JSON.parse(payload) as { iat: number }
  await setTimeout(Math.max(0, (iat + 1) * 1000 - Date.now()))
}

const readToken = (page: Page) => page.evaluate(() => localStorage.getItem('app_token'))

describe('a city', () => {
  it('is added once nothing is wrong with it, and changed afterwards', () =>
    visit(async (page) => {
      await enter(page)
      await page.getByLabel('Latitude').fill('north')
      await button(page, 'Add').click()
      await page.locator('#city-lat-fault', { hasText: 'lat must be a number' }).waitFor()
      await page.locator('#city-country-fault', { hasText: 'country is required' }).waitFor()
      expect(await page.getByLabel('Latitude').getAttribute('aria-invalid')).toBe('true')

      await page.getByLabel('City', { exact: true }).fill('Prófborg')
      await page.getByLabel('Latitude').fill('64.2')
      await page.getByLabel('Longitude').fill('-21,7')
      await page.getByLabel('Country', { exact: true }).selectOption({ label: 'Iceland' })
      await button(page, 'Add').click()
      await page.getByText('Added Prófborg.').waitFor()
      expect(await page.locator('#city [aria-invalid]').count()).toBe(0)

      await search(page, 'profborg', /^1 city/)
      await page.locator('#cities button').click()
      await page.getByRole('heading', { name: 'Edit Prófborg' }).waitFor()
      expect(await page.getByLabel('Longitude').inputValue()).toBe('-21.7')
      await page.getByLabel('City', { exact: true }).fill('Prófborgin')
      const sent = page.waitForRequest((request) => request.method() === 'PATCH')
      await button(page, 'Save').click()
      await page.getByText('Changed Prófborgin.').waitFor()
      const { formToken, ...changes } = (await sent).postDataJSON()
      expect(changes).toEqual({ name: 'Prófborgin' })
      expect(typeof formToken).toBe('string')
      await page.locator('#cities b', { hasText: 'Prófborgin' }).waitFor()
    }))

  it('is placed by pointing at the map', () =>
    visit(async (page) => {
      await enter(page)
      const { width, height } = (await page.locator('#map').boundingBox())!
      await page.locator('#map').click({ position: { x: width / 2, y: height / 2 } })
      const lat = Number(await page.getByLabel('Latitude').inputValue())
      const lng = Number(await page.getByLabel('Longitude').inputValue())
      expect(Math.abs(lat - 12)).toBeLessThan(1)
      expect(Math.abs(lng)).toBeLessThan(1)
    }))
})

describe('a picture', () => {
  const route = '/countries/IS/picture'

  async function choose(page: Page, name: string, type: string, buffer: Buffer): Promise<void> {
    await page.getByLabel('Its country').selectOption({ label: 'Iceland' })
    await page.locator('#picture-file').setInputFiles({ name, mimeType: type, buffer })
  }

  async function slowDown(page: Page, bytesPerSecond: number): Promise<void> {
    const session = await page.context().newCDPSession(page)
    await session.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: bytesPerSecond,
    })
  }

  it('is uploaded with a bar that grows, and shown', () =>
    visit(async (page) => {
      await enter(page)
      const image = await page.screenshot()
      await choose(page, 'map.png', 'image/png', image)
      await page.evaluate(() => {
        const bar = document.querySelector('progress')!
        const seen: number[] = []
        Object.assign(window, { seen })
        new MutationObserver(() => seen.push(bar.value)).observe(bar, { attributes: true })
      })
      await slowDown(page, image.length * 2)
      await button(page, 'Upload').click()
      await page.getByText('Iceland has a new picture').waitFor()
      const seen = await page.evaluate(() => (window as unknown as { seen: number[] }).seen)
      expect(seen.length).toBeGreaterThan(2)
      expect(seen).toEqual([...seen].sort((one, other) => one - other))
      expect(seen.at(-1)).toBe(1)
      await page.getByAltText('The picture of Iceland').waitFor()
      expect((await app.inject(route)).headers['content-type']).toBe('image/png')
    }))

  it('can be called off', () =>
    visit(async (page) => {
      await enter(page)
      await choose(page, 'big.png', 'image/png', Buffer.alloc(2_000_000))
      await slowDown(page, 50_000)
      await button(page, 'Upload').click()
      await button(page, 'Cancel').click()
      await page.getByText('Called off.').waitFor()
      expect(await page.locator('progress').isVisible()).toBe(false)
    }))

  it.each([
    ['a text', 'notes.txt', 'text/plain', 'Send a PNG, JPEG or WebP picture.'],
    ['nothing', '', '', 'Send one file named "picture".'],
  ])('is refused where it is %s', (_, name, type, message) =>
    visit(async (page) => {
      await enter(page)
      await page.getByLabel('Its country').selectOption({ label: 'Iceland' })
      if (name !== '') await choose(page, name, type, Buffer.from('text'))
      await button(page, 'Upload').click()
      await page.locator('#picture .fault', { hasText: message }).waitFor()
    }),
  )
})

describe('everybody', () => {
  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 375],
    ['dark', 375],
  ] as const)('can use the page, %s and %d pixels wide', (colorScheme, width) =>
    visit(async (page) => {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 800 })
      expect(await findBarriers(page)).toEqual([])
      await search(page, 'victoria', /^\d+ cities/)
      await enter(page)
      await page.locator('#cities button').nth(2).click()
      await page.getByLabel('Latitude').fill('north')
      await button(page, 'Save').click()
      await page.locator('#city-lat-fault').waitFor()
      expect(await findBarriers(page)).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
    }),
  )
})

interface Axe {
  run(context: object, options: object): Promise<{ violations: readonly Violation[] }>
}

/** What axe finds that is serious or critical. The options of the lists are the browser's own to draw. */
async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() =>
    (window as unknown as { axe: Axe }).axe.run(
      { exclude: ['option + option'] },
      { resultTypes: ['violations'] },
    ),
  )
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
}

interface Violation {
  readonly id: string
  readonly impact: string
  readonly nodes: readonly { readonly html: string }[]
}
