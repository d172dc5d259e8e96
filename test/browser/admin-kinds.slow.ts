/** The admin page in a real Chromium edits, shows, sorts and filters fields of a kind that it does not know. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { bootstrap, Database, Field, Module, Record, type Application } from 'filigree'
import { Admin, admin } from 'filigree/admin'
import type { Page } from 'playwright-core'
import { addMoney } from '../contracts/kind-samples.js'
import type { KindName } from '../public-types.js'
import { Login } from './admin-login.js'
import { buttonOf, signInAs, statusOf, visitAdmin } from './admin-visit.js'

addMoney()

@Record
@Admin({ title: 'name', list: ['name', 'total'] })
class Bill {
  @Field('id') id!: number
  @Field('string') name!: string
  @Field('money' as KindName, { min: '0.00' }) total!: number
}

@Module({
  controllers: [Login],
  records: [Bill],
  imports: [admin({ path: '/admin', roles: 'clerk', records: [Bill], login: { path: '/login' } })],
})
class App {}

const namesIn = (page: Page): Promise<string[]> => page.locator('tbody a.title').allTextContents()

describe('a new kind on the admin page', () => {
  let app: Application
  beforeAll(async () => {
    app = await bootstrap(App, {
      ...{ port: 0, host: '127.0.0.1', logger: false, env: {} },
      ...{ database: 'sqlite::memory:', auth: { cookie: true } },
    })
    for (const [name, total] of Object.entries({ Lamp: 950, Desk: 12_050, Chair: 4000 }))
      await app.get(Database).records(Bill).create({ name, total })
  })
  afterAll(() => app.close())

  it('is edited, and refused with the words of its file', () =>
    visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann', '/admin/bills/1')
      const input = page.getByLabel('Total')
      expect(await input.inputValue()).toBe('9.50')
      await input.fill('a lot')
      await buttonOf(page, 'Save').click()
      await page.getByRole('alert').getByText('Total must be an amount such as 12.50').waitFor()
      await input.fill('10.25')
      await buttonOf(page, 'Save').click()
      await statusOf(page, 'saved')
      expect(await app.get(Database).records(Bill).find(1)).toMatchObject({ total: 1025 })
    }))

  it('is shown, sorted and filtered', () =>
    visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann', '/admin/bills')
      await page.getByRole('cell', { name: '120.50' }).waitFor()
      await page.locator('thead').getByRole('button', { name: 'Total' }).click()
      await page.locator('th[aria-sort=ascending]').waitFor()
      expect(await namesIn(page)).toEqual(['Lamp', 'Chair', 'Desk'])
      await buttonOf(page, 'Filter').click()
      await page.getByLabel('Total from').fill('20.00')
      await page.getByLabel('Total to').fill('120.50')
      await buttonOf(page, 'Apply').click()
      await page.getByText('2 bills', { exact: true }).waitFor()
      await page.getByText('Total from 20.00').waitFor()
      expect(await namesIn(page)).toEqual(['Chair', 'Desk'])
    }))
})
