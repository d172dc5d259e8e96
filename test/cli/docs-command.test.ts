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
    expect(err).toContain('there is no page "recods". Did you mean "records"?')
  })

  it('reads only its pages', async () => {
    expect((await run('../package')).code).toBe(2)
    expect((await run('maintainers/README')).code).toBe(2)
  })
})
