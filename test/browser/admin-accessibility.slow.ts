/** The admin page in Chromium: by keyboard, and for screen readers. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { Ticket } from '../admin/desk.js'
import { displays, findProblems } from './accessibility.js'
import { buttonOf, isFocused, statusOf, useDesk } from './admin-visit.js'

const desk = useDesk()
const { signIn, visit } = desk

/** Moves the focus to the element by keyboard. */
async function tabTo(page: Page, target: Locator, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < 150; presses++) {
    if (await target.evaluate(isFocused)) return
    await page.keyboard.press(key)
  }
  throw new Error(`No way by ${key} to ${String(target)}.`)
}

describe('the admin page', () => {
  it('can be used by keyboard: signing in, finding, a conflict, a picker, many rows, CSV, signing out', () =>
    visit(async (page) => {
      const { keyboard } = page
      await page.goto(`${desk.app.url}/admin`)
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
      await desk.database.records(Ticket).update(2, { subject: 'Chair of theirs', priority: 3 })
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
      await tabTo(page, buttonOf(page, 'Save'))
      await keyboard.press('Enter')

      const conflict = page.getByRole('region', { name: /^Conflict/ })
      const group = conflict.getByRole('group', { name: 'Subject' })
      await group.getByText('Was').waitFor()
      expect(await conflict.getByRole('group').count()).toBe(1)
      await tabTo(page, group.getByLabel(/^Mine/))
      await keyboard.press('ArrowDown')
      expect(await group.getByLabel('Theirs Chair of theirs').isChecked()).toBe(true)
      await tabTo(page, buttonOf(page, 'Save'))
      await keyboard.press('Enter')
      await statusOf(page, 'Chair of theirs” was saved')
      const stored = await desk.database.records(Ticket).find(2, { with: ['labels'] })
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
      await statusOf(page, '2 tickets saved.')
      expect(await desk.database.records(Ticket).count({ priority: 8, id: { in: [3, 4] } })).toBe(2)
      await keyboard.press('Space')
      await tabTo(page, page.getByRole('button', { name: /^Delete/ }), 'Shift+Tab')
      await keyboard.press('Enter')
      await page.getByRole('dialog', { name: /Delete 25 tickets/ }).waitFor()
      expect(await buttonOf(page, 'Cancel').evaluate(isFocused)).toBe(true)
      await keyboard.press('Escape')
      expect(await desk.database.records(Ticket).count({})).toBe(30)

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
      await tabTo(page, buttonOf(page, 'Check'))
      await keyboard.press('Enter')
      await page
        .getByRole('row', { name: /^2 Name Name must have at least 2 characters/ })
        .waitFor()
      expect(await buttonOf(page, 'Import').isDisabled()).toBe(true)
      await give('name\r\nroof\r\ngarden\r\n')
      await tabTo(page, buttonOf(page, 'Check'), 'Shift+Tab')
      await keyboard.press('Enter')
      await statusOf(page, '2 rows, no errors')
      await tabTo(page, buttonOf(page, 'Import'))
      await keyboard.press('Enter')
      await statusOf(page, '2 labels imported')

      await tabTo(page, buttonOf(page, 'Sign out'), 'Shift+Tab')
      await keyboard.press('Enter')
      await buttonOf(page, 'Sign in').waitFor()
      expect(page.url()).not.toContain('right')
      await page.goBack()
      await buttonOf(page, 'Sign in').waitFor()
      expect(await page.getByRole('row').count()).toBe(0)
    }))

  it.each(displays)('passes axe, %s and %i pixels wide', (colorScheme, width) =>
    visit(async (page) => {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 844 })
      const problems: Record<string, string[]> = {}
      const examine = async (view: string): Promise<void> => {
        const found = await findProblems(page)
        if (found.length > 0) problems[view] = found
      }
      await page.goto(`${desk.app.url}/admin`)
      await page.getByLabel('Name').waitFor()
      await examine('sign-in')
      await signIn(page, 'ann')
      await examine('start')
      if (width < 800) {
        await buttonOf(page, 'Menu').click()
        await page.getByRole('navigation').getByRole('link', { name: 'Tickets' }).waitFor()
        await examine('menu')
      }
      await page.goto(`${desk.app.url}/admin/tickets`)
      await page.getByRole('checkbox', { name: 'Select Chair squeaks', exact: true }).check()
      await buttonOf(page, 'Filter').click()
      await page.getByRole('form', { name: 'Filter' }).waitFor()
      await examine('list with rows selected and the filter')
      await buttonOf(page, 'Columns').click()
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
      await statusOf(page, '30 tickets selected')
      await examine('all rows selected')
      await buttonOf(page, 'Edit selected').click()
      await page.getByRole('dialog').getByLabel('Status').selectOption('closed')
      await buttonOf(page, 'Preview').click()
      await page.getByRole('dialog').getByText('tickets: Status open → closed').waitFor()
      await examine('preview')
      await page.goto(`${desk.app.url}/admin/tickets?status.in=open&due.isNull=false`)
      await page.getByText('Status is one of open').waitFor()
      await buttonOf(page, 'Filter').click()
      await page.getByRole('checkbox', { name: 'waiting' }).waitFor()
      await examine('filter with other conditions')
      await page.goto(`${desk.app.url}/admin/orgs/2`)
      await page.getByRole('region', { name: 'Devices' }).getByText('3 devices').waitFor()
      await examine('row with related rows')
      await page.goto(`${desk.app.url}/admin/tickets/new`)
      await buttonOf(page, 'Save').click()
      await page.getByRole('combobox', { name: 'Org' }).click()
      await page.getByRole('option').first().waitFor()
      await examine('form with errors and an open list')
      await page.goto(`${desk.app.url}/admin/tickets/1`)
      await page.getByLabel('Subject').fill('Lamp of mine')
      await buttonOf(page, 'History').click()
      await page.getByRole('region', { name: 'History' }).getByRole('row').first().waitFor()
      await examine('row with its history')
      await desk.database.records(Ticket).update(1, { subject: 'Lamp of theirs' })
      await buttonOf(page, 'Save').click()
      await page.getByRole('region', { name: /^Conflict/ }).waitFor()
      await examine('conflict')
      await page.goto(`${desk.app.url}/admin/plans/1`)
      await page.getByRole('link', { name: 'BH-7' }).waitFor()
      await examine('row that is only read')
      await page.goto(`${desk.app.url}/admin/tickets?subject=nothing`)
      await page.getByText('No ticket matches.').waitFor()
      await examine('list without rows')
      await page.goto(`${desk.app.url}/admin/tickets/3`)
      await page.getByLabel('Subject').fill('Table of mine')
      await buttonOf(page, 'New org').click()
      await examine('row made in place')
      await page.keyboard.press('Escape')
      await buttonOf(page, 'Raise').click()
      await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor()
      await examine('question before leaving')
      await page.goto(`${desk.app.url}/admin/tickets/figures`)
      await page.getByRole('img').waitFor()
      await examine('figures')
      await page.goto(`${desk.app.url}/admin/tickets/history`)
      await page.getByRole('region', { name: 'History' }).getByRole('row').first().waitFor()
      await examine('history of all rows')
      await page.goto(`${desk.app.url}/admin/labels/import`)
      await page.getByLabel('CSV file').waitFor()
      await examine('import')
      await page.getByLabel('CSV file').setInputFiles({
        ...{ name: 'labels.csv', mimeType: 'text/csv', buffer: Buffer.from('name\nx\n') },
      })
      await buttonOf(page, 'Check').click()
      await page.getByRole('table', { name: 'Errors' }).waitFor()
      await examine('errors of an import')
      await page.goto(`${desk.app.url}/admin/tickets/2`)
      await buttonOf(page, 'Purge').click()
      await page.getByRole('dialog', { name: 'Purge: 1 ticket?' }).waitFor()
      await examine('question before a dangerous action')
      expect(problems).toEqual({})
    }),
  )
})
