/** Creates the project of `docs/testing.md` and runs its tests with node:test, vitest and jest. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from '@jest/globals'
import { root } from '../repository/source-files.js'
import { readSteps, toPattern } from '../tutorial/pages.js'
import { Reader } from '../tutorial/reader.js'

const steps = readSteps(readFileSync(join(root, 'docs/testing.md'), 'utf8'))
const settings = {
  compilerOptions: {
    ...{ target: 'es2023', module: 'nodenext', lib: ['es2023', 'esnext.disposable', 'dom'] },
    ...{ types: ['node'], strict: true, skipLibCheck: true, experimentalDecorators: true },
  },
  include: ['src', 'test/*.ts'],
}

const hasBash = spawnSync('bash', ['--version']).status === 0
// The commands of the page need a shell.
const maybe = hasBash ? describe : describe.skip

maybe('the page of tests', () => {
  const reader = new Reader(0, {})
  afterAll(() => reader[Symbol.asyncDispose]())
  const write = (file: string, text: string): Promise<string> =>
    reader.follow({ kind: 'file', file, text, isCompleteFile: true })

  it('runs as the page shows it', async () => {
    await write('package.json', '{ "private": true, "type": "module" }')
    await write('tsconfig.json', JSON.stringify(settings))
    let commands = 0
    for (const step of steps) {
      const printed = await reader.follow(step)
      if (step.kind !== 'command') continue
      commands++
      // Without colours.
      const plain = printed.replace(/\u001b\[[\d;]*m/g, '')
      expect(`$ ${step.command}\n${plain}`).toMatch(toPattern(step.command, step.response))
    }
    expect(commands).toBe(4)
    expect(reader.checkTypes()).toBe('')
  })
})
