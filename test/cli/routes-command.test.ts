import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { root } from '../openapi/command.js'
import { runIn, type Outcome } from './run-in.js'

const desk = join(root, 'test/cli/desk.ts')
let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'filigree-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const run = (...args: string[]): Promise<Outcome> => runIn(folder, args)

describe('filigree routes', () => {
  it('lists the routes, and who can call them', async () => {
    const { code, out, err } = await run('routes', desk)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const lines = out.split('\n').map((line) => line.split(/ {2,}/))
    expect(lines).toContainEqual([
      'GET',
      '/items/report',
      'ItemController.report',
      'role admin or auditor',
    ])
    expect(lines).toContainEqual(['POST', '/items', 'ItemController.add', 'any token'])
    expect(lines).toContainEqual(['POST', '/items/hook', 'ItemController.hook', 'everybody'])
    expect(lines).toContainEqual(['DELETE', '/notes/<id:int>', expect.anything(), 'role editor'])
    expect(lines).toContainEqual(['POST', '/graphql', 'GraphQL: mutations', 'any token'])
  })

  it('omits internal routes', async () => {
    expect((await run('routes', desk)).out).not.toContain('/items/inside')
  })

  it('writes one JSON value alone with --json', async () => {
    const { out } = await run('routes', desk, '--json')
    expect(JSON.parse(out)).toContainEqual({
      method: 'GET',
      path: '/items/report',
      name: 'ItemController.report',
      access: 'roles',
      roles: ['admin', 'auditor'],
      words: 'role admin or auditor',
      of: 'application',
    })
  })
})
