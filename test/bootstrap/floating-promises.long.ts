import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { afterAll, describe, expect, it } from '@jest/globals'
import {
  bootstrap,
  Controller,
  Field,
  Get,
  Module,
  NoAuth,
  reply,
  type RouteOptions,
} from '../../src/index.js'
import { bundleProgram } from '../bundle-program.js'
import { silentLog } from '../silent-log.js'

async function warningsOf(
  value: () => unknown,
  variables: Record<string, string> = {},
  options: RouteOptions = {},
) {
  @Controller
  class AnswerController {
    @Get('/answer', options)
    @NoAuth
    answer() {
      return value()
    }
  }
  @Module({ controllers: [AnswerController] })
  class AnswerModule {}

  const warnings: object[] = []
  const logger = { ...silentLog, warn: (details: object) => void warnings.push(details) }
  const app = await bootstrap(AnswerModule, {
    listen: false,
    logger,
    env: variables,
    auth: { keys: false },
  })
  for (let times = 0; times < 2; times++) {
    await app.inject({ url: '/answer' })
  }
  await app.close()
  return warnings
}

describe('a floating promise of a handler', () => {
  const promise = Promise.resolve(1)
  const circle: Record<string, unknown> = { toJSON: () => 1 }
  circle.circle = circle

  it.each([
    ['in an object', () => ({ owner: promise }), 'owner'],
    [
      'in a list of an async handler',
      async () => [{ a: 1 }, { owner: { name: promise } }],
      '1.owner.name',
    ],
    ['in a reply', () => reply({ owner: promise }), 'owner'],
  ])('is reported once with the route: %s', async (_where, value, path) => {
    const route = 'GET /answer (AnswerController.answer)'
    expect(await warningsOf(value)).toEqual([{ code: 'FORGOTTEN_AWAIT', route, path }])
  })

  it.each([
    ['text', () => 'text'],
    ['bytes', () => Buffer.alloc(10_000)],
    ['many rows', () => Array.from({ length: 5_000 }, () => ({ a: {} }))],
    ['a circle', () => circle],
  ])('is not reported for %s', async (_what, value) => {
    expect(await warningsOf(value)).toEqual([])
  })

  it.each([
    ['a Map', () => ({ items: new Map([[1, 2]]) }), 'items'],
    ['a Set in a list', () => [{ tags: new Set(['a']) }], '0.tags'],
    ['an Error', () => ({ failure: new TypeError('no') }), 'failure'],
    ['a RegExp', () => ({ pattern: /a/ }), 'pattern'],
    ['a FormData', () => ({ form: new FormData() }), 'form'],
    ['URLSearchParams', () => ({ query: new URLSearchParams('a=1') }), 'query'],
    ['Headers', () => ({ headers: new Headers() }), 'headers'],
    ['bytes', () => ({ content: new Uint8Array([1]) }), 'content'],
    ['a Buffer', () => ({ content: Buffer.from('a') }), 'content'],
    ['a Map as the whole result', () => new Map([[1, 2]]), ''],
    ['a Set in a reply', () => reply({ tags: new Set(['a']) }), 'tags'],
  ])(
    'JSON cannot hold %s: it is reported once with the route and the path',
    async (_what, value, path) => {
      const route = 'GET /answer (AnswerController.answer)'
      expect(await warningsOf(value)).toEqual([{ code: 'UNSENDABLE_VALUE', route, path }])
    },
  )

  it('bytes of a declared field are written by its kind', async () => {
    class Document {
      @Field('blob') content!: Uint8Array
    }
    const document = () => ({ content: new Uint8Array([1]) })
    expect(await warningsOf(document, {}, { returns: Document })).toEqual([])
    const withSet = () => ({ content: new Set([1]) })
    expect(await warningsOf(withSet, {}, { returns: Document })).toHaveLength(1)
  })

  it('is not looked for in production', async () => {
    const warnings = await warningsOf(() => ({ owner: promise }), { NODE_ENV: 'production' })
    expect(warnings).not.toContainEqual(expect.objectContaining({ code: 'FORGOTTEN_AWAIT' }))
  })

  const programs = ['failing', 'failing-elsewhere'].map((name) =>
    bundleProgram(`bootstrap/fixtures/${name}`),
  )
  afterAll(() => {
    for (const program of programs) rmSync(program)
  })
  const [failing = '', failingElsewhere = ''] = programs

  it.each([
    ['in development, however late', 'development', 1_100, true],
    ['where nothing says what the process is for', '', 0, true],
    ['there, but not behind a thousand requests', '', 1_100, false],
    ['not in production', 'production', 0, false],
  ])(
    'is reported with the route where it rejects unhandled: %s',
    async (_when, mode, first, isNamed) => {
      const { output, ended, address } = await startProgram(failing, mode)
      for (let count = 0; count < first; count += 100) await sendAtOnce(100, `${address}/quick`)
      await fetch(`${address}/reject-later`)
      expect(await ended).toEqual([1, null])
      expect(output()).toContain('a promise rejection was not handled')
      const named = 'not handled in GET /reject-later (FailingController.rejectAsync)'
      expect(output().includes(named)).toBe(isNamed)
    },
  )

  it('is reported with its origin: a GraphQL operation, a job', async () => {
    const begin = async (path: string): Promise<string> => {
      const { output, ended, address } = await startProgram(failingElsewhere, 'development')
      await fetch(`${address}${path}`)
      expect(await ended).toEqual([1, null])
      return output()
    }
    const warnings = await Promise.all(['/graphql?query={fail}', '/job'].map(begin))
    expect(warnings[0]).toContain('a promise rejection was not handled in GET /graphql,')
    expect(warnings[1]).toContain('a promise rejection was not handled in the job Work.fail,')
  })
})

async function sendAtOnce(count: number, url: string): Promise<void> {
  const send = async (): Promise<string> => (await fetch(url)).text()
  await Promise.all(Array.from({ length: count }, send))
}

async function startProgram(program: string, mode: string) {
  const child = spawn(process.execPath, [program], { env: { ...process.env, NODE_ENV: mode } })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  const ended = once(child, 'exit')
  while (!/^http.*$/m.test(output)) await once(child.stdout, 'data')
  const address = /^http.*$/m.exec(output)?.[0] ?? ''
  return { output: () => output, ended, address }
}
