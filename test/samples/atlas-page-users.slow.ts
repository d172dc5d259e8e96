/** The atlas's page in Chromium for signed-in users, from the login to the logout. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { withPage } from '../browser/open-page.js'
import {
  button,
  enter,
  isFocused,
  login,
  search,
  startAtlasPage,
  type AtlasPage,
} from './atlas-page.js'
import { waitUntil } from '../wait-until.js'

let atlas: AtlasPage
const visit: AtlasPage['visit'] = (use) => atlas.visit(use)

beforeAll(async () => {
  atlas = await startAtlasPage()
})
afterAll(() => atlas.close())

describe('the login', () => {
  it('shows that a wrong password is refused', () =>
    visit(async (page) => {
      await login(page, 'ada', 'wrong')
      await page.locator('#login .fault', { hasText: 'Name or password is wrong.' }).waitFor()
      expect(await page.getByLabel('City', { exact: true }).isVisible()).toBe(false)
    }))

  it('shows the server’s messages next to their fields', () =>
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

  it('opens the forms, uses fresh tokens, survives a reload and ends with the logout', () =>
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

  it('requests a fresh token in the second half of a token’s lifetime', () =>
    visit(async (page) => {
      await page.clock.install()
      await enter(page)
      await page.locator('#token', { hasText: 'Fresh token (1)' }).waitFor()
      await page.clock.fastForward('31:00')
      await page.locator('#token', { hasText: 'Fresh token (2)' }).waitFor()
    }))

  it('ends when the server refuses the token', () =>
    visit(async (page) => {
      await enter(page)
      await page.evaluate(() => {
        localStorage.setItem('app_token', 'x.y.z')
      })
      await button(page, 'Add').click()
      await page.locator('#login .fault', { hasText: 'Your login has ended.' }).waitFor()
      expect(await readToken(page)).toBeNull()
    }))

  it('works with a passkey once the device has one', () => {
    const home = `http://localhost:${new URL(atlas.app.url).port}`
    return withPage(home, async ({ page, errors, strangers }) => {
      const cdp = await page.context().newCDPSession(page)
      await cdp.send('WebAuthn.enable')
      await cdp.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          protocol: 'ctap2',
          transport: 'internal',
          hasResidentKey: true,
          hasUserVerification: true,
          isUserVerified: true,
          automaticPresenceSimulation: true,
        },
      })
      await page.goto(home)
      await enter(page)
      await button(page, 'Add a passkey').click()
      await page.getByText('This device keeps a passkey. You have 1.').waitFor()
      await button(page, 'Add a passkey').click()
      await page.getByText('This device has a passkey already.').waitFor()
      await button(page, 'Log out').click()
      await button(page, 'Log in with a passkey').click()
      await page.getByRole('heading', { name: 'Logged in as ada' }).waitFor()
      await page.getByText('250 countries, 171,0').waitFor()
      expect({ errors, strangers }).toEqual({ errors: [], strangers: [] })
    })
  })

  it('and the logout apply to other tabs too', () =>
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

/** Waits for the next second, because a fresh token within the same second would be the same token. */
async function outliveSecond(token: string | null): Promise<void> {
  const payload = Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString()
  const { iat } = JSON.parse(payload) as { iat: number }
  await waitUntil(() => Date.now() >= (iat + 1) * 1000)
}

const readToken = (page: Page) => page.evaluate(() => localStorage.getItem('app_token'))

describe('a city', () => {
  it('can be added once it is valid, and changed afterwards', () =>
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

  it('gets its position by a click on the map', () =>
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

  it('is uploaded with a progress bar, and shown', () =>
    visit(async (page) => {
      await enter(page)
      const image = await page.screenshot()
      await choose(page, 'map.png', 'image/png', image)
      await page.evaluate(() => {
        const bar = document.querySelector('progress')!
        const progress: number[] = []
        Object.assign(window, { progress })
        new MutationObserver(() => progress.push(bar.value)).observe(bar, { attributes: true })
      })
      await slowDown(page, image.length * 2)
      await button(page, 'Upload').click()
      await page.getByText('Iceland has a new picture').waitFor()
      const progress = await page.evaluate(
        () => (window as unknown as { progress: number[] }).progress,
      )
      expect(progress.length).toBeGreaterThan(2)
      expect(progress).toEqual([...progress].sort((one, other) => one - other))
      expect(progress.at(-1)).toBe(1)
      await page.getByAltText('The picture of Iceland').waitFor()
      expect((await atlas.app.inject(route)).headers['content-type']).toBe('image/png')
    }))

  it('can be canceled', () =>
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
