/** The languages of the admin page: which one a browser gets, the tables of texts, and what the start refuses. */
import { describe, expect, it } from '@jest/globals'
import { Field, Module, Record as Row, type DeclarationError } from 'filigree'
import { admin, type AdminOptions } from 'filigree/admin'
import { testApplication, type TestApplication } from 'filigree/testing'
import { kinds } from '../fields/compiled.js'
import { placeholdersOf } from '../../src/modules/admin/languages.js'
import { english, type TextName } from '../../src/modules/admin/texts/english.js'
import { german } from '../../src/modules/admin/texts/german.js'
import { OpenLogin } from './open-login.js'

@Row()
class Note {
  @Field('id') id!: number
  @Field('string') title!: string
}

function start(options: Partial<AdminOptions>): Promise<TestApplication> {
  const page = { path: '/admin', roles: 'clerk', records: [Note], login: { path: '/login' } }
  @Module({ controllers: [OpenLogin], imports: [admin({ ...page, ...options })] })
  class App {}
  return testApplication(App)
}

async function problemsOf(options: Partial<AdminOptions>): Promise<string[]> {
  const started = await start(options).catch((error: unknown) => error as DeclarationError)
  if ('problems' in started) return started.problems.map(({ message }) => message)
  await started.close()
  return []
}

/** The `html` element of the page, and the first text of its language. */
async function pageFor(app: TestApplication, language?: string): Promise<string[]> {
  const headers: Record<string, string> =
    language === undefined ? {} : { 'accept-language': language }
  const page = await app.anonymous.get('/admin', { headers })
  const { text, headers: sent } = await app.anonymous.get('/admin/assets/language.js', { headers })
  expect(page.headers.vary).toContain('Accept-Language')
  expect(sent.vary).toContain('Accept-Language')
  return [/<html[^>]*>/.exec(page.text)?.[0] ?? '', /"apply":"([^"]*)"/.exec(text)?.[1] ?? '']
}

describe('the language of the admin page', () => {
  it('is English by default', async () => {
    await using app = await start({})
    expect(await pageFor(app, 'de')).toEqual(['<html lang="en" dir="ltr">', 'Apply'])
  })

  it('is the one of the option for every browser', async () => {
    await using app = await start({ language: 'de' })
    const german = ['<html lang="de" dir="ltr">', 'Anwenden']
    expect([await pageFor(app), await pageFor(app, 'en')]).toEqual([german, german])
    expect((await app.anonymous.get('/admin')).text).toContain('Diese Seite braucht JavaScript.')
  })

  it.each([
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['fr;q=0.9, de;q=0.7, en;q=0.8', 'en'],
    ['en;q=0, de;q=0.1', 'de'],
    ['fr', 'en'],
    ['*', 'en'],
    [undefined, 'en'],
  ])('is the one that the browser prefers of several: %s → %s', async (header, expected) => {
    await using app = await start({ language: ['en', 'de'] })
    expect((await pageFor(app, header))[0]).toContain(`lang="${expected}"`)
  })

  it('takes texts of the application, and the direction of the language', async () => {
    const texts = { ar: { apply: 'تطبيق' }, de: { apply: 'Los' } }
    await using app = await start({ language: ['ar', 'de'], texts })
    expect(await pageFor(app, 'ar')).toEqual(['<html lang="ar" dir="rtl">', 'تطبيق'])
    expect(await pageFor(app, 'de')).toEqual(['<html lang="de" dir="ltr">', 'Los'])
    const { text } = await app.anonymous.get('/admin/assets/language.js')
    expect(text).toContain('"cancel":"Cancel"')
  })

  it('stops the start if it has no texts, or texts that the page does not have', async () => {
    expect(await problemsOf({ language: 'fr' })).toEqual(['admin: language "fr" has no texts.'])
    expect(await problemsOf({ language: 'Deutsch!' })).toHaveLength(1)
    expect(await problemsOf({ language: [] })).toHaveLength(1)
    expect(await problemsOf({ texts: { de: {} } })).toEqual([
      'admin: texts has "de", which is not a language of the page.',
    ])
    const texts = { en: { aply: 'Go', newRow: 'New {on}', save: 'Save {it}' } as object }
    expect(await problemsOf({ texts })).toEqual([
      'admin: texts.en names "aply", which is no text.',
      'admin: texts.en.newRow has the unknown value {on}.',
      'admin: texts.en.save has the unknown value {it}.',
    ])
  })
})

describe('the German texts', () => {
  it('have the values of the English ones', () => {
    for (const [name, text] of Object.entries(english)) {
      const names = [...placeholdersOf(german[name as TextName])]
      expect({ name, names: names.sort() }).toEqual({
        name,
        names: [...placeholdersOf(text)].sort(),
      })
    }
  })

  it('name the values of every control', () => {
    const controls = new Set(Object.values(kinds).map(({ presentation }) => presentation?.control))
    for (const control of controls)
      if (control !== undefined) expect(german.kinds).toHaveProperty(control)
  })
})
