/** The atlas's admin page in Chromium: finds and changes a city among many, and sets the password of a user. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Database } from 'filigree'
import { City } from '../../samples/atlas/records.js'
import { withPage } from '../browser/open-page.js'
import { button, enter, startAtlasPage, type AtlasPage } from './atlas-page.js'

let atlas: AtlasPage
beforeAll(async () => {
  atlas = await startAtlasPage()
})
afterAll(() => atlas.close())

describe('the atlas under /admin', () => {
  it('an administrator can find a city among all, change it, and set a password', () =>
    atlas.visit(async (page) => {
      await page.goto(`${atlas.app.url}/admin`)
      await page.getByLabel('Name').fill('ada')
      await page.getByLabel('Password').fill('analytical')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByRole('navigation').getByRole('link', { name: 'Cities' }).click()
      await page.getByText('More than 10,000 cities').waitFor()
      await page.getByRole('searchbox').fill('Akureyri')
      await page.getByRole('link', { name: 'Akureyri', exact: true }).click()
      await page.getByLabel('Lat').fill('95')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('alert').filter({ hasText: 'Lat must be at most 90' }).waitFor()
      await page.getByLabel('Lat').fill('65.68')
      const country = page.getByRole('combobox', { name: 'Country' })
      expect(await country.inputValue()).toBe('Iceland')
      await country.fill('green')
      await page.getByRole('option', { name: 'Greenland' }).click()
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('status').filter({ hasText: 'Akureyri” was saved' }).waitFor()
      const [city] = await atlas.app
        .get(Database)
        .records(City)
        .list({ where: { name: 'Akureyri', lat: 65.68 }, with: ['country'] })
      expect(city?.country.name).toBe('Greenland')

      await page.getByRole('navigation').getByRole('link', { name: 'Users' }).click()
      await page.getByRole('link', { name: 'New user' }).click()
      await page.getByLabel('Name').fill('mary')
      await page.getByRole('button', { name: 'Save', exact: true }).click()
      await page.getByRole('button', { name: 'Set password' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Password').fill('compilers')
      await dialog.getByRole('button', { name: 'Run' }).click()
      await page.getByRole('status').filter({ hasText: 'Set password: done for 1 user' }).waitFor()
      const { status } = await atlas.app.inject({
        ...{ method: 'POST', url: '/login', json: { name: 'mary', password: 'compilers' } },
      })
      expect(status).toBe(200)
    }))

  it('signs an administrator in with a passkey', async () => {
    // A passkey belongs to a host name.
    const home = `http://localhost:${new URL(atlas.app.url).port}`
    await withPage(home, async ({ page, errors, strangers }) => {
      const cdp = await page.context().newCDPSession(page)
      await cdp.send('WebAuthn.enable')
      await cdp.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true },
          ...{ hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
        },
      })
      await page.goto(home)
      await enter(page)
      await button(page, 'Add a passkey').click()
      await page.getByText('This device keeps a passkey. You have 1.').waitFor()
      await button(page, 'Log out').click()
      await button(page, 'Log in with a passkey').waitFor()
      await page.goto(`${home}/admin`)
      await button(page, 'Use a passkey').click()
      await page.getByRole('navigation').getByRole('link', { name: 'Cities' }).waitFor()
      expect({ errors, strangers }).toEqual({ errors: [], strangers: [] })
    })
  })
})
