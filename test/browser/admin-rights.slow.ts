/** The admin page in Chromium for users with few rights. */
import { describe, expect, it } from '@jest/globals'
import { Ticket } from '../admin/desk.js'
import { buttonOf, statusOf, useDesk } from './admin-visit.js'

const desk = useDesk()
const { signIn, visit } = desk

describe('the admin page', () => {
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
      for (const name of ['Save', 'Delete']) expect(await buttonOf(page, name).count()).toBe(0)
      await page.goto(`${desk.app.url}/admin/plans/new`)
      await page.getByRole('alert').filter({ hasText: 'no such plan' }).waitFor()

      for (let count = 0; count < 60; count++)
        await desk.database.records(Ticket).update(1, { subject: `Lamp ${count}` })
      await page.goto(`${desk.app.url}/admin/tickets/1`)
      await buttonOf(page, 'History').click()
      const history = page.getByRole('region', { name: 'History' })
      await history.getByText('Lamp 59').first().waitFor()
      expect(await history.getByText('Created', { exact: true }).count()).toBe(0)
      await history.getByRole('button', { name: 'Earlier' }).click()
      await history.getByText('Created', { exact: true }).waitFor()
      expect(await history.getByRole('button', { name: 'Earlier' }).count()).toBe(0)
      expect(await history.getByRole('row').filter({ hasText: 'Lamp' }).count()).toBe(61)
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
      await page.goto(`${desk.app.url}/admin/tickets`)
      await page.getByRole('link', { name: 'Chair squeaks', exact: true }).waitFor()
      expect(await page.getByRole('checkbox').count()).toBe(0)
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
      await buttonOf(page, 'Filter').click()
      await look()
      await buttonOf(page, 'Columns').click()
      await look()
      await page.getByRole('link', { name: 'Chair squeaks', exact: true }).click()
      await page.getByLabel('Subject').fill('Chair of an editor')
      await buttonOf(page, 'Save').click()
      await statusOf(page, 'was saved')
      await buttonOf(page, 'History').click()
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
        await page.goto(`${desk.app.url}/admin/${path}`)
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
})
