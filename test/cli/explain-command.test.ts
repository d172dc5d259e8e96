import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { connect } from 'filigree'
import type { ExplainedOperation } from '../../src/cli/commands/explain-graphql.js'
import type { ExplainedRoute } from '../../src/cli/commands/explain-route.js'
import { root } from '../openapi/command.js'
import { startPostgres } from '../records/postgres-server.js'
import { Note } from './desk.js'
import { useFolder } from './run-in.js'

const desk = join(root, 'test/cli/desk.ts')
const place = useFolder()
const { run } = place

async function makeTables(url: string): Promise<void> {
  await using database = await connect({ url, records: [Note] })
  await database.sync()
}

describe('filigree explain', () => {
  const explain = async (...args: string[]) => {
    const { code, out } = await run('explain', ...args, '--module', desk, '--json')
    return { code, ...(JSON.parse(out) as ExplainedRoute) }
  }

  it('does not match internal routes', async () => {
    expect(await explain('GET', '/items/inside')).toMatchObject({
      handler: 'ItemController.byName',
    })
  })

  it('shows the matching route, and why similar routes do not match', async () => {
    expect(await explain('GET', '/items/new')).toMatchObject({
      code: 0,
      handler: 'ItemController.form',
      parameters: {},
      others: [
        { route: 'GET /items/<id:int> (ItemController.show)', reason: '"new" is not of type int' },
        {
          route: 'GET /items/<name> (ItemController.byName)',
          reason: '"new" is more specific than <name>',
        },
        {
          route: 'GET /items/report (ItemController.report)',
          reason: 'requires "report" in place of "new"',
        },
      ],
    })
    expect(await explain('/items/7?x=1')).toMatchObject({
      handler: 'ItemController.show',
      parameters: { id: 7 },
    })
  })

  it('shows why no route matches', async () => {
    expect(await explain('DELETE', '/items/new')).toMatchObject({
      code: 1,
      handler: null,
      answer: '405: the methods of this path are GET, HEAD',
    })
    const { nearest, ...missing } = await explain('GET', '/itms/new')
    expect(missing).toMatchObject({ code: 1, answer: '404: no route has this path', others: [] })
    expect(nearest?.[0]).toBe('GET /items/new')
    expect((await explain('HEAD', '/graphq')).nearest).toContain('GET /graphql')
    const { out } = await run('explain', 'GET', '/itms/new', '--module', desk)
    expect(out).toMatch(/^GET \/itms\/new → 404: .*\n\nNearest routes:\n {2}GET \/items\/new\n/)
    expect((await explain('GET /itms/new')).nearest?.[0]).toBe('GET /items/new')
    expect((await explain('DELETE', '/items/new')).nearest).toBeUndefined()
  })

  it('lists the steps before the handler, in order', async () => {
    const { steps } = await explain('POST', '/items')
    expect(steps).toEqual([
      { step: 'around the gate', what: expect.stringContaining('WithCounts') },
      { step: 'gate', what: 'any token; 401: there is no token' },
      {
        step: 'body',
        what: 'NewItem { name, price? }; unknown keys: refuse; at most 1048576 bytes',
      },
      { step: 'handler', what: 'ItemController.add(body)' },
    ])
  })

  it('shows the result of the gate for a caller', async () => {
    const gate = async (claims: object, ...request: string[]) => {
      const { steps } = await explain(...request, '--as', JSON.stringify(claims))
      return steps.find(({ step }) => step === 'gate')?.what
    }
    expect(await gate({ sub: '7', roles: ['admin'] }, 'GET', '/items/report')).toBe(
      'role admin or auditor; let in',
    )
    expect(await gate({ sub: '7' }, 'GET', '/items/report')).toBe(
      'role admin or auditor; 403: needs role admin or auditor, has none',
    )
    expect(await gate({ sub: '7' }, 'DELETE', '/notes/1')).toBe(
      'role editor; 403: needs role editor, has none',
    )
  })

  it('shows the access rules of a record, and the rows of a caller', async () => {
    const { steps } = await explain('DELETE', '/notes/1', '--as', '{"sub":"7","roles":["editor"]}')
    expect(steps).toContainEqual({
      step: 'rights',
      what: 'Note is written by role editor; let in',
    })
    const rowsOf = async (...args: string[]) => {
      const { steps: all } = await explain('GET', '/drafts', ...args)
      return all.find(({ step }) => step === 'rows')?.what
    }
    expect(await rowsOf('--as', '{"sub":"7"}')).toBe('where {"owner":"7"}')
    expect(await rowsOf()).toBe('none')
    expect(await rowsOf('--as', '{}')).toMatch(
      /^none: Draft: rows returned a filter whose owner is undefined/,
    )
  })

  it('shows the cost of a GraphQL operation, who can run it, and its SQL', async () => {
    const explainQuery = async (...args: string[]) => {
      const { code, out, err } = await run('explain', ...args, '--module', desk, '--json')
      return { code, err, ...(JSON.parse(out) as ExplainedOperation) }
    }
    const query = await explainQuery('query Notes { notes { id } }')
    expect(query).toMatchObject({ code: 0, operation: 'query Notes at /graphql', limit: 5000 })
    expect(query.cost).toBeGreaterThan(1)
    expect(query.statements).toEqual([
      {
        sql: expect.stringMatching(/^select .* from "note"/),
        plan: expect.anything(),
        scans: [],
        advice: [],
      },
    ])
    const mutation = await explainQuery('mutation { deleteNote(id: 1) }', '--as', '{"sub":"7"}')
    expect(mutation).toMatchObject({
      ...{ code: 0, statements: [], note: expect.stringContaining('not run') },
      gate: ['deleteNote: role editor; 403: needs role editor, has none'],
    })
    const wrong = await explainQuery('{ nots { id } }')
    expect(wrong).toMatchObject({
      ...{ code: 1, errors: [expect.stringContaining('nots')] },
      err: expect.stringMatching(/^Cannot query field "nots".*\n$/),
    })
    const text = await run('explain', '{ nots { id } }', '--module', desk)
    expect(text).toMatchObject({ code: 1, out: '', err: wrong.err })
  })

  it('runs a query read-only, and creates no file', async () => {
    const before = process.env.DATABASE_URL
    const server = await startPostgres()
    const steps: string[] = []
    const heard = (event: unknown): void => {
      const { kind, sql } = event as { readonly kind: string; readonly sql: string }
      if (kind !== 'UNKNOWN') steps.push(kind === 'SCRIPT' ? sql : kind)
    }
    subscribe('filigree:statement', heard)
    const explained = async (url: string): Promise<ExplainedOperation> => {
      process.env.DATABASE_URL = url
      steps.length = 0
      const { out, err } = await run('explain', '{ notes { id } }', '--module', desk, '--json')
      expect(err).toBe('')
      return JSON.parse(out) as ExplainedOperation
    }
    try {
      const url = await server.createDatabase()
      await makeTables(url)
      expect(await explained(url)).toMatchObject({
        statements: [{ sql: expect.stringContaining('from "note"') }],
        errors: [],
        note: expect.stringContaining('read-only transaction, which was rolled back'),
      })
      const from = steps.indexOf('BEGIN')
      expect(steps.slice(from, from + 4)).toEqual([
        ...['BEGIN', 'set transaction read only', 'SELECT', 'ROLLBACK'],
      ])
      const file = join(place.folder, 'none.db')
      expect((await explained(`sqlite:${file}`)).statements).toHaveLength(1)
      await expect(stat(file)).rejects.toThrow('ENOENT')
      await makeTables(`sqlite:${file}`)
      const { mtimeMs } = await stat(file)
      expect(await explained(`sqlite:${file}`)).toMatchObject({ statements: [{}], errors: [] })
      expect((await stat(file)).mtimeMs).toBe(mtimeMs)
    } finally {
      unsubscribe('filigree:statement', heard)
      if (before === undefined) delete process.env.DATABASE_URL
      else process.env.DATABASE_URL = before
      await server.close()
    }
  })

  it('prints the same as text', async () => {
    const { out } = await run('explain', 'GET', '/items/7', '--module', desk)
    expect(out).toContain('GET /items/7 → ItemController.show')
    expect(out).toContain('Not these:')
  })
})
