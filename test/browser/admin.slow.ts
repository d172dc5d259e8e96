/** The admin page in a real Chromium: by keyboard alone, for every reader, and for whoever may see little. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Database, type Application } from 'filigree'
import type { Locator, Page } from 'playwright-core'
import { Contract, Ticket } from '../admin/desk.js'
import { startDesk } from './admin-desk.js'
import { withPage } from './open-page.js'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

let app: Application
beforeEach(async () => {
  app = await startDesk()
})
afterEach(() => app.close())

const records = () => app.get(Database)

/** Nothing may fail in a script, break the policy or reach for another origin on the way. */
async function visit(use: (page: Page) => Promise<void>): Promise<void> {
  await withPage(app.url, async ({ page, errors, strangers }) => {
    page.setDefaultTimeout(20_000)
    await use(page)
    // Chromium's own words about answers with 400 and more.
    const own = errors.filter((message) => !message.startsWith('Failed to load resource'))
    expect({ own, strangers }).toEqual({ own: [], strangers: [] })
  })
}

async function signIn(page: Page, name: string, path = '/admin'): Promise<void> {
  await page.goto(app.url + path)
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill('right')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'Sign out' }).waitFor()
}

const isFocused = (element: Element): boolean => element === document.activeElement

/** Goes there as one does without a mouse. */
async function tabTo(page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < 150; presses++) {
    if (await target.evaluate(isFocused)) return
    await page.keyboard.press(key)
  }
  throw new Error(`No way by ${key} to ${String(target)}.`)
}

const status = (page: Page, words: string | RegExp) =>
  page.getByRole('status').filter({ hasText: words }).waitFor()

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })

describe('the admin page', () => {
  it('is used by keyboard alone: signing in, finding, a conflict, a picker, many rows, CSV, signing out', () =>
    visit(async (page) => {
      const { keyboard } = page
      await page.goto(`${app.url}/admin`)
      await page.getByLabel('Name').waitFor()
      await keyboard.type('ann')
      await keyboard.press('Tab')
      await keyboard.type('wrong')
      await keyboard.press('Enter')
      await page.getByRole('alert').filter({ hasText: 'Name or password is wrong.' }).waitFor()
      await keyboard.press('Control+A')
      await keyboard.type('right')
      await keyboard.press('Enter')
      await tabTo(page, page.getByRole('navigation').getByRole('link', { name: 'Tickets' }))
      await keyboard.press('Enter')

      await tabTo(page, page.getByRole('searchbox'))
      await keyboard.type('squea')
      await page.getByText('3 tickets', { exact: true }).waitFor()
      await tabTo(page, page.getByRole('link', { name: 'Chair squeaks', exact: true }))
      await keyboard.press('Enter')

      await tabTo(page, page.getByLabel('Subject'))
      await records().records(Ticket).update(2, { subject: 'Chair of theirs', priority: 3 })
      await keyboard.press('Control+A')
      await keyboard.type('Chair of mine')
      await tabTo(page, page.getByRole('combobox', { name: 'Org' }))
      await keyboard.press('Control+A')
      await keyboard.type('kestr')
      await page.getByRole('option', { name: 'Kestrel Labs' }).waitFor()
      expect(
        await page.getByRole('combobox', { name: 'Org' }).getAttribute('aria-activedescendant'),
      ).toBe(await page.getByRole('option', { name: 'Kestrel Labs' }).getAttribute('id'))
      await keyboard.press('Enter')
      await tabTo(page, page.getByRole('combobox', { name: 'Labels' }))
      await keyboard.type('bill')
      await page.getByRole('option', { name: 'billing' }).waitFor()
      await keyboard.press('Enter')
      await page.getByRole('button', { name: 'Remove billing' }).waitFor()
      await tabTo(page, button(page, 'Save'))
      await keyboard.press('Enter')

      const conflict = page.getByRole('region', { name: /^Conflict/ })
      const group = conflict.getByRole('group', { name: 'Subject' })
      await group.getByText('Was').waitFor()
      expect(await conflict.getByRole('group').count()).toBe(1)
      await tabTo(page, group.getByLabel(/^Mine/))
      await keyboard.press('ArrowDown')
      expect(await group.getByLabel('Theirs Chair of theirs').isChecked()).toBe(true)
      await tabTo(page, button(page, 'Save'))
      await keyboard.press('Enter')
      await status(page, 'Chair of theirs” was saved')
      const stored = await records()
        .records(Ticket)
        .find(2, { with: ['labels'] })
      expect(stored).toMatchObject({ subject: 'Chair of theirs', priority: 3, orgId: 3 })
      expect(stored?.labels.map(({ name }) => name)).toContain('billing')

      await tabTo(
        page,
        page.getByRole('navigation').getByRole('link', { name: 'Tickets' }),
        'Shift+Tab',
      )
      await keyboard.press('Enter')
      for (const name of ['Table is too low', 'No network on floor 3']) {
        await tabTo(page, page.getByRole('checkbox', { name: `Choose ${name}`, exact: true }))
        await keyboard.press('Space')
      }
      await tabTo(page, page.getByRole('button', { name: /^Edit/ }), 'Shift+Tab')
      await keyboard.press('Enter')
      await tabTo(page, page.getByRole('dialog').getByLabel('Priority'))
      await keyboard.type('8')
      await keyboard.press('Enter')
      await status(page, '2 tickets saved.')
      expect(
        await records()
          .records(Ticket)
          .count({ priority: 8, id: { in: [3, 4] } }),
      ).toBe(2)
      await keyboard.press('Space')
      await tabTo(page, page.getByRole('button', { name: /^Delete/ }), 'Shift+Tab')
      await keyboard.press('Enter')
      await page.getByRole('dialog', { name: /Delete 25 tickets/ }).waitFor()
      expect(await button(page, 'Cancel').evaluate(isFocused)).toBe(true)
      await keyboard.press('Escape')
      expect(await records().records(Ticket).count({})).toBe(30)

      await tabTo(page, page.getByRole('link', { name: /CSV/ }), 'Shift+Tab')
      const [download] = await Promise.all([page.waitForEvent('download'), keyboard.press('Enter')])
      const csv = readFileSync(await download.path(), 'utf8')
      expect(csv.split('\r\n')).toHaveLength(32)
      expect(csv).not.toContain('hidden words')

      await tabTo(
        page,
        page.getByRole('navigation').getByRole('link', { name: 'Labels' }),
        'Shift+Tab',
      )
      await keyboard.press('Enter')
      await tabTo(page, page.getByRole('link', { name: /^Import/ }))
      await keyboard.press('Enter')
      const give = (text: string) =>
        page.getByLabel('CSV file').setInputFiles({
          ...{ name: 'labels.csv', mimeType: 'text/csv' },
          buffer: Buffer.from(text),
        })
      await give('name\r\nx\r\ngarden\r\n')
      await tabTo(page, button(page, 'Check'))
      await keyboard.press('Enter')
      await page
        .getByRole('row', { name: /^2 name name must have at least 2 characters/ })
        .waitFor()
      expect(await button(page, 'Import').isDisabled()).toBe(true)
      await give('name\r\nroof\r\ngarden\r\n')
      await tabTo(page, button(page, 'Check'), 'Shift+Tab')
      await keyboard.press('Enter')
      await status(page, '2 rows, no faults')
      await tabTo(page, button(page, 'Import'))
      await keyboard.press('Enter')
      await status(page, '2 labels imported')

      await tabTo(page, button(page, 'Sign out'), 'Shift+Tab')
      await keyboard.press('Enter')
      await button(page, 'Sign in').waitFor()
      expect(page.url()).not.toContain('right')
      await page.goBack()
      await button(page, 'Sign in').waitFor()
      expect(await page.getByRole('row').count()).toBe(0)
    }))

  it('stores the changes of two who edit different fields, and asks again before it deletes what was changed', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/contracts/1')
      await page.getByLabel('Code').waitFor()
      await records().records(Contract).update(1, { fee: '77.00' })
      await page.getByLabel('Code').fill('AB-1')
      await button(page, 'Save').click()
      await status(page, 'was saved')
      expect(await records().records(Contract).find(1)).toMatchObject({
        code: 'AB-1',
        fee: '77.00',
      })
      await records().records(Contract).update(1, { fee: '78.00' })
      await button(page, 'Delete').click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await dialog.getByText('77.00 → 78.00').waitFor()
      await records().records(Contract).delete(1)
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await status(page, 'was deleted meanwhile')
    }))

  it('says that a row was deleted meanwhile, and loses no typing to a session that ended', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets/3')
      await page.getByLabel('Subject').fill('Typed before the end')
      await page.context().clearCookies()
      await button(page, 'Save').click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('ann')
      await dialog.getByLabel('Password').fill('right')
      await dialog.getByRole('button', { name: 'Sign in' }).click()
      await status(page, 'Typed before the end” was saved')
      expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('eyJ')
      await records().records(Ticket).delete(3)
      await page.getByLabel('Subject').fill('Too late')
      await button(page, 'Save').click()
      await page.getByRole('alert').filter({ hasText: 'deleted meanwhile' }).waitFor()
      expect(await page.getByLabel('Subject').inputValue()).toBe('Too late')
      expect(await records().records(Ticket).find(3)).toBeNull()
    }))

  it('says what the rules say without a request, and makes related rows in place', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets/new')
      const sent: string[] = []
      page.on('request', (request) => {
        if (request.method() !== 'GET') sent.push(request.url())
      })
      await page.getByLabel('Subject').fill('x')
      await page.getByLabel('Priority').fill('12')
      await button(page, 'Save').click()
      await page.getByRole('alert').waitFor()
      for (const [label, words] of [
        ['Subject', 'subject must have at least 2 characters'],
        ['Priority', 'priority must be at most 9'],
      ] as const) {
        const box = page.getByLabel(label)
        expect(await box.getAttribute('aria-invalid')).toBe('true')
        const ids = (await box.getAttribute('aria-describedby'))!.split(' ')
        expect(await page.locator(`#${ids.at(-1)!}`).textContent()).toBe(words)
      }
      expect(sent.filter((url) => !url.endsWith('/filigree/live'))).toEqual([])
      await page.getByLabel('Subject').fill('A new lamp')
      await page.getByLabel('Priority').fill('2')
      await button(page, 'New org').click()
      await page.getByRole('dialog').getByLabel('Name').fill('Zed Ltd')
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
      await button(page, 'Add comment').click()
      await page.getByLabel('Text').fill('Its first words')
      await page.getByLabel('Street').fill('Main Street 1')
      await page.getByLabel('Town').fill('Oslo')
      await page.getByLabel('Picture').setInputFiles({
        ...{ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') },
      })
      await button(page, 'Save').click()
      await status(page, 'A new lamp” was created')
      const [made] = await records()
        .records(Ticket)
        .list({ where: { subject: 'A new lamp' }, with: ['org', 'comments'] })
      expect(made).toMatchObject({ place: { street: 'Main Street 1', town: 'Oslo' }, priority: 2 })
      expect(made?.org.name).toBe('Zed Ltd')
      expect(made?.comments.map(({ text }) => text)).toEqual(['Its first words'])
      expect(String(made?.picture)).toBe('hello')
      await button(page, 'Close').click()
      await page.getByRole('dialog').getByLabel('Reason').fill('It shines')
      await page.getByRole('dialog').getByRole('button', { name: 'Run' }).click()
      await status(page, 'Close: done for 1 ticket')
      await button(page, 'History').click()
      await page
        .getByRole('region', { name: 'History' })
        .getByText('Close', { exact: true })
        .waitFor()
    }))

  it('shows an editor nothing but the rows and fields that are for editors, in no element and no answer', () =>
    visit(async (page) => {
      const bodies: Promise<string>[] = []
      page.on('response', (response) => {
        if (!response.url().includes('/assets/')) bodies.push(response.text().catch(() => ''))
      })
      const shown: string[] = []
      const look = async (): Promise<void> => {
        shown.push(await page.content())
      }
      await signIn(page, 'ed', '/admin/tickets')
      await page.getByRole('link', { name: 'Chair squeaks', exact: true }).waitFor()
      await look()
      expect(await page.getByRole('link', { name: 'Contracts' }).count()).toBe(0)
      await button(page, 'Filter').click()
      await look()
      await button(page, 'Columns').click()
      await look()
      await page.getByRole('link', { name: 'Chair squeaks', exact: true }).click()
      await page.getByLabel('Subject').fill('Chair of an editor')
      await button(page, 'Save').click()
      await status(page, 'was saved')
      await button(page, 'History').click()
      await page.getByRole('region', { name: 'History' }).getByText('Chair of an editor').waitFor()
      await look()
      for (const path of [
        'tickets/1',
        'contracts',
        'contracts/1',
        'comments',
        'orgs',
        'orgs/1',
        'tickets/figures',
      ]) {
        await page.goto(`${app.url}/admin/${path}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await page.waitForTimeout(300)
        await look()
      }
      const answers = await Promise.all(bodies)
      const csv = await page.evaluate(
        "fetch('/admin/api/csv/tickets').then((answer) => answer.text())",
      )
      const all = [...shown, ...answers, String(csv)].join('\n')
      expect(all).toContain('Chair of an editor')
      for (const word of [
        'salary',
        'Salary',
        'hidden words',
        'pay grade',
        'secret',
        'Lamp in the hall',
        'NW-1',
        'Contract',
      ])
        expect({ word, found: all.includes(word) }).toEqual({ word, found: false })
    }))

  it.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 390],
    ['dark', 390],
  ] as const)('has no fault that axe finds, %s and %i pixels wide', (colorScheme, width) =>
    visit(async (page) => {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 844 })
      const examine = async (view: string): Promise<void> => {
        await page.evaluate(axe)
        const found = await page.evaluate(
          'axe.run(document).then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))',
        )
        expect({ view, found }).toEqual({ view, found: [] })
        const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth')
        expect({ view, overflow }).toEqual({ view, overflow: 0 })
      }
      await page.goto(`${app.url}/admin`)
      await page.getByLabel('Name').waitFor()
      await examine('sign-in')
      await signIn(page, 'ann')
      await examine('start')
      if (width < 800) {
        await button(page, 'Menu').click()
        await page.getByRole('navigation').getByRole('link', { name: 'Tickets' }).waitFor()
        await examine('menu')
      }
      await page.goto(`${app.url}/admin/tickets`)
      await page.getByRole('checkbox', { name: 'Choose Chair squeaks', exact: true }).check()
      await button(page, 'Filter').click()
      await page.getByRole('form', { name: 'Filter' }).waitFor()
      await examine('list with rows chosen and the filter')
      await button(page, 'Columns').click()
      await examine('columns')
      await page.getByRole('button', { name: /^Delete/ }).click()
      await examine('question')
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: /^Edit/ }).click()
      await examine('edit many')
      await page.goto(`${app.url}/admin/tickets/new`)
      await button(page, 'Save').click()
      await page.getByRole('combobox', { name: 'Org' }).click()
      await page.getByRole('option').first().waitFor()
      await examine('form with faults and an open list')
      await page.goto(`${app.url}/admin/tickets/1`)
      await page.getByLabel('Subject').fill('Lamp of mine')
      await button(page, 'History').click()
      await page.getByRole('region', { name: 'History' }).getByRole('row').first().waitFor()
      await examine('row with its history')
      await records().records(Ticket).update(1, { subject: 'Lamp of theirs' })
      await button(page, 'Save').click()
      await page.getByRole('region', { name: /^Conflict/ }).waitFor()
      await examine('conflict')
      await page.goto(`${app.url}/admin/tickets/figures`)
      await page.getByRole('img').waitFor()
      await examine('figures')
      await page.goto(`${app.url}/admin/labels/import`)
      await page.getByLabel('CSV file').waitFor()
      await examine('import')
    }),
  )
})
