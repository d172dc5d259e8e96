/** The atlas's admin page in Chromium: finds and changes a city among many, and sets the password of a user. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { Database } from 'filigree'
import { City } from '../../samples/atlas/records.js'
import { startAtlasPage, type AtlasPage } from './atlas-page.js'

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
      await page.getByText(/^About \d+,\d+ cities/).waitFor()
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
})
