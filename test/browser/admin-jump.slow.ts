/** The jump dialog of the admin page in a real Chromium. */
import { describe, expect, it } from '@jest/globals'
import { displays, findProblems } from './accessibility.js'
import { buttonOf, isFocused, useDesk } from './admin-visit.js'

const desk = useDesk()
const { signIn, visit } = desk

describe('the jump dialog', () => {
  it('leads to lists, new rows and rows by keyboard alone, with one request for the rows', () =>
    visit(async (page) => {
      const requests: string[] = []
      page.on('request', (request) => {
        if (request.url().includes('/api/jump')) requests.push(request.url())
      })
      await signIn(page, 'ann')
      const { keyboard } = page
      const dialog = page.getByRole('dialog', { name: 'Jump to' })
      const box = dialog.getByRole('combobox', { name: 'Jump to' })
      await keyboard.press('Control+K')
      await box.waitFor()
      expect(await box.evaluate(isFocused)).toBe(true)
      await keyboard.type('devi')
      await dialog.getByRole('option', { name: 'Devices' }).waitFor()
      await keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Devices' }).waitFor()

      await keyboard.press('Meta+K')
      await box.waitFor()
      await keyboard.type('new org')
      await keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'New org' }).waitFor()

      requests.length = 0
      await keyboard.press('Control+K')
      await box.waitFor()
      await keyboard.type('kestrel')
      const row = dialog.getByRole('option', { name: 'Kestrel Labs Org' })
      await row.waitFor()
      expect(requests).toHaveLength(1)
      expect(await box.getAttribute('aria-activedescendant')).toBe(await row.getAttribute('id'))
      await keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Kestrel Labs' }).waitFor()

      await keyboard.press('Control+K')
      await box.waitFor()
      await keyboard.type('squeaks')
      await dialog.getByRole('option').nth(2).waitFor()
      await keyboard.press('ArrowDown')
      await keyboard.press('ArrowDown')
      await keyboard.press('ArrowUp')
      await keyboard.press('Enter')
      await page.getByRole('heading', { level: 1, name: 'Chair squeaks again (11)' }).waitFor()
    }))

  it('closes by Escape, says that nothing was found, and asks before a changed form is left', () =>
    visit(async (page) => {
      await signIn(page, 'ann', '/admin/tickets/2')
      await page.getByLabel('Subject').fill('Chair of mine')
      const dialog = page.getByRole('dialog', { name: 'Jump to' })
      await buttonOf(page, 'Jump to').click()
      await dialog.getByRole('combobox').fill('no such thing')
      await dialog.getByText('Nothing found').waitFor()
      await page.keyboard.press('Escape')
      await dialog.waitFor({ state: 'detached' })
      expect(await buttonOf(page, 'Jump to').evaluate(isFocused)).toBe(true)
      await page.keyboard.press('Control+K')
      await dialog.getByRole('option', { name: 'Labels Desk', exact: true }).click()
      await page.getByRole('dialog', { name: 'Leave without saving?' }).waitFor()
    }))

  it.each(displays)('passes axe, %s and %i pixels wide', (colorScheme, width) =>
    visit(async (page) => {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.setViewportSize({ width, height: 844 })
      await signIn(page, 'ann')
      await page.keyboard.press('Control+K')
      await page.getByRole('combobox', { name: 'Jump to' }).fill('la')
      await page.getByRole('option', { name: 'Kestrel Labs Org' }).waitFor()
      expect(await findProblems(page)).toEqual([])
    }),
  )
})
