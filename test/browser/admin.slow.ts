/** The admin page in Chromium: by keyboard, for screen readers, and with few rights. */
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Database, type Application } from 'filigree'
import type { Locator, Page } from 'playwright-core'
import { Contract, Device, Ticket } from '../admin/desk.js'
import { expectAccessible } from './accessibility.js'
import { startDesk } from './admin-desk.js'
import { withPage } from './open-page.js'

let app: Application
beforeEach(async () => {
  app = await startDesk()
})
afterEach(() => app.close())

const records = () => app.get(Database)

/** Expects no script error, policy violation or request to another origin. */
async function visit(use: (page: Page) => Promise<void>): Promise<void> {
  await withPage(app.url, async ({ page, errors, strangers }) => {
    page.setDefaultTimeout(20_000)
    await use(page)
    // Chromium's messages about responses with 400 and above.
    const otherErrors = errors.filter((message) => !message.startsWith('Failed to load resource'))
    expect({ otherErrors, strangers }).toEqual({ otherErrors: [], strangers: [] })
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

/** Moves the focus to the element by keyboard. */
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
  it('can be used by keyboard: signing in, finding, a conflict, a picker, many rows, CSV, signing out', () =>
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
        await tabTo(page, page.getByRole('checkbox', { name: `Select ${name}`, exact: true }))
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
        .getByRole('row', { name: /^2 Name Name must have at least 2 characters/ })
        .waitFor()
      expect(await button(page, 'Import').isDisabled()).toBe(true)
      await give('name\r\nroof\r\ngarden\r\n')
      await tabTo(page, button(page, 'Check'), 'Shift+Tab')
      await keyboard.press('Enter')
      await status(page, '2 rows, no errors')
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

  it('stores the changes of two users to different fields, and asks again before it deletes a changed row', () =>
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

  it('reports that a row was deleted meanwhile, and keeps the input when a session has ended', () =>
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

  it('validates without a request, and creates related rows in place', () =>
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
        ['Subject', 'Subject must have at least 2 characters'],
        ['Priority', 'Priority must be at most 9'],
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
      const [created] = await records()
        .records(Ticket)
        .list({ where: { subject: 'A new lamp' }, with: ['org', 'comments'] })
      expect(created).toMatchObject({
        place: { street: 'Main Street 1', town: 'Oslo' },
        priority: 2,
      })
      expect(created?.org.name).toBe('Zed Ltd')
      expect(created?.comments.map(({ text }) => text)).toEqual(['Its first words'])
      expect(String(created?.picture)).toBe('hello')
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

  it('asks before leaving a changed form by a link, the browser, signing out or closing', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets')
      await page.getByRole('link', { name: 'Chair squeaks', exact: true }).click()
      const subject = page.getByLabel('Subject')
      await subject.waitFor()
      const crumb = page.getByRole('main').getByRole('link', { name: 'Tickets' })
      await crumb.click()
      await page.getByRole('searchbox').waitFor()
      await page.goBack()
      await subject.fill('Half a sent')
      const question = page.getByRole('dialog', { name: 'Leave without saving?' })
      for (const leave of [
        () => crumb.click(),
        () => button(page, 'Sign out').click(),
        () => page.evaluate('history.back()'),
      ]) {
        await leave()
        await question.getByRole('button', { name: 'Cancel' }).click()
        expect(await subject.inputValue()).toBe('Half a sent')
        expect(page.url()).toMatch(/\/tickets\/2$/)
      }
      const closing = page.waitForEvent('dialog')
      await page.evaluate('setTimeout(() => location.reload())')
      const dialog = await closing
      expect(dialog.type()).toBe('beforeunload')
      await dialog.dismiss()
      expect(await subject.inputValue()).toBe('Half a sent')
      await page.evaluate('history.back()')
      await question.getByRole('button', { name: 'Leave' }).click()
      await page.getByRole('searchbox').waitFor()
      expect(page.url()).toMatch(/\/tickets$/)
      // A saved form is left without a question.
      await page.goto(`${app.url}/admin/tickets/2`)
      await subject.fill('A whole sentence')
      await button(page, 'Save').click()
      await status(page, 'was saved')
      await crumb.click()
      await page.getByRole('searchbox').waitFor()
    }))

  it('asks before Escape closes a dialog with a changed form', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets/2')
      const dialog = page.getByRole('dialog', { name: 'Close' })
      const question = page.getByRole('dialog', { name: 'Leave without saving?' })
      await button(page, 'Close').click()
      await dialog.waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      expect(await question.count()).toBe(0)
      await button(page, 'Close').click()
      await dialog.getByLabel('Reason').fill('It is quiet')
      await page.keyboard.press('Escape')
      await question.getByRole('button', { name: 'Cancel' }).click()
      await question.waitFor({ state: 'detached' })
      expect(await dialog.getByLabel('Reason').inputValue()).toBe('It is quiet')
      await page.keyboard.press('Escape')
      await question.getByRole('button', { name: 'Leave' }).click()
      await dialog.waitFor({ state: 'detached' })
    }))

  it('sets chosen fields of many rows to empty, and does not change the others', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets')
      for (const name of ['Chair squeaks', 'Table is too low'])
        await page.getByRole('checkbox', { name: `Select ${name}`, exact: true }).check()
      await button(page, 'Edit selected').click()
      const dialog = page.getByRole('dialog')
      for (const name of ['Body', 'Due', 'Keywords', 'Labels'])
        await dialog.getByLabel(`Make empty: ${name}`).check()
      expect(await dialog.getByRole('textbox', { name: 'Body' }).isDisabled()).toBe(true)
      expect(await dialog.getByLabel('Make empty: Priority').count()).toBe(0)
      await dialog.getByRole('button', { name: 'Save' }).click()
      await status(page, '2 tickets saved.')
      for (const id of [2, 3]) {
        const row = await records()
          .records(Ticket)
          .find(id, { with: ['labels'] })
        expect(row).toMatchObject({ body: null, due: null, keywords: [], labels: [] })
        expect(row?.salary).toMatch(/pay grade/)
      }
    }))

  it('works with keys that are UUIDs: list, form, picker, conflict, history, many rows, an action', () =>
    visit(async (page) => {
      await signIn(page, 'ed', '/admin/devices')
      const devices = records().records(Device)
      await page.getByRole('link', { name: 'Rack', exact: true }).first().click()
      await page.getByLabel('Name').waitFor()
      const id = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1)!)
      await page.getByLabel('Name').fill('Rack of mine')
      await devices.update(id, { name: 'Rack of theirs' })
      await page.getByRole('combobox', { name: 'Parent' }).click()
      await page.keyboard.type('switch')
      await page.getByRole('option', { name: 'Switch of floor 3' }).click()
      await button(page, 'Save').click()
      await page
        .getByRole('region', { name: /^Conflict/ })
        .getByLabel('Mine Rack of mine')
        .check()
      await button(page, 'Save').click()
      await status(page, 'Rack of mine” was saved')
      const stored = await devices.find(id, { with: ['parent'] })
      expect(stored).toMatchObject({ name: 'Rack of mine', parent: { name: 'Switch of floor 3' } })
      await button(page, 'History').click()
      const entry = page.getByRole('row').filter({ hasText: 'Switch of floor 3' })
      await entry.getByText('Parent').waitFor()
      await page.getByRole('main').getByRole('link', { name: 'Devices' }).click()
      await page.getByLabel('Select all').check()
      await button(page, 'Rename').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Run' }).click()
      await status(page, 'Rename: done for 3 devices.')
      // The list gets changes of rows with UUIDs too.
      await devices.update(id, { name: 'Rack of a user' })
      await page.getByRole('link', { name: 'Rack of a user' }).first().waitFor()
      await page.getByLabel('Select all').check()
      await button(page, 'Delete selected').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await status(page, '3 devices deleted.')
      expect(await devices.count()).toBe(0)
    }))

  it('shows a read-only record without a form, and the history of a row page by page', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/plans')
      await page.getByRole('link', { name: 'Small' }).waitFor()
      for (const name of ['New plan', 'Import']) {
        const link = page.getByRole('link', { name })
        expect({ name, count: await link.count() }).toEqual({ name, count: 0 })
      }
      await page.getByRole('link', { name: 'Small' }).click()
      await page.getByText('Answers within a day.').waitFor()
      await page.getByRole('link', { name: 'BH-7' }).waitFor()
      for (const role of ['textbox', 'combobox'] as const)
        expect(await page.getByRole('main').getByRole(role).count()).toBe(0)
      for (const name of ['Save', 'Delete']) expect(await button(page, name).count()).toBe(0)
      await page.goto(`${app.url}/admin/plans/new`)
      await page.getByRole('alert').filter({ hasText: 'no such plan' }).waitFor()

      for (let count = 0; count < 60; count++)
        await records()
          .records(Ticket)
          .update(1, { subject: `Lamp ${count}` })
      await page.goto(`${app.url}/admin/tickets/1`)
      await button(page, 'History').click()
      const history = page.getByRole('region', { name: 'History' })
      await history.getByText('Lamp 59').first().waitFor()
      expect(await history.getByText('Created', { exact: true }).count()).toBe(0)
      await history.getByRole('button', { name: 'Earlier' }).click()
      await history.getByText('Created', { exact: true }).waitFor()
      expect(await history.getByRole('button', { name: 'Earlier' }).count()).toBe(0)
      expect(await history.getByRole('row').filter({ hasText: 'Lamp' }).count()).toBe(61)
    }))

  it('shows all changes with their users, and finds deleted rows', () =>
    visit(async (page) => {
      await records().records(Ticket).update(2, { subject: 'Chair of the hall' })
      await records().records(Ticket).update(2, { subject: 'Chair squeaks' })
      await records().records(Ticket).delete(2)
      await records().records(Ticket).update(1, { subject: 'Lamp of the hall' })
      await signIn(page, 'ann', '/admin/tickets')
      await page.getByRole('link', { name: 'History', exact: true }).click()
      const history = page.getByRole('region', { name: 'History' })
      await history.getByText('Changed Lamp of the hall').waitFor()
      await history.getByText('Deleted Chair squeaks').waitFor()
      await history.getByText('Created Chair squeaks', { exact: true }).waitFor()
      await page.setViewportSize({ width: 1040, height: 900 })
      const hasRoom = (table: Element): boolean => table.scrollWidth <= table.clientWidth
      expect(await history.getByRole('group', { name: 'Changes' }).evaluate(hasRoom)).toBe(true)
      // No entry links to a deleted row.
      expect(
        await history.getByRole('link', { name: /Chair squeaks$|Chair of|^Ticket 2$/ }).count(),
      ).toBe(0)
      await page.getByLabel('Only what was deleted').check()
      await history.getByText('Changed').first().waitFor({ state: 'detached' })
      await page.reload()
      await history.getByText('Deleted Chair squeaks').waitFor()
      expect(await history.getByText('Changed').count()).toBe(0)
    }))

  it('shows users without write access the row without buttons', () =>
    visit(async (page) => {
      await signIn(page, 'ria', '/admin/tickets/2')
      const main = page.getByRole('main')
      const facts = main.getByRole('definition')
      await facts.filter({ hasText: 'building' }).waitFor()
      await facts.filter({ hasText: 'Street: Quay 4, Town: Porto' }).waitFor()
      await facts.getByRole('link', { name: 'Blue Harbour' }).waitFor()
      expect(await main.getByRole('textbox').count()).toBe(0)
      expect(await main.getByRole('button').allTextContents()).toEqual(['History'])
      await page.goto(`${app.url}/admin/tickets`)
      await page.getByRole('link', { name: 'Chair squeaks', exact: true }).waitFor()
      expect(await page.getByRole('checkbox').count()).toBe(0)
    }))

  it('lists the columns of an import, including columns of related rows', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets/import')
      await page.getByText(/names the columns: .*Subject.*Labels \(labelIds\)/).waitFor()
    }))

  it('updates rows that other users change, and marks them', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets')
      const listening = page.waitForResponse((response) => response.url().endsWith('/live'))
      await page.goto(`${app.url}/admin/tickets`)
      await listening
      await records().records(Ticket).update(1, { subject: 'Lamp of another user' })
      const row = page.getByRole('row').filter({ hasText: 'Lamp of another user' })
      await row.waitFor()
    }))

  it('shows an editor only the rows and fields for editors, in all elements and responses', () =>
    visit(async (page) => {
      const bodies: Promise<string>[] = []
      page.on('response', (response) => {
        if (!response.url().includes('/assets/')) bodies.push(response.text().catch(() => ''))
      })
      const contents: string[] = []
      const look = async (): Promise<void> => {
        contents.push(await page.content())
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
        // What arrives after the heading must not show more either, so time itself is waited for.
        await page.waitForTimeout(300)
        await look()
      }
      const answers = await Promise.all(bodies)
      const csv = await page.evaluate(
        "fetch('/admin/api/csv/tickets').then((answer) => answer.text())",
      )
      const all = [...contents, ...answers, String(csv)].join('\n')
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
    ['light', 375],
    ['dark', 375],
  ] as const)('passes axe, %s and %i pixels wide', (colorScheme, width) =>
    visit(async (page) => {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 844 })
      const examine = (view: string): Promise<void> => expectAccessible(page, view)
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
      await page.getByRole('checkbox', { name: 'Select Chair squeaks', exact: true }).check()
      await button(page, 'Filter').click()
      await page.getByRole('form', { name: 'Filter' }).waitFor()
      await examine('list with rows selected and the filter')
      await button(page, 'Columns').click()
      await examine('columns')
      await page.getByRole('button', { name: /^Delete/ }).click()
      await examine('question')
      await page.keyboard.press('Escape')
      await page.getByRole('button', { name: /^Edit/ }).click()
      await examine('edit many')
      await page.getByRole('dialog').getByLabel('Status').selectOption('closed')
      await page.keyboard.press('Escape')
      await page
        .getByRole('dialog', { name: 'Leave without saving?' })
        .getByRole('button', { name: 'Leave' })
        .click()
      await page.getByLabel('Select all').check()
      await page.getByRole('button', { name: /^Select all 30 that match/ }).click()
      await status(page, '30 tickets selected')
      await examine('all rows selected')
      await button(page, 'Edit selected').click()
      await page.getByRole('dialog').getByLabel('Status').selectOption('closed')
      await button(page, 'Preview').click()
      await page.getByRole('dialog').getByText('tickets: Status open → closed').waitFor()
      await examine('preview')
      await page.goto(`${app.url}/admin/tickets?status.in=open&due.isNull=false`)
      await page.getByText('Status is one of open').waitFor()
      await button(page, 'Filter').click()
      await page.getByRole('checkbox', { name: 'waiting' }).waitFor()
      await examine('filter with other conditions')
      await page.goto(`${app.url}/admin/orgs/2`)
      await page.getByRole('region', { name: 'Devices' }).getByText('3 devices').waitFor()
      await examine('row with related rows')
      await page.goto(`${app.url}/admin/tickets/new`)
      await button(page, 'Save').click()
      await page.getByRole('combobox', { name: 'Org' }).click()
      await page.getByRole('option').first().waitFor()
      await examine('form with errors and an open list')
      await page.goto(`${app.url}/admin/tickets/1`)
      await page.getByLabel('Subject').fill('Lamp of mine')
      await button(page, 'History').click()
      await page.getByRole('region', { name: 'History' }).getByRole('row').first().waitFor()
      await examine('row with its history')
      await records().records(Ticket).update(1, { subject: 'Lamp of theirs' })
      await button(page, 'Save').click()
      await page.getByRole('region', { name: /^Conflict/ }).waitFor()
      await examine('conflict')
      await page.goto(`${app.url}/admin/plans/1`)
      await page.getByRole('link', { name: 'BH-7' }).waitFor()
      await examine('row that is only read')
      await page.goto(`${app.url}/admin/tickets?status=none`)
      await page.getByText('No ticket matches.').waitFor()
      await examine('list without rows')
      await page.goto(`${app.url}/admin/tickets/3`)
      await page.getByLabel('Subject').fill('Table of mine')
      await button(page, 'New org').click()
      await examine('row made in place')
      await page.keyboard.press('Escape')
      await button(page, 'Raise').click()
      await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor()
      await examine('question before leaving')
      await page.goto(`${app.url}/admin/tickets/figures`)
      await page.getByRole('img').waitFor()
      await examine('figures')
      await page.goto(`${app.url}/admin/tickets/history`)
      await page.getByRole('region', { name: 'History' }).getByRole('row').first().waitFor()
      await examine('history of all rows')
      await page.goto(`${app.url}/admin/labels/import`)
      await page.getByLabel('CSV file').waitFor()
      await examine('import')
      await page.getByLabel('CSV file').setInputFiles({
        ...{ name: 'labels.csv', mimeType: 'text/csv', buffer: Buffer.from('name\nx\n') },
      })
      await button(page, 'Check').click()
      await page.getByRole('table', { name: 'Errors' }).waitFor()
      await examine('errors of an import')
      await page.goto(`${app.url}/admin/tickets/2`)
      await button(page, 'Purge').click()
      await page.getByRole('dialog', { name: 'Purge: 1 ticket?' }).waitFor()
      await examine('question before a dangerous action')
    }),
  )
})
