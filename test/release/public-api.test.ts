import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { comparePublicApis, readPublicApi } from './public-api.js'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'filigree-face-'))
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

function release(version: string, texts: Readonly<Record<string, string>>): string {
  const place = join(folder, version)
  mkdirSync(place)
  const entries = Object.keys(texts).map((name) => [
    name === 'index' ? '.' : `./${name}`,
    { types: `./${name}.d.ts` },
  ])
  const exports = Object.fromEntries(entries) as unknown
  writeFileSync(join(place, 'package.json'), JSON.stringify({ name: 'shelf', version, exports }))
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(place, `${name}.d.ts`), text)
  return place
}

describe('the declarations of two releases', () => {
  it('are compared name by name without comments', () => {
    const before = release('1.0.0', {
      index:
        'export declare function open(path: string): void\nexport interface Shelf { size: number }\nexport declare const kept: 1',
      book: 'export declare class Book {}',
    })
    const now = release('1.1.0', {
      index:
        '/** Opens. */\nexport declare function open(path: string, mode?: number): void\n/** One. */\nexport declare const kept: 1\nexport type Size = number',
    })
    expect(comparePublicApis(readPublicApi(before), readPublicApi(now))).toEqual({
      removed: ['shelf Shelf', 'shelf/book Book'],
      changed: ['shelf open'],
      added: ['shelf Size'],
    })
  })
})
