/** Lists of the admin page in a real Chromium: pages, many selected rows, related rows, and long work. */
import { describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { Comment, Contract, Org, Ticket } from '../admin/desk.js'
import { buttonOf, isFocused, statusOf, useDesk } from './admin-visit.js'

const desk = useDesk()
const { visit } = desk
const signIn = (page: Page, path: string): Promise<void> => desk.signIn(page, 'ann', path)

/** Adds open tickets, so that the list has many pages. */
async function addTickets(count: number): Promise<void> {
  await desk.database.records(Ticket).insertMany(
    (function* () {
      for (let index = 1; index <= count; index++)
        yield { subject: `Request ${index}`, orgId: (index % 5) + 1 }
    })(),
  )
}

/** Signs in, and selects 1,210 open tickets on all pages. */
async function selectOpenTickets(page: Page): Promise<void> {
  await addTickets(1200)
  await signIn(page, '/admin/tickets?status=open')
  await page.getByLabel('Select all').check()
  await page.getByRole('button', { name: /^Select all 1,210/ }).click()
  await statusOf(page, '1,210 tickets selected')
}

describe('a list of the admin page', () => {
  it('starts each page at the top with the first row, keeps its columns, and jumps to a page', () =>
    visit(async (page) => {
      await addTickets(200)
      await signIn(page, '/admin/tickets')
      await page.getByText('230 tickets', { exact: true }).waitFor()
      const widths = (): Promise<number[]> =>
        page
          .locator('thead th')
          .evaluateAll((all) => all.map((one) => Math.round(one.getBoundingClientRect().width)))
      const before = await widths()
      const firstRow = page.locator('tbody a.title').first()
      await buttonOf(page, 'Next page').click()
      await page.getByRole('link', { name: 'Badge is not read again (27)' }).waitFor()
      expect(await firstRow.evaluate(isFocused)).toBe(true)
      expect(await page.evaluate('scrollY')).toBe(0)
      expect(await widths()).toEqual(before)
      const box = page.getByRole('textbox', { name: 'Page', exact: true })
      expect(await box.inputValue()).toBe('2')
      await box.fill('7')
      await box.press('Enter')
      await page.getByRole('link', { name: 'Request 125', exact: true }).waitFor()
      expect(await firstRow.textContent()).toBe('Request 121')
      expect(await box.inputValue()).toBe('7')
      await buttonOf(page, 'Previous page').click()
      await page.getByRole('link', { name: 'Request 96', exact: true }).waitFor()
      expect(await box.inputValue()).toBe('6')
      await box.fill('10')
      await box.press('Enter')
      await page.getByRole('link', { name: 'Request 200', exact: true }).waitFor()
      expect(await buttonOf(page, 'Next page').isDisabled()).toBe(true)
      await page.getByLabel('Rows per page').selectOption('100')
      await page.getByText('of 3', { exact: true }).waitFor()
      expect(await page.locator('tbody tr').count()).toBe(100)
      await page.reload()
      await page.getByText('of 3', { exact: true }).waitFor()
      expect(await page.locator('tbody tr').count()).toBe(100)
    }))

  it('clamps long texts to three lines', () =>
    visit(async (page) => {
      await desk.database.records(Comment).update(1, { text: 'A long text. '.repeat(15).trim() })
      await signIn(page, '/admin/comments')
      const cell = page.locator('a.title').first()
      await cell.waitFor()
      const lines = await cell.evaluate((element) => {
        element.closest('td')!.style.width = '8rem'
        return element.clientHeight / parseFloat(getComputedStyle(element).lineHeight)
      })
      expect(Math.round(lines)).toBeLessThanOrEqual(3)
    }))

  it('selects all rows that match, on all pages, and previews and runs a change in batches', () =>
    visit(async (page) => {
      await addTickets(1200)
      await signIn(page, '/admin/tickets?status=open')
      await page.getByText('1,210 tickets', { exact: true }).waitFor()
      await page.getByLabel('Select all').check()
      await statusOf(page, '25 tickets selected')
      await buttonOf(page, 'Next page').click()
      await page.getByLabel('Select all').check()
      await statusOf(page, '50 tickets selected')
      await buttonOf(page, 'Select all 1,210 that match').click()
      await statusOf(page, '1,210 tickets selected')
      await buttonOf(page, 'Edit selected').click()
      const dialog = page.getByRole('dialog', { name: 'Edit 1,210 tickets' })
      await dialog.getByLabel('Priority').fill('12')
      await buttonOf(dialog, 'Preview').click()
      await dialog.getByRole('alert').filter({ hasText: 'Priority must be at most 9' }).waitFor()
      await dialog.getByLabel('Priority').fill('')
      await dialog.getByLabel('Status').selectOption('closed')
      await buttonOf(dialog, 'Preview').click()
      await dialog.getByText('1,210 tickets: Status open → closed').waitFor()
      expect(await desk.database.records(Ticket).count({ status: 'open' })).toBe(1210)
      await buttonOf(dialog, 'Save 1,210 tickets').click()
      await dialog.getByText('1,210 tickets saved.').waitFor()
      expect(await desk.database.records(Ticket).count({ status: 'open' })).toBe(0)
      await buttonOf(dialog, 'Close').click()
      await page.getByText('No ticket matches.').waitFor()
    }))

  it('stops a long change between two batches, and says how many rows it changed', () =>
    visit(async (page) => {
      await selectOpenTickets(page)
      await buttonOf(page, 'Purge').click()
      const dialog = page.getByRole('dialog', { name: 'Purge: 1,210 tickets?' })
      await buttonOf(dialog, 'Preview').click()
      await dialog.getByText('1,210 tickets: deleted').waitFor()
      // The second batch waits until somebody has pressed Cancel.
      let batches = 0
      await page.route('**/actions/tickets/purge', async (route) => {
        if (++batches === 2) await buttonOf(dialog, 'Cancel').click()
        await route.continue()
      })
      await buttonOf(dialog, 'Purge 1,210 tickets').click()
      await dialog.getByText('Purge: done for 500 tickets. Cancelled.').waitFor()
      expect(await desk.database.records(Ticket).count({ status: 'open' })).toBe(710)
    }))

  it('says what went wrong in the middle of a long change', () =>
    visit(async (page) => {
      await selectOpenTickets(page)
      await buttonOf(page, 'Delete selected').click()
      const dialog = page.getByRole('dialog')
      await buttonOf(dialog, 'Preview').click()
      await dialog.getByText('1,210 tickets: deleted').waitFor()
      let batches = 0
      await page.route('**/bulk/tickets', (route) =>
        ++batches === 2
          ? route.fulfill({ status: 409, json: { error: 'Ticket 700 is in use.' } })
          : route.continue(),
      )
      await buttonOf(dialog, 'Delete 1,210 tickets').click()
      await dialog
        .getByRole('alert')
        .filter({
          hasText: '250 tickets deleted. Ticket 700 is in use. The other rows are unchanged.',
        })
        .waitFor()
      expect(await desk.database.records(Ticket).count({ status: 'open' })).toBe(960)
    }))

  it('waits for a server that has too much to do, in the middle of a long change', () =>
    visit(async (page) => {
      await addTickets(600)
      await signIn(page, '/admin/tickets?status=open')
      await page.getByLabel('Select all').check()
      await page.getByRole('button', { name: /^Select all 610/ }).click()
      await statusOf(page, '610 tickets selected')
      let requests = 0
      await page.route('**/bulk/tickets', (route) =>
        ++requests === 2
          ? route.fulfill({ status: 503, json: { error: 'Too much to do.', code: 'TOO_BUSY' } })
          : route.continue(),
      )
      await buttonOf(page, 'Delete selected').click()
      const dialog = page.getByRole('dialog')
      await buttonOf(dialog, 'Preview').click()
      await dialog.getByText('610 tickets: deleted').waitFor()
      expect(requests).toBe(4)
    }))

  it('leads to related rows and back to the same place', () =>
    visit(async (page) => {
      await page.setViewportSize({ width: 1280, height: 500 })
      await signIn(page, '/admin/tickets')
      await buttonOf(page, 'Next page').click()
      const row = page
        .getByRole('row')
        .filter({ hasText: 'Invoice shows the old address again (29)' })
      const org = row.getByRole('link', { name: 'Vela Maritime' })
      await org.scrollIntoViewIfNeeded()
      const place = await page.evaluate('scrollY')
      await org.click()
      await page.getByRole('heading', { level: 1, name: 'Vela Maritime' }).waitFor()
      await page.goBack()
      await org.waitFor()
      await page.waitForFunction(`Math.abs(scrollY - ${Number(place)}) < 2`)
      expect(await page.getByRole('textbox', { name: 'Page', exact: true }).inputValue()).toBe('2')
      expect(await page.evaluate('document.activeElement.textContent')).toBe('Vela Maritime')
      await page.goto(`${desk.app.url}/admin/tickets/3`)
      await page.getByRole('link', { name: 'Open Kestrel Labs' }).click()
      await page.getByRole('heading', { level: 1, name: 'Kestrel Labs' }).waitFor()
    }))

  it('shows the rows that refer to a row with their columns and number, and adds one for it', () =>
    visit(async (page) => {
      for (let index = 0; index < 14; index++)
        await desk.database
          .records(Contract)
          .create({ code: `KL-${100 + index}`, fee: '5.00', orgId: 3 })
      await signIn(page, '/admin/orgs/3')
      const contracts = page.getByRole('region', { name: 'Contracts' })
      await contracts.getByRole('columnheader', { name: 'Yearly fee' }).waitFor()
      expect(await contracts.getByRole('columnheader', { name: 'Organisation' }).count()).toBe(0)
      const all = contracts.getByRole('link', { name: 'All 15 contracts' })
      await all.click()
      await page.getByText('15 contracts', { exact: true }).waitFor()
      await page.goBack()
      await contracts.getByRole('link', { name: 'Add contract for this org' }).click()
      const organisation = page.getByRole('combobox', { name: 'Organisation' })
      await page.waitForFunction(
        `[...document.querySelectorAll('[role=combobox]')].some(({ value }) => value === 'Kestrel Labs')`,
      )
      expect(await organisation.inputValue()).toBe('Kestrel Labs')
      await page.getByLabel('Code').fill('KL-500')
      await page.getByLabel('Yearly fee').fill('7.00')
      await buttonOf(page, 'Save').click()
      await statusOf(page, 'KL-500” was created')
      expect(await desk.database.records(Contract).count({ orgId: 3 })).toBe(16)
    }))

  it('says so while it loads', () =>
    visit(async (page) => {
      let release: () => void = () => undefined
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      await signIn(page, '/admin')
      await page.route('**/rows/tickets?**', async (route) => {
        await released
        await route.continue()
      })
      await page.getByRole('navigation').getByRole('link', { name: 'Tickets' }).click()
      await page.getByText('Loading tickets…').waitFor()
      expect(await page.locator('table').getAttribute('aria-busy')).toBe('true')
      release()
      await page.getByText('30 tickets', { exact: true }).waitFor()
      expect(await page.getByText('Loading').count()).toBe(0)
    }))

  it('imports a large file with progress, rows and percent, and cancels without a trace', () =>
    visit(async (page) => {
      const lines = Array.from(
        { length: 3000 },
        (_, index) => `Imported ${index},${(index % 5) + 1}`,
      )
      const buffer = Buffer.from(`Subject,Org\n${lines.join('\n')}\n`)
      await signIn(page, '/admin/tickets/import')
      const file = { name: 'tickets.csv', mimeType: 'text/csv', buffer }
      await page.getByLabel('CSV file').setInputFiles(file)
      // All words that the status shows.
      await page.evaluate(`
        window.words = []
        new MutationObserver(() => {
          for (const one of document.querySelectorAll('[role=status]')) words.push(one.textContent)
          const form = document.querySelector('main form')
          if (form.ariaBusy === 'true' || form.getAttribute('aria-busy') === 'true')
            words.push('busy ' + form.querySelector('[type=submit]').disabled)
        }).observe(document.body, { subtree: true, childList: true, characterData: true })`)
      await buttonOf(page, 'Check').click()
      await page.locator('.outcome').filter({ hasText: '3,000 rows, no errors' }).waitFor()
      const words = JSON.stringify(await page.evaluate('[...new Set(words)]'))
      expect(words).toMatch(/Checking: [\d,]+ rows, \d+ %/)
      expect(words).toContain('busy true')
      expect(await desk.database.records(Ticket).count()).toBe(30)
      await buttonOf(page, 'Import').click()
      await buttonOf(page, 'Cancel').click()
      await page
        .locator('.outcome')
        .filter({ hasText: 'Cancelled. Nothing was written.' })
        .waitFor()
      expect(await desk.database.records(Ticket).count()).toBe(30)
      await buttonOf(page, 'Check').click()
      await page.locator('.outcome').filter({ hasText: 'no errors' }).waitFor()
      await buttonOf(page, 'Import').click()
      await page.locator('.outcome').filter({ hasText: '3,000 tickets imported.' }).waitFor()
      expect(await desk.database.records(Ticket).count()).toBe(3030)
      await page.getByRole('link', { name: 'Show tickets' }).click()
      await page.getByText('3,030 tickets', { exact: true }).waitFor()
    }))

  it('names fields by their labels: in errors, in the help of an import, and in a filter', () =>
    visit(async (page) => {
      await signIn(page, '/admin/contracts/new')
      await page.getByText('In euros.').waitFor()
      await buttonOf(page, 'Save').click()
      await page.getByRole('alert').filter({ hasText: 'Yearly fee is required' }).waitFor()
      await page.getByLabel('Code').fill('XY-1')
      await page.getByLabel('Yearly fee').fill('-5')
      await buttonOf(page, 'Save').click()
      await page.getByRole('alert').filter({ hasText: 'Yearly fee must be at least 0' }).waitFor()
      await page.goto(`${desk.app.url}/admin/contracts/import`)
      await page
        .getByText(/names the columns: .*Yearly fee \(fee\).*Organisation \(orgId\)/)
        .waitFor()
      await page.goto(`${desk.app.url}/admin/contracts?fee.gte=many`)
      await page
        .getByRole('alert')
        .filter({ hasText: /^Yearly fee must be/ })
        .waitFor()
      await desk.database.records(Org).update(1, { name: 'Northwind' })
    }))

  it('saves by Ctrl+S, keeps Save visible, saves and starts a new row, and asks before a dangerous action', () =>
    visit(async (page) => {
      await page.setViewportSize({ width: 1280, height: 500 })
      await signIn(page, '/admin/tickets/2')
      await page.getByLabel('Subject').fill('Chair of the hall')
      const save = buttonOf(page, 'Save')
      const box = await save.boundingBox()
      expect(box!.y + box!.height).toBeLessThanOrEqual(500)
      await page.keyboard.press('Control+S')
      await statusOf(page, 'Chair of the hall” was saved')
      await page.goto(`${desk.app.url}/admin/labels/new`)
      await page.getByLabel('Name').fill('garden')
      await buttonOf(page, 'Save and new').click()
      await statusOf(page, 'garden” was created')
      expect(page.url()).toMatch(/labels\/new$/)
      expect(await page.getByLabel('Name').inputValue()).toBe('')
      await page.getByLabel('Name').fill('roof')
      await page.keyboard.press('Control+S')
      await statusOf(page, 'roof” was created')
      await page.goto(`${desk.app.url}/admin/tickets/4`)
      const purge = buttonOf(page, 'Purge')
      const colour = (element: Element): string => getComputedStyle(element).color
      expect(await purge.evaluate(colour)).toBe(await buttonOf(page, 'Delete').evaluate(colour))
      await purge.click()
      const dialog = page.getByRole('dialog', { name: 'Purge: 1 ticket?' })
      await dialog.getByText('This cannot be undone.').waitFor()
      expect(await buttonOf(dialog, 'Cancel').evaluate(isFocused)).toBe(true)
      await buttonOf(dialog, 'Purge').click()
      await page.getByRole('heading', { level: 1, name: 'Tickets' }).waitFor()
      expect(await desk.database.records(Ticket).find(4)).toBeNull()
    }))
})
