import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../openapi/command.js'
import { useFolder } from './run-in.js'

const desk = join(root, 'test/cli/desk.ts')
const { run } = useFolder()

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

  it('distinguishes open routes of records that show no rows without a sign-in', async () => {
    const { out } = await run('routes', desk)
    const lines = out.split('\n').map((line) => line.split(/ {2,}/))
    const wordsOf = (method: string, path: string) =>
      lines.find((line) => line[0] === method && line[1] === path)?.[3]
    for (const path of ['/drafts', '/drafts/aggregate', '/drafts/<id:int>'])
      expect(wordsOf('GET', path)).toBe('open, shows no rows without a sign-in')
    expect(wordsOf('GET', '/notes')).toBe('everybody')
    expect(wordsOf('POST', '/drafts')).toBe('any token')
    expect(out).toContain('Callers without a sign-in can read Note. ')
    expect(out).toContain('Open, shows no rows without a sign-in: Draft.')
    const listed = JSON.parse((await run('routes', desk, '--json')).out) as object[]
    expect(listed).toContainEqual(
      expect.objectContaining({
        ...{ method: 'GET', path: '/drafts', access: 'everybody' },
        words: 'open, shows no rows without a sign-in',
      }),
    )
  })

  it('omits internal routes', async () => {
    expect((await run('routes', desk)).out).not.toContain('/items/inside')
  })

  it('reports invalid paths of modules with their source lines', async () => {
    const { code, err } = await run('routes', join(root, 'test/cli/module-paths.ts'))
    expect(code).toBe(1)
    expect(err).toMatch(
      /metrics: path cannot be used\.\n.*module-paths\.ts:\d+:\d+\n.*\n.*\n.*path: 'metrics'/,
    )
    expect(err).toMatch(
      /health: path cannot be used\.\n.*module-paths\.ts:\d+:\d+\n.*\n.*\n.*path: '\/<a:integr>'/,
    )
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
