/** The built page of the GraphQL IDE in `client/ide/page` belongs to its sources. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { root } from './source-files.js'

it('the page of the GraphQL IDE is built from the present sources. Otherwise run: npm run ide', async () => {
  const module = join(root, 'client/ide/hash-sources.mjs')
  const { hashSources } = (await import(module)) as { hashSources: () => string }
  expect(readFileSync(join(root, 'client/ide/page/source.txt'), 'utf8').trim()).toBe(hashSources())
})
