/** The saved views of the admin page's lists in a real Chromium. */
import { describe, expect, it } from '@jest/globals'
import type { Page } from 'playwright-core'
import { findProblems } from './accessibility.js'
import { buttonOf, statusOf, useDesk } from './admin-visit.js'

const desk = useDesk()
const { signIn, visit } = desk

async function saveAs(page: Page, name: string): Promise<void> {
  await buttonOf(page, 'Save view').click()
  const dialog = page.getByRole('dialog', { name: 'Save view' })
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByLabel('Name').press('Enter')
  await statusOf(page, `The view “${name}” was saved.`)
}

describe('the saved views of a list', () => {
  it('keep filter, search, order and columns for the account, in every browser', async () => {
    await visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets?status=waiting&orderBy=-priority')
      await page.getByText('10 tickets', { exact: true }).waitFor()
      await buttonOf(page, 'Columns').click()
      await page.getByRole('checkbox', { name: 'Due' }).uncheck()
      await page.getByRole('columnheader', { name: 'Due' }).waitFor({ state: 'detached' })
      await saveAs(page, 'Waiting')
      const view = page.getByRole('link', { name: 'Waiting', exact: true })
      expect(await view.getAttribute('aria-current')).toBe('true')
      expect(await findProblems(page)).toEqual([])
      await buttonOf(page, 'Remove Status: waiting').click()
      await page.getByText('30 tickets', { exact: true }).waitFor()
      expect(await view.getAttribute('aria-current')).toBe(null)
      expect(await buttonOf(page, 'Delete view').count()).toBe(0)
    })
    await visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets')
      await page.getByRole('columnheader', { name: 'Due' }).waitFor()
      await page.getByRole('link', { name: 'Waiting', exact: true }).click()
      await page.getByText('10 tickets', { exact: true }).waitFor()
      expect(await page.getByRole('columnheader', { name: 'Due' }).count()).toBe(0)
      const priority = page.getByRole('columnheader', { name: 'Priority' })
      expect(await priority.getAttribute('aria-sort')).toBe('descending')
      await page.getByRole('navigation').getByRole('link', { name: 'Tickets' }).click()
      await page.getByRole('columnheader', { name: 'Due' }).waitFor()
    })
    await visit(async (page) => {
      await signIn(page, 'bob', '/admin/tickets')
      await page.getByText('30 tickets', { exact: true }).waitFor()
      expect(await page.getByRole('link', { name: 'Waiting', exact: true }).count()).toBe(0)
    })
  })

  it('are renamed and deleted', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets?due.period=month')
      await page.getByText('Due: This month', { exact: true }).first().waitFor()
      await saveAs(page, 'Soon')
      await buttonOf(page, 'Rename view').click()
      const dialog = page.getByRole('dialog', { name: 'Rename view' })
      expect(await dialog.getByLabel('Name').inputValue()).toBe('Soon')
      await dialog.getByLabel('Name').fill('This month')
      expect(await findProblems(page)).toEqual([])
      await buttonOf(dialog, 'Save').click()
      await page.getByRole('list', { name: 'Saved views' }).getByText('This month').waitFor()
      await buttonOf(page, 'Delete view').click()
      await buttonOf(page.getByRole('dialog', { name: 'Delete “This month”?' }), 'Delete').click()
      await statusOf(page, 'The view “This month” was deleted.')
      expect(await page.getByRole('list', { name: 'Saved views' }).count()).toBe(0)
      await page.reload()
      await page.getByText('Due: This month', { exact: true }).first().waitFor()
      expect(await page.getByRole('list', { name: 'Saved views' }).count()).toBe(0)
    }))
})
