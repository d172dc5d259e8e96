import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { readSources, root } from './source-files.js'

/** Upper-case names in the source that are not error codes. */
const foreign =
  /^(?:APP_[A-Z]+_KEY|APP_API_KEY|NODE_ENV|LOG_LEVEL|PUBLIC_URL$|FILIGREE_EDITOR$|DATABASE_DIRECT_URL$|DATABASE_REPLICAS$|HPE_|ERR_|SQLITE_|E[A-Z]+$)/

/** Codes that the pattern does not find: HttpError makes them from a status, or they have no underscore. */
const plain = [
  'VALIDATION',
  'CONFLICT',
  'UNAUTHORIZED',
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'INVALID_UTF8',
]

describe('the codes of errors', () => {
  const code = /'([A-Z]{2,}(?:_[A-Z]+)+)'/g
  const inSource = new Set(
    readSources('src').flatMap(({ text }) =>
      [...text.matchAll(code)].map(([, name]) => name ?? '').filter((name) => !foreign.test(name)),
    ),
  )
  const page = readFileSync(join(root, 'docs/errors.md'), 'utf8')
  // Names that end with an underscore are prefixes of variables.
  const onPage = new Set(
    [...page.matchAll(/`([A-Z]{2,}[A-Z_0-9]*)(?<!_)`/g)].map(([, name]) => name ?? ''),
  )

  it('are all explained in docs/errors.md', () => {
    expect([...inSource].filter((name) => !onPage.has(name)).sort()).toEqual([])
  })

  it('are explained only where they exist', () => {
    const validCodes = new Set([...inSource, ...plain])
    expect([...onPage].filter((name) => !validCodes.has(name)).sort()).toEqual([])
  })
})
