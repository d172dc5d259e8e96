import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from '@jest/globals'

const root = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Type-checks a file as a page would: strict, with the DOM and without Node. An unused `@ts-expect-error` is an error.
 * TypeScript 7 is faster, and `npm run typecheck` checks the file with TypeScript 6.
 */
function typeCheck(file: string): string {
  const { stdout } = spawnSync(
    process.execPath,
    [
      'node_modules/typescript7/bin/tsc',
      '--ignoreConfig',
      '--noEmit',
      '--strict',
      '--noUncheckedIndexedAccess',
      '--verbatimModuleSyntax',
      ...['--target', 'es2023'],
      ...['--lib', 'es2023,dom'],
      ...['--module', 'nodenext'],
      file,
    ],
    { cwd: root, encoding: 'utf8' },
  )
  return stdout
}

describe('typed routes', () => {
  it('take right calls and refuse wrong ones', () => {
    expect(typeCheck('test/client/typed-routes.types.ts')).toBe('')
  })
})
