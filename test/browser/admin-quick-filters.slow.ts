/** The quick filters of the admin page's lists in a real Chromium. */
import { describe, expect, it } from '@jest/globals'
import type { Locator, Page } from 'playwright-core'
import { Ticket } from '../admin/desk.js'
import { displays, findProblems } from './accessibility.js'
import { buttonOf, isFocused, useDesk } from './admin-visit.js'

const desk = useDesk()
const { signIn, visit } = desk

const filters = (page: Page): Locator => page.locator('.quick-filters')
const linkOf = (page: Page, name: string): Locator => page.getByRole('link', { name, exact: true })
const rowsAre = (page: Page, total: string): Promise<void> =>
  page.getByText(total, { exact: true }).waitFor()

/** Local days from today, as the browser counts them. */
function day(from: number): string {
  const now = new Date()
  const date = new Date(now.getFullYear(), now.getMonth(), now.getDate() + from, 12)
  return date.toISOString().slice(0, 10)
}

describe('the quick filters of a list', () => {
  it('stand beside the list on a wide screen, and folded above it on others', () =>
    visit(async (page) => {
      await page.setViewportSize({ width: 1600, height: 900 })
      await signIn(page, 'ann', '/admin/tickets')
      await linkOf(page, 'Org: Kestrel Labs').waitFor()
      const list = (await page.locator('.card.rows').boundingBox())!
      const beside = (await filters(page).boundingBox())!
      expect(beside.x).toBeGreaterThanOrEqual(list.x + list.width)
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 844 })
        await page.waitForFunction(`!document.querySelector('.quick-filters').open`)
        const above = (await filters(page).boundingBox())!
        expect(above.y).toBeLessThan((await page.locator('.card.rows').boundingBox())!.y)
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      }
    }))

  it('combine with each other, the search and the form, stay in the address, and end by a second click', () =>
    visit(async (page) => {
      await page.setViewportSize({ width: 1600, height: 900 })
      await signIn(page, 'ann', '/admin/tickets?orderBy=subject')
      await linkOf(page, 'Status: waiting').click()
      await rowsAre(page, '10 tickets')
      expect(await linkOf(page, 'Status: waiting').evaluate(isFocused)).toBe(true)
      expect(await linkOf(page, 'Status: waiting').getAttribute('aria-current')).toBe('true')
      await linkOf(page, 'Org: Kestrel Labs').click()
      await rowsAre(page, '2 tickets')
      expect(new URL(page.url()).search).toBe('?orderBy=subject&status=waiting&orgId=3')
      await linkOf(page, 'Status: closed').click()
      await page.getByText('Status: closed', { exact: true }).first().waitFor()
      expect(new URL(page.url()).search).toBe('?orderBy=subject&orgId=3&status=closed')
      await buttonOf(page, 'Filter').click()
      const form = page.getByRole('form', { name: 'Filter' })
      expect(await form.getByLabel('Status').inputValue()).toBe('closed')
      await form.getByLabel('Priority from').fill('4')
      await buttonOf(form, 'Apply').click()
      await page.getByText('Priority from 4').waitFor()
      await linkOf(page, 'Status: closed').click()
      await page.waitForURL('**/tickets?orderBy=subject&orgId=3&priority.gte=4')
      await page.goBack()
      await page.waitForURL('**/tickets?orderBy=subject&orgId=3&status=closed&priority.gte=4')
      expect(await linkOf(page, 'Status: closed').getAttribute('aria-current')).toBe('true')
      await page.reload()
      await page.getByText('Priority from 4').waitFor()
    }))

  it('know today, the last seven days and this month, and empty values', () =>
    visit(async (page) => {
      const tickets = desk.database.records(Ticket)
      await tickets.updateWhere({ due: { isNull: false } }, { due: '2001-01-01' })
      for (const [id, due] of [
        [1, day(0)],
        [2, day(-6)],
        [3, day(-7)],
        [4, day(1)],
      ] as const)
        await tickets.update(id, { due })
      await page.setViewportSize({ width: 1600, height: 900 })
      await signIn(page, 'ann', '/admin/tickets')
      await linkOf(page, 'Due: Today').click()
      await rowsAre(page, '1 ticket')
      expect(new URL(page.url()).search).toBe('?due.period=today')
      await linkOf(page, 'Due: Last 7 days').click()
      await rowsAre(page, '2 tickets')
      await page.getByText('Due: Last 7 days', { exact: true }).first().waitFor()
      await linkOf(page, 'Due: Empty').click()
      await rowsAre(page, '6 tickets')
      await linkOf(page, 'Created at: Today').click()
      await page.waitForURL('**/tickets?due.isNull=true&createdAt.period=today')
      await rowsAre(page, '6 tickets')
      await buttonOf(page, 'Filter').click()
      await buttonOf(page.getByRole('form', { name: 'Filter' }), 'Apply').click()
      await page.waitForURL('**/tickets?due.isNull=true&createdAt.period=today')
      await page.goto(`${desk.app.url}/admin/tickets?due.period=month`)
      await page.getByText('Due: This month', { exact: true }).first().waitFor()
      const month = day(0).slice(0, 7)
      const due = [0, -6, -7, 1].filter((from) => day(from).startsWith(month)).length
      await rowsAre(page, `${due} ticket${due === 1 ? '' : 's'}`)
    }))

  it.each(displays)('pass axe, %s and %i pixels wide', (colorScheme, width) =>
    visit(async (page) => {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width: width > 1000 ? 1600 : width, height: 844 })
      await signIn(page, 'ann', '/admin/tickets?status=open')
      if (width < 1000) await page.getByText('Quick filters').click()
      await linkOf(page, 'Org: Kestrel Labs').waitFor()
      expect(await findProblems(page)).toEqual([])
      for (const one of await filters(page).getByRole('link').all())
        expect((await one.boundingBox())!.height).toBeGreaterThanOrEqual(24)
    }),
  )
})
