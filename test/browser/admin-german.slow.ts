/** The admin page in German, in a real Chromium: no text of the page stays English, in any view, and dates and numbers are German. */
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Application } from 'filigree'
import type { Page } from 'playwright-core'
import { english } from '../../src/modules/admin/texts/english.js'
import { german } from '../../src/modules/admin/texts/german.js'
import { buttonOf, statusOf } from './admin-visit.js'
import { startLaboratory } from './laboratory.js'
import { withPage, type Visit } from './open-page.js'

let app: Application
afterEach(() => app.close())

type Forms = Readonly<Record<string, unknown>>

/** Texts with these names are words of the application too: its fields are called so. */
const ownWords: ReadonlySet<string> = new Set(['name'])

/** These follow the name of a field. */
const rules: ReadonlySet<string> = new Set(
  Object.keys(english).filter((name) => /^(?:required|notNull|must|at|least.+s|most)/.test(name)),
)

const formsOf = (text: unknown): string[] =>
  (typeof text === 'string' ? [text] : Object.values(text as Forms)).map((form) =>
    String(form).replaceAll('|lower', ''),
  )

/** A pattern for each English text that German writes in another way. */
const englishPatterns = Object.entries(english).flatMap(([name, text]) => {
  const other = new Set(formsOf(german[name as keyof typeof english]))
  if (ownWords.has(name)) return []
  return formsOf(text)
    .filter((form) => !other.has(form) && /[a-z]/i.test(form.replace(/\{\w+\}/g, '')))
    .map((form) => {
      const parts = form.split(/\{\w+\}/).map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      const start = rules.has(name) ? '(?:.+ )?' : ''
      return { name, pattern: new RegExp(`^${start}${parts.join('.+')}$`, 's') }
    })
})

/** All texts that people see or hear: text nodes, names, descriptions and the document's title. */
const readTexts = `(() => {
  const texts = [document.title]
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode())
    if (node.nodeType === 3) texts.push(node.data)
    else for (const name of ['aria-label', 'placeholder', 'title', 'alt']) texts.push(node.getAttribute(name) ?? '')
  return [...new Set(texts.map((text) => text.trim()))].filter((text) => text !== '')
})()`

/** The English texts that a view shows, with their names. */
async function englishIn(page: Page): Promise<string[]> {
  const texts = await page.evaluate<string[]>(readTexts)
  return texts.flatMap((text) => {
    const found = englishPatterns.find(({ pattern }) => pattern.test(text))
    return found === undefined ? [] : [`${found.name}: ${text}`]
  })
}

/** Opens the page in a browser whose language is German. */
async function visitInGerman(use: (page: Page) => Promise<void>): Promise<void> {
  app = await startLaboratory({ language: ['en', 'de'] })
  const check = async ({ page, errors, strangers }: Visit): Promise<void> => {
    page.setDefaultTimeout(20_000)
    await use(page)
    const failures = errors.filter((message) => !message.startsWith('Failed to load resource'))
    expect({ failures, strangers }).toEqual({ failures: [], strangers: [] })
  }
  await withPage(app.url, check, { locale: 'de-AT' })
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('1')
  await page.getByLabel('Password').fill('right')
  await buttonOf(page, 'Anmelden').click()
  await buttonOf(page, 'Abmelden').waitFor()
}

describe('the admin page in German', () => {
  it('shows no English text of its own in any view', () =>
    visitInGerman(async (page) => {
      const found: Record<string, string[]> = {}
      const examine = async (view: string, pattern = /./): Promise<void> => {
        const texts = (await englishIn(page)).filter((text) => pattern.test(text))
        if (texts.length > 0) found[view] = texts
      }
      const open = (path: string): Promise<unknown> => page.goto(`${app.url}/admin/${path}`)
      await open('')
      await page.getByLabel('Name').waitFor()
      await examine('sign-in')
      await buttonOf(page, 'Anmelden').click()
      await page.getByRole('alert').waitFor()
      await examine('sign-in with errors')
      await signIn(page)
      await examine('start')
      await open('nothing/at/all')
      await page.getByRole('heading', { name: 'Nicht gefunden' }).waitFor()
      await examine('nothing')

      await open('samples')
      await page.getByText('2 Samples', { exact: true }).waitFor()
      await examine('list')
      await buttonOf(page, 'Filtern').click()
      for (const select of await page.getByLabel('Bedingung').all())
        await select.selectOption({ index: 1 })
      await examine('filter')
      await buttonOf(page, 'Spalten').click()
      await examine('columns')
      await page.getByLabel('Alle auswählen').check()
      await statusOf(page, '2 Samples ausgewählt')
      await examine('selected rows')
      await buttonOf(page, 'Auswahl bearbeiten').click()
      await examine('edit many')
      await buttonOf(page, 'Speichern').click()
      await page.getByRole('alert').waitFor()
      await examine('edit many without a value')
      await page.getByRole('dialog').getByLabel('State').selectOption('done')
      await buttonOf(page, 'Vorschau').click()
      await page.getByRole('heading', { name: 'Vorschau' }).waitFor()
      await examine('preview')
      await buttonOf(page.getByRole('dialog'), 'Abbrechen').click()
      await buttonOf(page, 'Auswahl löschen').click()
      await examine('question before rows are deleted')
      const filters = 'state=waiting&mass.gte=1.5&mass.lte=9.5&title.ilike=%25x%25&place.ne=y'
      await open(`samples?${filters}&state.in=done&state.in=waiting&comment.isNull=true`)
      await page.getByText('Mass ab 1,5').waitFor()
      await examine('list with conditions and no rows')

      await open('samples/new')
      await page.getByLabel('Barcode').fill('many')
      await page.getByLabel('Mass').fill('much')
      await page.getByLabel('Place').fill('x')
      await buttonOf(page, 'Speichern').click()
      await page.getByRole('alert').waitFor()
      await examine('new row with errors')
      await open('samples/1')
      await page.getByLabel('Title').fill('Soil of mine')
      await buttonOf(page, 'Verlauf').click()
      await page.getByRole('region', { name: 'Verlauf' }).getByText('Angelegt').waitFor()
      await examine('row with its history')
      await buttonOf(page, 'Speichern').click()
      await statusOf(page, '„Soil of mine“ wurde gespeichert.')
      await examine('saved row')
      await buttonOf(page, 'Löschen').click()
      await examine('question before a row is deleted')
      await buttonOf(page, 'Abbrechen').click()
      await page.getByLabel('Title').fill('Soil again')
      await page.getByRole('link', { name: 'People' }).click()
      await page.getByRole('dialog', { name: 'Ohne Speichern verlassen?' }).waitFor()
      await examine('question before leaving')
      await open('findings/1')
      await page.getByText('Clear, without smell.').first().waitFor()
      await examine('row that is only read')
      await open('samples/999')
      await page.getByRole('alert').waitFor()
      await examine('missing row')
      await open('samples/history')
      await page.getByRole('table').waitFor()
      await examine('history of all rows')
      await open('samples/figures?figure=sum:mass&groupBy=takenAt:month')
      await page.getByRole('img').waitFor()
      await examine('figures')
      await open('samples/import')
      await buttonOf(page, 'Prüfen').click()
      await page.getByRole('alert').waitFor()
      await examine('import without a file')
      const buffer = Buffer.from('title\nx\n')
      const file = { name: 'samples.csv', mimeType: 'text/csv', buffer }
      await page.getByLabel('CSV-Datei').setInputFiles(file)
      await buttonOf(page, 'Prüfen').click()
      await page.getByRole('table', { name: 'Fehler' }).waitFor()
      // What is wrong with the cells is in the server's words.
      await examine('errors of an import', /^(?!required|must)/)
      await open('samples/2')
      await page.getByLabel('Title').fill('Water of mine')
      await page.context().clearCookies()
      await buttonOf(page, 'Speichern').click()
      await page.getByRole('dialog', { name: 'Erneut anmelden' }).waitFor()
      await examine('sign-in again')
      expect(found).toEqual({})
    }))

  it('has the language of the document, and dates and numbers of the browser’s own country', () =>
    visitInGerman(async (page) => {
      await page.goto(`${app.url}/admin/samples`)
      await signIn(page)
      await page.getByText('2 Samples', { exact: true }).waitFor()
      const root = page.locator('html')
      expect([await root.getAttribute('lang'), await root.getAttribute('dir')]).toEqual([
        'de',
        'ltr',
      ])
      const cells = await page.locator('tbody tr').first().locator('td').allTextContents()
      expect(cells).toContain('24.12.2026')
      expect(cells).toContain('120345,7500')
      await page.goto(`${app.url}/admin/samples/1`)
      const mass = page.getByLabel('Mass')
      expect(await mass.inputValue()).toBe('120345,7500')
      await mass.fill('7,25')
      await buttonOf(page, 'Speichern').click()
      await statusOf(page, 'wurde gespeichert.')
      expect(await mass.inputValue()).toBe('7,2500')
    }))

  it('is mirrored in a language that is written from right to left', async () => {
    app = await startLaboratory({ language: 'ar', texts: { ar: { signIn: 'دخول' } } })
    await withPage(app.url, async ({ page, errors }) => {
      await page.goto(`${app.url}/admin`)
      await page.getByLabel('Name').fill('1')
      await page.getByLabel('Password').fill('right')
      await buttonOf(page, 'دخول').click()
      const menu = (await page.getByRole('navigation').boundingBox())!
      expect(menu.x).toBeGreaterThan((await page.getByRole('main').boundingBox())!.x)
      expect(errors).toEqual([])
    })
  })
})
