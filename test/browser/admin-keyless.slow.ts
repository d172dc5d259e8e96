/** The list of a record without a key on the admin page, in a real Chromium. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Database,
  Field,
  HasMany,
  Module,
  Record,
  type Application,
  type Rel,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'
import { runSql } from '../records/run-sql.js'
import { Login } from './admin-login.js'
import { buttonOf, signInAs, visitAdmin } from './admin-visit.js'

@Record
@Admin()
class Seller {
  @Field('id') id!: number
  @Field('string') name!: string
  @HasMany(() => Sale) sales!: Rel<Sale[]>
}

@Record({ key: false })
@Admin({ plural: 'Sales', label: 'Sale' })
class Sale {
  @Field('date') day!: string
  @Field('integer') amount!: number
  @Field('integer') sellerId!: number
  @BelongsTo(() => Seller) seller!: Rel<Seller>
}

const records = [Seller, Sale]

@Module({
  controllers: [Login],
  records,
  imports: [admin({ path: '/admin', roles: 'clerk', records, login: { path: '/login' } })],
})
class App {}

describe('the list of a record without a key', () => {
  let app: Application

  beforeAll(async () => {
    app = await bootstrap(App, {
      ...{ port: 0, host: '127.0.0.1', logger: false, env: {} },
      ...{ database: 'sqlite::memory:', auth: { cookie: true } },
    })
    const database = app.get(Database)
    for (const name of ['Ada', 'Ben']) await database.records(Seller).create({ name })
    // Twice the same row.
    const values = Array.from(
      { length: 60 },
      (_, index) => `('2026-11-0${1 + (index % 5)}', ${Math.floor(index / 2)}, ${1 + (index % 2)})`,
    )
    await runSql(
      database,
      `insert into sale (day, amount, seller_id) values ${[...values, values[0]].join()}`,
    )
  })
  afterAll(() => app.close())

  it('is sorted, filtered and paged, and has no links to rows and no buttons that change them', async () => {
    await visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann')
      await page.getByRole('navigation').getByRole('link', { name: 'Sales' }).click()
      const rows = page.locator('tbody tr')
      await rows.first().waitFor()
      expect(await rows.count()).toBe(25)
      await page.getByText('61 sales').waitFor()
      expect(await page.getByRole('columnheader').allTextContents()).toEqual([
        ...['Day', 'Amount', 'Seller'],
      ])
      const links = await rows
        .locator('a')
        .evaluateAll((found) => [
          ...new Set(found.map((one) => new URL((one as HTMLAnchorElement).href).pathname)),
        ])
      expect(links.sort()).toEqual(['/admin/sellers/1', '/admin/sellers/2'])
      expect(await page.getByRole('checkbox').count()).toBe(0)
      for (const name of [/^New/, 'Import', 'History', 'Bin'])
        expect(await page.getByRole('link', { name }).count()).toBe(0)

      await buttonOf(page, 'Amount').click()
      await page.locator('th[aria-sort=ascending]').waitFor()
      await buttonOf(page, 'Amount').click()
      await page.locator('th[aria-sort=descending]').waitFor()
      await page.locator('tbody tr:first-child td:nth-child(2)', { hasText: '29' }).waitFor()
      await buttonOf(page, 'Next page').click()
      await buttonOf(page, 'Next page').click()
      await page
        .locator('tbody tr:nth-child(11):last-child td:nth-child(2)', { hasText: /^0$/ })
        .waitFor()

      await buttonOf(page, 'Filter').click()
      const filter = page.getByRole('form', { name: 'Filter' })
      await filter.getByRole('combobox', { name: 'Seller' }).fill('Ben')
      await page.getByRole('option', { name: 'Ben' }).click()
      await buttonOf(filter, 'Apply').click()
      await page.getByText('30 sales').waitFor()
      expect(new URL(page.url()).search).toContain('sellerId=2')
    })
  })

  it('has no page of a row, and stands on the page of a row that it refers to', async () => {
    await visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann')
      await page.goto(`${app.url}/admin/sales/1`)
      await page.getByRole('heading', { name: 'Not found' }).waitFor()
      await page.goto(`${app.url}/admin/sellers/2`)
      const related = page.getByRole('region', { name: 'Sales' })
      await related.locator('tbody tr').first().waitFor()
      expect(await related.locator('tbody a').count()).toBe(0)
      await related.getByRole('link', { name: /30 sales/ }).click()
      await page.getByText('30 sales').waitFor()
    })
  })

  it('has figures and a download', async () => {
    await visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann')
      await page.goto(`${app.url}/admin/sales?sellerId=1`)
      await page.getByText('31 sales').waitFor()
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'Export CSV' }).click(),
      ])
      expect(download.suggestedFilename()).toBe('sales.csv')
      await page.getByRole('link', { name: 'Figures' }).click()
      await page.getByRole('heading', { name: /figures/i }).waitFor()
      await page.getByText('31 sales').waitFor()
    })
  })
})
