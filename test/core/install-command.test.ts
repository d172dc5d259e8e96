import { expect, it } from '@jest/globals'
import { installCommand } from '../../src/errors/missing-package.js'

it.each([
  ['npm install pg', { node: '22.0.0' }],
  ['bun add pg', { node: '22.0.0', bun: '1.3.0' }],
  ['deno add npm:pg', { node: '22.0.0', deno: '2.5.0' }],
])('is %s in that runtime', (command, versions) => {
  expect(installCommand('pg', versions)).toBe(command)
})
