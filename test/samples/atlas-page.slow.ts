/** The public atlas page in Chromium. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Page, Request } from 'playwright-core'
import { displays } from '../browser/accessibility.js'
import {
  button,
  enter,
  isFocused,
  rows,
  search,
  searchBox,
  startAtlasPage,
  type AtlasPage,
} from './atlas-page.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core'), 'utf8')
let atlas: AtlasPage
const visit: AtlasPage['visit'] = (use) => atlas.visit(use)

beforeAll(async () => {
  atlas = await startAtlasPage()
})
afterAll(() => atlas.close())

describe('the start page of the atlas', () => {
  const accept = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

  it('is HTML with a content security policy for its own files only', async () => {
    const { headers, body } = await atlas.app.inject({ url: '/', headers: { accept } })
    expect(headers['content-type']!.toLowerCase()).toBe('text/html; charset=utf-8')
    expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/)
    expect(headers['content-security-policy']).not.toContain('unsafe')
    expect(headers.vary).toContain('Accept')
    expect(body).not.toMatch(/<script(?![^>]* src=)|<style|\son\w+=|\sstyle=/)
  })

  it.each(['*/*', 'application/json'])('is JSON for programs that accept %s', async (kind) => {
    const { headers, body } = await atlas.app.inject({ url: '/', headers: { accept: kind } })
    expect(JSON.parse(body)).toMatchObject({ atlas: 'The countries and cities of the world.' })
    expect(headers.vary).toContain('Accept')
  })
})

describe('the search', () => {
  it('finds cities during typing, without regard to accents, and shows them on the map', () =>
    visit(async (page) => {
      await search(page, 'reykjavik', /^1 city, found in \d+ ms\.$/)
      expect(await rows(page)).toEqual(['Reykjavík'])
      const point = page.locator('#map .points .shown')
      expect(await point.getAttribute('d')).toBe('M-21.89541 -64.13548h0')
      expect(await page.getByRole('img').getAttribute('aria-label')).toBe('Map with Reykjavík')
      expect(await page.locator('#caption').textContent()).toBe('64° N, 22° W')
    }))

  it('waits for a pause in the typing', () =>
    visit(async (page) => {
      const queries: string[] = []
      page.on('request', (request) => queries.push(new URL(request.url()).search))
      await page.clock.install()
      await page.clock.pauseAt(Date.now() + 1000)
      await searchBox(page).pressSequentially('reykjav')
      await page.clock.runFor(199)
      expect(queries).toEqual([])
      const answered = page.waitForResponse(/q=reykjav&/)
      await page.clock.runFor(1)
      await answered
      expect(queries).toEqual(['?q=reykjav&limit=20&offset=0'])
    }))

  it('ignores a response that arrives after the next request', () =>
    visit(async (page) => {
      const pending = page.waitForRequest(/q=victoria/)
      const dropped = new Promise<Request>((resolve) => page.once('requestfailed', resolve))
      await page.route(/q=victoria/, () => undefined)
      await searchBox(page).fill('victoria')
      await pending
      await search(page, 'reykjavik', /^1 city/)
      expect((await dropped).failure()?.errorText).toBe('net::ERR_ABORTED')
      expect(await rows(page)).toEqual(['Reykjavík'])
    }))

  it('turns pages by keyboard, and has the position in the URL', () =>
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

  it('draws the rest of a long result fainter, and zooms to one city', () =>
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

  it('shows errors', () =>
    visit(async (page) => {
      await searchBox(page).fill('x'.repeat(121))
      const error = page.locator('#search-fault', { hasText: 'q must have at most 120 characters' })
      await error.waitFor()
      await page.route(/\/cities\?/, (route) => route.abort())
      await searchBox(page).fill('oslo')
      const offline = page.locator('#search-fault', { hasText: 'The server cannot be reached.' })
      await offline.waitFor()
    }))
})

describe('all visitors', () => {
  it.each(displays)('can use the page, %s and %d pixels wide', (colorScheme, width) =>
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

/** @returns serious and critical findings of axe, without list options, which the browser draws */
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
