/** Bundles by esbuild, with and without the original names of classes. Source: docs/recipes/one-file.md. */
import { rmSync } from 'node:fs'
import { afterEach, describe, expect, it } from '@jest/globals'
import { bundleProgram } from '../bundle-program.js'
import { runNode } from '../openapi/command.js'

let program = ''
afterEach(() => {
  rmSync(program, { force: true })
})

/** @returns the warnings of the start */
async function warningsOf(...options: readonly string[]): Promise<readonly string[]> {
  program = bundleProgram('bootstrap/fixtures/renamed', options)
  const { code, output } = await runNode(program)
  expect([code, output]).toEqual([0, expect.stringMatching(/^\[/)])
  return JSON.parse(output) as readonly string[]
}

describe('a bundle', () => {
  it.each([['--target=node20'], ['--target=es2022']])(
    'without names warns of renamed records and shapes: %s',
    async (target) => {
      const [warning, ...others] = await warningsOf(target)
      expect(others).toEqual([])
      expect(warning).toContain('Item2 (Item)')
      expect(warning).toContain('_Tree (Tree)')
      expect(warning).toContain('keepNames: true in esbuild')
    },
  )

  it.each([[['--keep-names']], [['--keep-names', '--minify']]])(
    'with names does not warn, also of names with a digit: %j',
    async (options) => {
      expect(await warningsOf(...options)).toEqual([])
    },
  )
})
