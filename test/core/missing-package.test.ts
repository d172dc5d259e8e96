/** The error for an optional package that cannot be loaded. */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { missingPackage } from '../../src/index.js'
import { installCommand } from '../../src/errors/missing-package.js'

const folder = mkdtempSync(join(tmpdir(), 'filigree-packages-'))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

/** The errors that importing each package really throws, by package name. */
let thrown: Record<string, { code?: string; message: string }>

beforeAll(async () => {
  const packages = {
    '@a/throws': 'throw new Error("It wants another day.\\nAnd more")',
    '@a/broken': 'export const = 1',
    '@a/lacks': 'import "not-there"',
    '@a/file': 'import "./gone.js"',
  }
  for (const [name, text] of Object.entries(packages)) {
    const directory = join(folder, 'node_modules', name)
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, 'package.json'), '{"type":"module","exports":"./index.js"}')
    writeFileSync(join(directory, 'index.js'), text)
  }
  const names = JSON.stringify([...Object.keys(packages), '@a/none', 'none'])
  writeFileSync(
    join(folder, 'try.mjs'),
    `const thrown = {}
for (const name of ${names})
  await import(name).catch(({ code, message }) => (thrown[name] = { code, message }))
console.log(JSON.stringify(thrown))`,
  )
  const { stdout } = await promisify(execFile)(process.execPath, [join(folder, 'try.mjs')])
  thrown = JSON.parse(stdout) as typeof thrown
})

it.each([
  ['@a/none', 'It is missing. Install it.'],
  ['none', 'It is missing. Install it.'],
  ['@a/throws', 'cannot be loaded: It wants another day. '],
  ['@a/broken', 'cannot be loaded: Unexpected token'],
  ['@a/lacks', "cannot be loaded: Cannot find package 'not-there'"],
  ['@a/file', 'cannot be loaded: Cannot find module'],
])('explains why %s cannot be loaded', (name, expected) => {
  const cause = thrown[name]
  const missing = { name, code: 'X_MISSING', message: 'It is missing.', remedy: 'Install it.' }
  const error = missingPackage(missing, cause)
  expect(error.message.replace(/\s+/g, ' ')).toContain(expected)
  expect(error.problems[0]?.code).toBe('X_MISSING')
  expect(error.cause).toBe(cause)
})

it.each([
  ['npm install pg', { node: '22.0.0' }],
  ['bun add pg', { node: '22.0.0', bun: '1.3.0' }],
  ['deno add npm:pg', { node: '22.0.0', deno: '2.5.0' }],
])('is installed with %s in that runtime', (command, versions) => {
  expect(installCommand('pg', versions)).toBe(command)
})
