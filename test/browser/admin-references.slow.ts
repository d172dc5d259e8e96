/** References by several fields on the admin page, in a real Chromium: their pickers in forms and filters. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import {
  BelongsTo,
  bootstrap,
  Database,
  Field,
  Module,
  Record,
  type Application,
  type Rel,
} from 'filigree'
import { Admin, admin } from 'filigree/admin'
import type { Locator, Page } from 'playwright-core'
import { Login } from './admin-login.js'
import { buttonOf, signInAs, statusOf, visitAdmin } from './admin-visit.js'

@Record({ key: ['tenantId', 'number'] })
@Admin({ label: 'Organisation', plural: 'Organisations' })
class Org {
  @Field('integer') tenantId!: number
  @Field('integer') number!: number
  @Field('string') name!: string
}

@Record({ key: ['tenantId', 'number'] })
@Admin()
class Person {
  @Field('integer') tenantId!: number
  @Field('integer') number!: number
  @Field('string') name!: string
}

@Record({ key: ['code'] })
@Admin()
class Country {
  @Field('string') code!: string
  @Field('string') name!: string
}

@Record
@Admin({ list: ['title', 'tenantId', 'country'] })
class Ticket {
  @Field('id') id!: number
  @Field('string') title!: string
  @Field('integer') tenantId!: number
  @Field('integer') orgNumber!: number
  @Field('integer', { nullable: true, optional: true }) ownerNumber?: number | null
  @Field('string', { nullable: true, optional: true }) countryCode?: string | null
  @BelongsTo(() => Org, { by: ['tenantId', 'orgNumber'] }) org!: Rel<Org>
  @BelongsTo(() => Person, { by: ['tenantId', 'ownerNumber'] }) owner!: Rel<Person> | null
  @BelongsTo(() => Country) country!: Rel<Country> | null
}

const records = [Ticket, Org, Person, Country]

@Module({
  controllers: [Login],
  records,
  imports: [admin({ path: '/admin', roles: 'clerk', records, login: { path: '/login' } })],
})
class App {}

const pickerOf = (within: Page | Locator, name: string): Locator =>
  within.getByRole('combobox', { name, exact: true })

async function choose(
  page: Page,
  within: Page | Locator,
  name: string,
  title: string,
): Promise<void> {
  await pickerOf(within, name).fill(title)
  await page.getByRole('option', { name: title, exact: true }).click()
}

describe('references by several fields', () => {
  let app: Application
  const tickets = () => app.get(Database).records(Ticket)

  beforeEach(async () => {
    app = await bootstrap(App, {
      ...{ port: 0, host: '127.0.0.1', logger: false, env: {} },
      ...{ database: 'sqlite::memory:', auth: { cookie: true } },
    })
    const database = app.get(Database)
    for (const [tenantId, number, name] of [
      [1, 1, 'Alder'],
      [1, 2, 'Birch'],
      [2, 1, 'Cedar'],
    ] as const)
      await database.records(Org).create({ tenantId, number, name })
    for (const [tenantId, number, name] of [
      [1, 1, 'Ada'],
      [2, 1, 'Ben'],
    ] as const)
      await database.records(Person).create({ tenantId, number, name })
    for (const [code, name] of [
      ['DE', 'Germany'],
      ['PL', 'Poland'],
    ] as const)
      await database.records(Country).create({ code, name })
    await tickets().create({ title: 'Lamp', tenantId: 1, orgNumber: 2, countryCode: 'DE' })
    await tickets().create({ title: 'Desk', tenantId: 2, orgNumber: 1, ownerNumber: 1 })
  })
  afterEach(() => app.close())

  it('are chosen by their titles in the form of a new row', async () => {
    await visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann')
      await page.goto(`${app.url}/admin/tickets/new`)
      await page.getByLabel('Title').fill('Chair')
      expect(await page.getByLabel(/number/i).count()).toBe(0)
      await buttonOf(page, 'Save').click()
      await page.getByText('Org is required').first().waitFor()
      await choose(page, page, 'Org', 'Cedar')
      // The owner belongs to the same tenant.
      await pickerOf(page, 'Owner').click()
      await page.getByRole('option', { name: 'Ben' }).waitFor()
      expect(await page.getByRole('option').allTextContents()).toEqual(['Ben'])
      await page.getByRole('option', { name: 'Ben' }).click()
      await choose(page, page, 'Country', 'Poland')
      await buttonOf(page, 'Save').click()
      await statusOf(page, '“Chair” was created')
    })
    expect(await tickets().first({ where: { title: 'Chair' } })).toMatchObject({
      ...{ tenantId: 2, orgNumber: 1, ownerNumber: 1, countryCode: 'PL' },
    })
  })

  it('are shown, changed and emptied in the form of a row', async () => {
    await visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann')
      await page.goto(`${app.url}/admin/tickets/2`)
      await page.getByRole('link', { name: 'Open Cedar' }).waitFor()
      expect(await pickerOf(page, 'Org').inputValue()).toBe('Cedar')
      expect(await pickerOf(page, 'Owner').inputValue()).toBe('Ben')
      await pickerOf(page, 'Owner').fill('')
      await page.getByLabel('Title').focus()
      // Without an owner, an organisation of another tenant can be chosen.
      await choose(page, page, 'Org', 'Alder')
      await choose(page, page, 'Owner', 'Ada')
      await buttonOf(page, 'Save').click()
      await statusOf(page, '“Desk” was saved')
      expect(await tickets().find(2)).toMatchObject({ tenantId: 1, orgNumber: 1, ownerNumber: 1 })
      await pickerOf(page, 'Owner').fill('')
      await page.getByLabel('Title').fill('Desk 2')
      await buttonOf(page, 'Save').click()
      await statusOf(page, '“Desk 2” was saved')
      expect(await tickets().find(2)).toMatchObject({
        tenantId: 1,
        orgNumber: 1,
        ownerNumber: null,
      })
      await page.getByRole('link', { name: 'Open Alder' }).click()
      await page.getByRole('heading', { name: 'Alder' }).waitFor()
    })
  })

  it('filter lists', async () => {
    await visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann')
      await page.goto(`${app.url}/admin/tickets`)
      await page.getByText('2 tickets').waitFor()
      await page.getByRole('link', { name: 'Germany' }).first().waitFor()
      await buttonOf(page, 'Filter').click()
      const filter = page.getByRole('form', { name: 'Filter' })
      await choose(page, filter, 'Org', 'Birch')
      await buttonOf(filter, 'Apply').click()
      await page.getByText('1 ticket', { exact: true }).waitFor()
      const { searchParams } = new URL(page.url())
      expect(Object.fromEntries(searchParams)).toEqual({ tenantId: '1', orgNumber: '2' })
      const chips = page.getByRole('list', { name: 'Filter in use' }).getByRole('listitem')
      expect(await chips.allTextContents()).toEqual(['Org: Birch'])
      await buttonOf(page, 'Filter').click()
      expect(await pickerOf(filter, 'Org').inputValue()).toBe('Birch')
      await buttonOf(filter, 'Apply').click()
      await buttonOf(page, 'Remove Org: Birch').click()
      await page.getByText('2 tickets').waitFor()
      expect(new URL(page.url()).search).toBe('')
    })
  })

  it('of one field filter lists by rows with a key that the program gives', async () => {
    await visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann')
      await page.goto(`${app.url}/admin/tickets`)
      await page.getByText('2 tickets').waitFor()
      await buttonOf(page, 'Filter').click()
      const filter = page.getByRole('form', { name: 'Filter' })
      await choose(page, filter, 'Country', 'Germany')
      await buttonOf(filter, 'Apply').click()
      await page.getByText('1 ticket', { exact: true }).waitFor()
      expect(new URL(page.url()).searchParams.get('countryCode')).toBe('DE')
      await page.getByRole('listitem').filter({ hasText: 'Country: Germany' }).first().waitFor()
    })
  })
})
