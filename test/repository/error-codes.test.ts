import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { errorCodes } from '../../src/errors/error-codes.js'
import { readSources, root } from './source-files.js'

/** Upper-case names in the source that are not error codes. */
const foreign =
  /^(?:APP_[A-Z]+_KEY|APP_API_KEY|NODE_ENV|LOG_LEVEL|LOG_FORMAT|PUBLIC_URL$|FILIGREE_EDITOR$|DATABASE_DIRECT_URL$|DATABASE_REPLICAS$|HPE_|ERR_|SQLITE_|E[A-Z]+$)/

/** Codes of a status, which need no explanation. */
const ofStatus = [
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'NOT_FOUND',
  'NOT_ACCEPTABLE',
  'REQUEST_TIMEOUT',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'TOO_MANY_REQUESTS',
  'SERVICE_UNAVAILABLE',
]

/** The heading as the end of an address: `Routes and access` → `routes-and-access`. */
function toFragment(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-')
}

describe('the table of error codes', () => {
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8')
  // Names that end with an underscore are prefixes of variables.
  const onPage = new Set(
    [...page.matchAll(/`([A-Z]{2,}[A-Z_0-9]*)(?<!_)`/g)].map(([, name]) => name ?? ''),
  )
  const known = Object.keys(errorCodes)
  const sources = readSources('src')

  it('has every code of the sources', () => {
    const code = /'([A-Z]{2,}(?:_[A-Z]+)+)'/g
    const inSource = sources.flatMap(({ text }) =>
      [...text.matchAll(code)].map(([, name]) => name ?? '').filter((name) => !foreign.test(name)),
    )
    expect([...new Set(inSource)].filter((name) => !known.includes(name)).sort()).toEqual([])
  })

  it('has only codes that a source uses', () => {
    const others = sources.filter(({ path }) => !path.endsWith('errors/error-codes.ts'))
    const text = others.map((source) => source.text).join('\n')
    const unused = known.filter((name) => !text.includes(`'${name}'`) && !ofStatus.includes(name))
    // HttpError makes it from the status.
    expect(unused).toEqual(['METHOD_NOT_ALLOWED'].filter((name) => unused.includes(name)))
  })

  it('has the codes of docs/errors.md, and no others', () => {
    expect([...onPage].filter((name) => !known.includes(name)).sort()).toEqual([])
    const unexplained = known.filter((name) => !onPage.has(name) && !ofStatus.includes(name))
    expect(unexplained.sort()).toEqual([])
  })

  it('names the heading below which the page explains a code', () => {
    const headings = [...page.matchAll(/^##+ (.+)$/gm)]
    for (const [code, { page: address }] of Object.entries(errorCodes)) {
      if (ofStatus.includes(code)) continue
      const index = headings.findIndex(
        ([, text = '']) => address === `errors.md#${toFragment(text)}`,
      )
      expect([code, index]).not.toEqual([code, -1])
      const text = page.slice(headings[index]?.index, headings[index + 1]?.index)
      expect([code, text]).toEqual([code, expect.stringContaining(`\`${code}\``)])
    }
  })

  it('has the statuses with which the sources throw a code', () => {
    const thrown =
      /new HttpError\(\s*(\d{3}),(?:(?!new HttpError|\n\}|\n\n|\)\))[^])*?code: '([A-Z_]+)'/g
    for (const { text } of sources)
      for (const [, status, code = ''] of text.matchAll(thrown)) {
        const { statuses } = errorCodes[code as keyof typeof errorCodes]
        expect([code, statuses]).toEqual([code, expect.arrayContaining([Number(status)])])
      }
  })
})
