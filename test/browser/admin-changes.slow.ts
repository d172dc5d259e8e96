/** The admin page in Chromium while other users change rows, and its history. */
import { describe, expect, it } from '@jest/globals'
import { Contract, Ticket } from '../admin/desk.js'
import { buttonOf, statusOf, useDesk } from './admin-visit.js'

const desk = useDesk()
const { signIn, visit } = desk

describe('the admin page', () => {
  it('stores the changes of two users to different fields, and asks again before it deletes a changed row', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/contracts/1')
      await page.getByLabel('Code').waitFor()
      await desk.database.records(Contract).update(1, { fee: '77.00' })
      await page.getByLabel('Code').fill('AB-1')
      await buttonOf(page, 'Save').click()
      await statusOf(page, 'was saved')
      expect(await desk.database.records(Contract).find(1)).toMatchObject({
        code: 'AB-1',
        fee: '77.00',
      })
      await desk.database.records(Contract).update(1, { fee: '78.00' })
      await buttonOf(page, 'Delete').click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await dialog.getByText('77.00 → 78.00').waitFor()
      await desk.database.records(Contract).delete(1)
      await dialog.getByRole('button', { name: 'Delete' }).click()
      await statusOf(page, 'was deleted meanwhile')
    }))

  it('reports that a row was deleted meanwhile, and keeps the input when a session has ended', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets/3')
      await page.getByLabel('Subject').fill('Typed before the end')
      await page.context().clearCookies()
      await buttonOf(page, 'Save').click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('ann')
      await dialog.getByLabel('Password').fill('right')
      await dialog.getByRole('button', { name: 'Sign in' }).click()
      await statusOf(page, 'Typed before the end” was saved')
      expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('eyJ')
      await desk.database.records(Ticket).delete(3)
      await page.getByLabel('Subject').fill('Too late')
      await buttonOf(page, 'Save').click()
      await page.getByRole('alert').filter({ hasText: 'deleted meanwhile' }).waitFor()
      expect(await page.getByLabel('Subject').inputValue()).toBe('Too late')
      expect(await desk.database.records(Ticket).find(3)).toBeNull()
    }))

  it('shows all changes with their users, and finds deleted rows', () =>
    visit(async (page) => {
      await desk.database.records(Ticket).update(2, { subject: 'Chair of the hall' })
      await desk.database.records(Ticket).update(2, { subject: 'Chair squeaks' })
      await desk.database.records(Ticket).delete(2)
      await desk.database.records(Ticket).update(1, { subject: 'Lamp of the hall' })
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

  it('updates rows that other users change, and marks them', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets')
      const listening = page.waitForResponse((response) => response.url().endsWith('/live'))
      await page.goto(`${desk.app.url}/admin/tickets`)
      await listening
      await desk.database.records(Ticket).update(1, { subject: 'Lamp of another user' })
      const row = page.getByRole('row').filter({ hasText: 'Lamp of another user' })
      await row.waitFor()
    }))
})
