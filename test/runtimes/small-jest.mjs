/**
 * The part of Jest that the contract suites use, for runtimes on which Jest does not run: `describe`, `it`, `each`, hooks,
 * and Jest's own `expect`. Suites are collected when their file is loaded, and run by `runSuites`.
 */
import { createRequire } from 'node:module'
import { format } from 'node:util'

// Runtimes differ in the named exports of a CommonJS package.
const { expect } = createRequire(import.meta.url)('expect')
export { expect }

const root = block('', undefined)
let current = root

function block(name, parent) {
  return {
    name,
    parent,
    blocks: [],
    tests: [],
    before: [],
    after: [],
    beforeEach: [],
    afterEach: [],
  }
}

export function describe(name, define) {
  const suite = block(name, current)
  current.blocks.push(suite)
  current = suite
  define()
  current = suite.parent
}

export function it(name, run) {
  current.tests.push({ name, run })
}

it.each = eachOf(it)
it.skip = () => undefined
describe.each = eachOf(describe)
describe.skip = () => undefined
export const test = it

function eachOf(declare) {
  return (rows) => (name, run) => {
    for (const row of rows) {
      const values = Array.isArray(row) ? row : [row]
      const places = (name.match(/%[sjdop]/g) ?? []).length
      declare(format(name, ...values.slice(0, places)), () => run(...values))
    }
  }
}

const keep = (kind) => (run) => void current[kind].push(run)
export const beforeAll = keep('before')
export const afterAll = keep('after')
export const beforeEach = keep('beforeEach')
export const afterEach = keep('afterEach')

/** @returns the number of passed tests, and the failures */
export async function runSuites() {
  const result = { passed: 0, failed: [] }
  await runBlock(root, [], result)
  return result
}

async function runBlock(one, trail, result) {
  const all = [...trail, one]
  try {
    for (const run of one.before) await run()
    for (const { name, run } of one.tests) await runTest(all, name, run, result)
    for (const inner of one.blocks) await runBlock(inner, all, result)
    for (const run of one.after) await run()
  } catch (error) {
    result.failed.push({ name: nameOf(all, '(before or after)'), error })
  }
}

async function runTest(all, name, run, result) {
  try {
    for (const { beforeEach } of all) for (const before of beforeEach) await before()
    await run()
    result.passed++
  } catch (error) {
    result.failed.push({ name: nameOf(all, name), error })
  }
  for (const { afterEach } of all.toReversed()) for (const after of afterEach) await after()
}

function nameOf(all, name) {
  return [...all.map((one) => one.name), name].filter(Boolean).join(' › ')
}
