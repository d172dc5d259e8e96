/** The layout of the admin page in a real Chromium: columns, headers, and what the caller may not change. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { Application } from 'filigree'
import type { Page } from 'playwright-core'
import { buttonOf, signInAs, visitAdmin } from './admin-visit.js'
import { startLaboratory } from './laboratory.js'

let app: Application
beforeAll(async () => {
  app = await startLaboratory()
})
afterAll(() => app.close())

/** Opens a view as the person with the key 1. */
const visit = (path: string, use: (page: Page) => Promise<void>): Promise<void> =>
  visitAdmin(app, async (page) => {
    await signInAs(page, app, '1', path)
    await use(page)
  })

/** The number of lines of each cell of the list, by column. */
const linesByColumn = `Object.groupBy([...document.querySelectorAll('tbody td[data-label]')].map((cell) => {
  const range = document.createRange()
  range.selectNodeContents(cell)
  const tops = [...range.getClientRects()].map(({ top, height }) => Math.round((top + height / 2) / 8))
  return [cell.dataset.label, new Set(tops).size]
}), ([label]) => label)`

describe('a list of the admin page', () => {
  it('never breaks numbers, dates and words of a choice, and gives titles room', () =>
    visit('/admin/samples', async (page) => {
      await page.getByRole('link', { name: /^Water/ }).waitFor()
      const found = await page.evaluate(linesByColumn)
      const lines = Object.fromEntries(
        Object.entries(found as Record<string, [string, number][]>).map(([label, cells]) => [
          label,
          Math.max(...cells.map(([, count]) => count)),
        ]),
      )
      expect(lines).toMatchObject({ State: 1, Barcode: 1, 'Taken at': 1, 'Due on': 1, Mass: 1 })
      const title = page.getByRole('link', { name: /^Water/ })
      expect((await title.boundingBox())!.width).toBeGreaterThan(160)
    }))

  it('cuts no header at 390 pixels', () =>
    visit('/admin/samples', async (page) => {
      await page.setViewportSize({ width: 390, height: 844 })
      await page.reload()
      await page.getByRole('link', { name: /^Water/ }).waitFor()
      for (const head of await page.locator('thead th').all()) {
        const { x, width } = (await head.boundingBox())!
        expect(x + width).toBeLessThanOrEqual(390)
        expect(await head.evaluate((node) => node.scrollWidth <= node.clientWidth)).toBe(true)
      }
    }))
})

describe('a row of the admin page', () => {
  it('has a text of 255 characters on one line, and a longer one on several', () =>
    visit('/admin/samples/1', async (page) => {
      const tag = (label: string): Promise<string> =>
        page.getByLabel(label).evaluate((node) => node.tagName)
      expect([await tag('Title'), await tag('Place')]).toEqual(['INPUT', 'TEXTAREA'])
    }))

  it('shows child rows that the caller may not write, and no inputs for them', () =>
    visit('/admin/samples/1', async (page) => {
      const findings = page.getByRole('region', { name: 'Findings' })
      await findings.getByRole('link', { name: 'Clear, without smell.' }).waitFor()
      expect(await findings.getByRole('textbox').count()).toBe(0)
      expect(await page.getByRole('group', { name: 'Findings' }).count()).toBe(0)
      expect(await buttonOf(page, 'Save').count()).toBe(1)
    }))

  it('names who is signed in', () =>
    visit('/admin', async (page) => {
      expect(await page.locator('header .who').textContent()).toBe('Ann Adams')
    }))
})
