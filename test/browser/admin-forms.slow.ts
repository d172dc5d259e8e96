/** Forms of the admin page in Chromium: single rows, many rows, imports, and leaving a changed form. */
import { describe, expect, it } from '@jest/globals'
import { Device, Ticket } from '../admin/desk.js'
import { buttonOf, statusOf, useDesk } from './admin-visit.js'

const desk = useDesk()
const { signIn, visit } = desk

describe('the admin page', () => {
  it('validates without a request, and creates related rows in place', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets/new')
      const sent: string[] = []
      page.on('request', (request) => {
        if (request.method() !== 'GET') sent.push(request.url())
      })
      await page.getByLabel('Subject').fill('x')
      await page.getByLabel('Priority').fill('12')
      await buttonOf(page, 'Save').click()
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
      await buttonOf(page, 'New org').click()
      await page.getByRole('dialog').getByLabel('Name').fill('Zed Ltd')
      await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
      await buttonOf(page, 'Add comment').click()
      await page.getByLabel('Text').fill('Its first words')
      await page.getByLabel('Street').fill('Main Street 1')
      await page.getByLabel('Town').fill('Oslo')
      await page.getByLabel('Picture').setInputFiles({
        ...{ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('hello') },
      })
      await buttonOf(page, 'Save').click()
      await statusOf(page, 'A new lamp” was created')
      const [created] = await desk.database
        .records(Ticket)
        .list({ where: { subject: 'A new lamp' }, with: ['org', 'comments'] })
      expect(created).toMatchObject({
        place: { street: 'Main Street 1', town: 'Oslo' },
        priority: 2,
      })
      expect(created?.org.name).toBe('Zed Ltd')
      expect(created?.comments.map(({ text }) => text)).toEqual(['Its first words'])
      expect(String(created?.picture)).toBe('hello')
      await buttonOf(page, 'Close').click()
      await page.getByRole('dialog').getByLabel('Reason').fill('It shines')
      await page.getByRole('dialog').getByRole('button', { name: 'Run' }).click()
      await statusOf(page, 'Close: done for 1 ticket')
      await buttonOf(page, 'History').click()
      await page
        .getByRole('region', { name: 'History' })
        .getByText('Close', { exact: true })
        .waitFor()
    }))

  it('duplicates a row, with its links and without its nested rows', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets/1')
      await page.getByRole('link', { name: 'Duplicate' }).click()
      const subject = page.getByLabel('Subject')
      await page.getByRole('heading', { name: 'New ticket' }).waitFor()
      expect(await subject.inputValue()).toBe('Lamp in the hall flickers')
      await subject.fill('Lamp in the cellar flickers')
      await buttonOf(page, 'Save').click()
      await statusOf(page, 'Lamp in the cellar flickers” was created')
      const options = { with: ['labels', 'comments'] } as const
      const tickets = desk.database.records(Ticket)
      const [copy] = await tickets.list({
        where: { subject: 'Lamp in the cellar flickers' },
        ...options,
      })
      const [stored] = await tickets.list({ where: { id: 1 as never }, ...options })
      expect(copy).toMatchObject({
        status: stored?.status,
        orgId: stored?.orgId,
        place: stored?.place,
        labels: stored?.labels,
        comments: [],
      })
      expect(copy?.id).not.toBe(stored?.id)
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
        () => buttonOf(page, 'Sign out').click(),
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
      await page.goto(`${desk.app.url}/admin/tickets/2`)
      await subject.fill('A whole sentence')
      await buttonOf(page, 'Save').click()
      await statusOf(page, 'was saved')
      await crumb.click()
      await page.getByRole('searchbox').waitFor()
    }))

  it('asks before Escape closes a dialog with a changed form', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets/2')
      const dialog = page.getByRole('dialog', { name: 'Close' })
      const question = page.getByRole('dialog', { name: 'Leave without saving?' })
      await buttonOf(page, 'Close').click()
      await dialog.waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      expect(await question.count()).toBe(0)
      await buttonOf(page, 'Close').click()
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
      await buttonOf(page, 'Edit selected').click()
      const dialog = page.getByRole('dialog')
      for (const name of ['Body', 'Due', 'Keywords', 'Labels'])
        await dialog.getByLabel(`Make empty: ${name}`).check()
      expect(await dialog.getByRole('textbox', { name: 'Body' }).isDisabled()).toBe(true)
      expect(await dialog.getByLabel('Make empty: Priority').count()).toBe(0)
      await dialog.getByRole('button', { name: 'Save' }).click()
      await statusOf(page, '2 tickets saved.')
      for (const id of [2, 3]) {
        const row = await desk.database.records(Ticket).find(id, { with: ['labels'] })
        expect(row).toMatchObject({ body: null, due: null, keywords: [], labels: [] })
        expect(row?.salary).toMatch(/pay grade/)
      }
    }))

  it('works with keys that are UUIDs: list, form, picker, conflict, history, many rows, an action', () =>
    visit(async (page) => {
      await signIn(page, 'ed', '/admin/devices')
      const devices = desk.database.records(Device)
      await page.getByRole('link', { name: 'Rack', exact: true }).first().click()
      await page.getByLabel('Name').waitFor()
      const id = decodeURIComponent(new URL(page.url()).pathname.split('/').at(-1)!)
      await page.getByLabel('Name').fill('Rack of mine')
      await devices.update(id, { name: 'Rack of theirs' })
      await page.getByRole('combobox', { name: 'Parent' }).click()
      await page.keyboard.type('switch')
      await page.getByRole('option', { name: 'Switch of floor 3' }).click()
      await buttonOf(page, 'Save').click()
      await page
        .getByRole('region', { name: /^Conflict/ })
        .getByLabel('Mine Rack of mine')
        .check()
      await buttonOf(page, 'Save').click()
      await statusOf(page, 'Rack of mine” was saved')
      const stored = await devices.find(id, { with: ['parent'] })
      expect(stored).toMatchObject({ name: 'Rack of mine', parent: { name: 'Switch of floor 3' } })
      await buttonOf(page, 'History').click()
      const entry = page.getByRole('row').filter({ hasText: 'Switch of floor 3' })
      await entry.getByText('Parent').waitFor()
      await page.getByRole('main').getByRole('link', { name: 'Devices' }).click()
      await page.getByLabel('Select all').check()
      await buttonOf(page, 'Rename').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Run' }).click()
      await statusOf(page, 'Rename: done for 3 devices.')
      // The list gets changes of rows with UUIDs too.
      await devices.update(id, { name: 'Rack of a user' })
      await page.getByRole('link', { name: 'Rack of a user' }).first().waitFor()
      await page.getByLabel('Select all').check()
      await buttonOf(page, 'Delete selected').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await statusOf(page, '3 devices deleted.')
      expect(await devices.count()).toBe(0)
    }))

  it('lists the columns of an import, including columns of related rows', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets/import')
      await page.getByText(/names the columns: .*Subject.*Labels \(labelIds\)/).waitFor()
    }))
})
