/** The bin of the admin page in a real Chromium. */
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { bootstrap, Database, type Application } from 'filigree'
import { BinDesk, Note } from '../admin/bin-desk.js'
import { findProblems } from './accessibility.js'
import { buttonOf, signInAs, statusOf, visitAdmin } from './admin-visit.js'

let app: Application
beforeAll(async () => {
  app = await bootstrap(BinDesk, {
    ...{ port: 0, host: '127.0.0.1', logger: false, env: {} },
    ...{ database: 'sqlite::memory:', auth: { cookie: true } },
  })
  for (const title of ['Milk', 'Bread', 'Salt'])
    await app.get(Database).records(Note).create({ title, owner: 'ann' })
})
afterAll(() => app.close())

it('deletes rows into the bin, and restores one and several', () =>
  visitAdmin(app, async (page) => {
    await signInAs(page, app, 'ann', '/admin/notes/1')
    await buttonOf(page, 'Delete').click()
    const dialog = page.getByRole('dialog', { name: 'Delete “Milk”?' })
    await dialog.getByText('It can be restored from the bin.').waitFor()
    await buttonOf(dialog, 'Delete').click()
    await statusOf(page, 'Note “Milk” was deleted.')
    await page.getByLabel('Select all').check()
    await buttonOf(page, 'Delete selected').click()
    await page.getByText('They can be restored from the bin.').waitFor()
    await buttonOf(page.getByRole('dialog'), 'Delete').click()
    await page.getByText('There is no note yet.').waitFor()
    await page.getByRole('link', { name: 'Bin' }).click()
    await page.getByRole('heading', { level: 1, name: 'Bin of notes' }).waitFor()
    await buttonOf(page, 'Restore Salt').waitFor()
    expect(await findProblems(page)).toEqual([])
    await page.setViewportSize({ width: 390, height: 844 })
    expect(await findProblems(page)).toEqual([])
    await buttonOf(page, 'Restore Milk').click()
    await statusOf(page, 'Milk restored.')
    await page.getByRole('checkbox', { name: 'Select Bread' }).check()
    await page.getByRole('checkbox', { name: 'Select Salt' }).check()
    await buttonOf(page, 'Restore selected').click()
    await statusOf(page, '2 notes restored.')
    await page.getByText('The bin is empty.').waitFor()
    expect(await app.get(Database).records(Note).count()).toBe(3)
    await page.goto(`${app.url}/admin/notes/1`)
    await buttonOf(page, 'History').click()
    await page.getByRole('region', { name: 'History' }).getByText('Restored').waitFor()
  }))
