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
