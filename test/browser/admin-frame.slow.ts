/** The frame of the admin page in a real Chromium: menu, start page, filters, charts and sign-in. */
import { afterEach, describe, expect, it } from '@jest/globals'
import { Database, type Application } from 'filigree'
import { Contract, Org, Ticket } from '../admin/desk.js'
import { expectAccessible } from './accessibility.js'
import { startDesk } from './admin-desk.js'
import { startManyRecords } from './admin-many-records.js'
import { buttonOf, signInAs, visitAdmin } from './admin-visit.js'
import { withPage } from './open-page.js'

let app: Application
afterEach(() => app.close())

describe('the frame of the admin page', () => {
  it('groups sixty records, folds the groups, and finds a record by typing', async () => {
    app = await startManyRecords()
    await visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann')
      const menu = page.getByRole('navigation')
      expect(await menu.getByRole('link').count()).toBe(60)
      await menu.getByText('Stock').click()
      expect(await menu.getByRole('link').count()).toBe(50)
      await page.reload()
      await page.getByRole('heading', { level: 1 }).waitFor()
      expect(await menu.getByRole('link').count()).toBe(50)
      const finder = menu.getByRole('searchbox', { name: 'Find a record' })
      await finder.fill('things3')
      expect(await menu.getByRole('link').allTextContents()).toEqual([
        ...['Things31', 'Things37', 'Things32', 'Things38', 'Things3', 'Things33', 'Things39'],
        ...['Things34', 'Things35', 'Things30', 'Things36'],
      ])
      await finder.fill('things59')
      await finder.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Things59' }).waitFor()
      await page.emulateMedia({ reducedMotion: 'reduce', colorScheme: 'dark' })
      await page.goto(`${app.url}/admin`)
      const money = page.getByRole('main').getByRole('region', { name: 'Money' })
      await money.getByText('0 things4', { exact: true }).waitFor()
      expect(await money.getByRole('link').count()).toBe(10)
      await expectAccessible(page, 'start page, dark')
      await page.emulateMedia({ colorScheme: 'light' })
      await expectAccessible(page, 'start page, light')
      await page.setViewportSize({ width: 375, height: 667 })
      await buttonOf(page, 'Menu').click()
      const box = (await menu.boundingBox())!
      expect(box.y + box.height).toBeLessThanOrEqual(667)
      await expectAccessible(page, 'menu of a phone')
      await menu.getByRole('link', { name: 'Things60' }).click()
      await page.getByRole('heading', { level: 1, name: 'Things60' }).waitFor()
    })
  })

  it('filters by empty, not empty, not, and several values', async () => {
    app = await startDesk()
    await visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann', '/admin/tickets')
      const form = page.getByRole('form', { name: 'Filter' })
      const filter = async (field: string, condition: string): Promise<void> => {
        await page.goto(`${app.url}/admin/tickets`)
        await buttonOf(page, 'Filter').click()
        await form
          .locator('.conditions', { hasText: field })
          .first()
          .getByLabel('Condition')
          .selectOption(condition)
      }
      const total = (words: string) => page.getByText(words, { exact: true }).waitFor()
      await filter('Due', 'is empty')
      await buttonOf(form, 'Apply').click()
      await total('7 tickets')
      await page.getByText('Due is empty').waitFor()
      await filter('Due', 'is not empty')
      await buttonOf(form, 'Apply').click()
      await total('23 tickets')
      await filter('Status', 'is not')
      await form.getByLabel('Status is not').selectOption('open')
      await buttonOf(form, 'Apply').click()
      await total('20 tickets')
      await page.getByText('Status is not open').waitFor()
      await filter('Status', 'is one of')
      await form.getByRole('checkbox', { name: 'open' }).check()
      await form.getByRole('checkbox', { name: 'closed' }).check()
      await buttonOf(form, 'Apply').click()
      await total('20 tickets')
      await page.getByText('Status is one of open, closed').waitFor()
      await buttonOf(page, 'Filter').click()
      expect(await form.getByRole('checkbox', { name: 'closed' }).isChecked()).toBe(true)
      await filter('Priority', 'is one of')
      await form.getByLabel('Priority is one of').fill('1, 2')
      await buttonOf(form, 'Apply').click()
      await total('6 tickets')
      await filter('Org', 'is one of')
      for (const name of ['Northwind', 'Kestrel Labs']) {
        await form.getByRole('combobox', { name: 'Org' }).click()
        await page.getByRole('option', { name }).click()
      }
      await buttonOf(form, 'Apply').click()
      await total('12 tickets')
      await page.getByText('Org is one of Northwind, Kestrel Labs').waitFor()
    })
  })

  it('says how much a chart leaves out, and shows the same number as the list', async () => {
    app = await startDesk()
    const database = app.get(Database)
    for (let index = 0; index < 60; index++) {
      const org = await database.records(Org).create({ name: `Company ${index}` })
      await database.records(Contract).create({ code: `CO-${index}`, fee: '1.00', orgId: org.id })
    }
    await database.records(Ticket).update(1, { status: 'closed' })
    await visitAdmin(app, async (page) => {
      await signInAs(page, app, 'ann', '/admin/contracts?fee.lte=2')
      await page.getByText('60 contracts', { exact: true }).waitFor()
      await page.getByRole('link', { name: 'Figures' }).click()
      await page.getByText('60 contracts', { exact: true }).waitFor()
      await page.getByText('Yearly fee to 2').waitFor()
      await page.getByText('The 40 largest of 60.').waitFor()
      const image = page.getByRole('img')
      expect((await image.getAttribute('aria-label'))!.split(', Company').length).toBe(40)
      await page.getByText('The numbers').click()
      expect(await page.locator('table.numbers tbody tr').count()).toBe(60)
      await page.goto(`${app.url}/admin/tickets/figures`)
      await page.getByText('30 tickets', { exact: true }).waitFor()
      await page.getByLabel('By', { exact: true }).selectOption({ value: 'org.city' })
      await page.getByRole('img', { name: 'Bergen 6' }).waitFor()
      await page.getByLabel('By', { exact: true }).selectOption('Created at by day')
      await page.getByRole('heading', { name: 'Number of rows, by created at by day' }).waitFor()
      await page.reload()
      await page.getByRole('heading', { name: 'Number of rows, by created at by day' }).waitFor()
    })
  })

  it('opens without an error in the console, and writes every language in its direction', async () => {
    app = await startDesk()
    await app.get(Database).records(Ticket).update(1, { subject: 'مصباح القاعة' })
    await withPage(app.url, async ({ page, errors }) => {
      await page.goto(`${app.url}/admin`)
      await page.getByLabel('Password').waitFor()
      await signInAs(page, app, 'ann', '/admin/tickets')
      const link = page.getByRole('link', { name: 'مصباح القاعة' })
      const direction = (element: Element): string => getComputedStyle(element).direction
      expect(
        await link.evaluate((element) => getComputedStyle(element.closest('td')!).direction),
      ).toBe('rtl')
      await link.click()
      expect(await page.getByLabel('Subject').evaluate(direction)).toBe('rtl')
      await buttonOf(page, 'Sign out').click()
      await page.getByLabel('Password').waitFor()
      await page.reload()
      await page.getByLabel('Password').waitFor()
      expect(errors).toEqual([])
    })
  })
})
