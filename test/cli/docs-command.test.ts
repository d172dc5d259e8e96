import { describe, expect, it } from '@jest/globals'
import { runIn, type Outcome } from './run-in.js'

const run = (...args: string[]): Promise<Outcome> => runIn(process.cwd(), ['docs', ...args])

describe('filigree docs', () => {
  it('lists the pages with their titles, without those for maintainers', async () => {
    const { code, out, err } = await run()
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^records +Records: tables from classes$/m)
    expect(out).toMatch(/^tutorial\/01-first-route +1\. A first route$/m)
    expect(out).not.toContain('maintainers')
    expect(JSON.parse((await run('--json')).out)).toContainEqual({
      page: 'records',
      title: 'Records: tables from classes',
    })
  })

  it.each(['records', 'records/README.md', 'docs/records/README.md'])(
    'prints the page %s',
    async (page) => {
      const { code, out } = await run(page)
      expect(code).toBe(0)
      expect(out).toMatch(/^# Records: tables from classes\n/)
    },
  )

  it('suggests a similar page', async () => {
    const { code, out, err } = await run('recods')
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(
      'there is no page "recods", and no page has these words. Did you mean "records"?',
    )
  })

  it.each([
    ['csrf', 'authentication'],
    ['multi tenant', 'recipes/many-customers'],
    ['N+1', 'records/relations'],
    ['migrate rename', 'records/migrations'],
    ['2fa', 'recipes/second-factor'],
    ['pagination', 'records/queries'],
    ['postgresql', 'records/postgresql-in-production'],
    ['seed', 'recipes/first-data'],
    ['maximum body size', 'configuration'],
  ])('finds the guide for %p', async (words, page) => {
    const { code, out } = await run(...words.split(' '), '--json')
    expect(code).toBe(0)
    const pages = (JSON.parse(out) as { page: string }[]).map((result) => result.page)
    expect(pages.slice(0, 3)).toContain(page)
  })

  it('prints results with their headings, and a page without its folder', async () => {
    const { out } = await run('pagination')
    expect(out).toMatch(/^records\/queries +Records: queries/)
    expect(out).toContain('To read a page: filigree docs records/queries')
    expect((await run('many-customers')).out).toMatch(/^# Many customers/)
  })

  it('reads only its pages', async () => {
    expect((await run('../package')).code).toBe(2)
    expect((await run('maintainers/README')).code).toBe(2)
  })
})
