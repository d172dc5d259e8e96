/** Root fields with plans, tested with a planner that returns fixed texts. */
import { describe, expect, it } from '@jest/globals'
import { GraphQL, HttpError } from 'filigree'
import type { BuiltSchema } from '../../src/graphql/build-schema.js'
import { defaultAccess, Executor } from '../../src/graphql/executor.js'
import type { Outcome } from '../../src/graphql/outcome.js'
import { limitOptions } from '../../src/graphql/limits.js'
import { RefusedDocument } from '../../src/graphql/operations.js'
import {
  PlanningFailure,
  unplannable,
  type PlanRequest,
  type RootPlan,
} from '../../src/graphql/planner-contract.js'

const { schema } = new GraphQL()
const log: string[] = []
const resolve = (name: string, value: unknown) => () => {
  log.push(name)
  return value
}
schema
  .addType('Item', { id: 'ID!', name: 'String' })
  .addQuery('planned', {
    type: 'Item',
    args: { id: 'ID' },
    resolve: resolve('planned', { id: 0, name: 'resolved' }),
  })
  .addQuery('required', { type: 'Int!', resolve: resolve('required', 1) })
  .addQuery('own', { type: 'Int', resolve: resolve('own', 7) })
  .addQuery('ownRequired', { type: 'Int!', resolve: resolve('ownRequired', null) })
  .addMutation('write', { type: 'Int', args: { n: 'Int' }, resolve: resolve('write', 1) })
  .addMutation('ownWrite', { type: 'Int', resolve: resolve('ownWrite', 2) })

interface Run {
  readonly requests: PlanRequest[]
  readonly outcome: (query: string, variables?: Record<string, unknown>) => Promise<Outcome>
}

/** @param run returns the result of a plan; `unplanned` fields have no plan */
function plannedBy(
  run: RootPlan['run'],
  unplanned: readonly string[] = ['own', 'ownRequired', 'ownWrite'],
): Run {
  const requests: PlanRequest[] = []
  log.length = 0
  const built: BuiltSchema = {
    schema: schema.build().schema,
    planner: {
      plan: (request) => {
        if (unplanned.includes(request.field.name)) return unplannable('It has a resolver.')
        requests.push(request)
        return {
          kind: 'plan',
          run: (context, variables) => {
            log.push(`plan ${request.field.name}`)
            return run(context, variables)
          },
        }
      },
    },
  }
  const executor = new Executor({ built, limits: limitOptions.read({}), cacheBytes: 1_000_000 })
  return {
    requests,
    outcome: async (query, variables = {}) => {
      const operation = executor.find(query, undefined)
      if (operation instanceof RefusedDocument) throw operation.errors[0] ?? new Error('refused')
      return await executor.run(operation, variables, undefined, defaultAccess)
    },
  }
}

describe('root fields with plans', () => {
  it('return their text unchanged, in the order and under the keys of the operation', async () => {
    const { outcome } = plannedBy(() => '{"id":"1" , "name":1e400}')
    const { text, errors } = await outcome('{ b: planned { id name } a: planned { id } }')
    expect(text).toBe('{"b":{"id":"1" , "name":1e400},"a":{"id":"1" , "name":1e400}}')
    expect(errors).toBeUndefined()
    expect(log).toEqual(['plan planned', 'plan planned'])
  })

  it('may be asynchronous', async () => {
    const { outcome } = plannedBy(() => Promise.resolve('1'))
    expect((await outcome('{ required planned { id } }')).text).toBe('{"required":1,"planned":1}')
  })

  it('run among fields that graphql-js runs', async () => {
    const { outcome } = plannedBy(() => '9')
    const { text } = await outcome('{ __typename own planned { id } other: own }')
    expect(text).toBe('{"__typename":"Query","own":7,"planned":9,"other":7}')
  })

  it('receive the coerced variables, with defaults', async () => {
    const plannedCalls: unknown[] = []
    const { outcome } = plannedBy((_context, variables) => {
      plannedCalls.push({ ...variables })
      return 'null'
    })
    await outcome(
      'query ($id: ID, $n: ID = "d") { a: planned(id: $id) { id } b: planned(id: $n) { id } }',
      { id: 5 },
    )
    expect(plannedCalls).toEqual([
      { id: '5', n: 'd' },
      { id: '5', n: 'd' },
    ])
  })

  it('are planned once for each combination of conditions', async () => {
    const { outcome, requests } = plannedBy(() => '1')
    const query =
      'query ($s: Boolean!, $i: Boolean = true) { planned { ...F } required @skip(if: $s) } fragment F on Item { id name @include(if: $i) }'
    expect((await outcome(query, { s: false })).text).toBe('{"planned":1,"required":1}')
    expect((await outcome(query, { s: false })).text).toBe('{"planned":1,"required":1}')
    expect((await outcome(query, { s: true })).text).toBe('{"planned":1}')
    expect((await outcome(query, { s: true, i: false })).text).toBe('{"planned":1}')
    expect(requests.map(({ field, conditions }) => [field.name, conditions])).toEqual([
      ['planned', { i: true, s: false }],
      ['required', { i: true, s: false }],
      ['planned', { i: true, s: true }],
      ['planned', { i: false, s: true }],
    ])
  })

  it('receive all nodes that share a response key', async () => {
    const { outcome, requests } = plannedBy(() => '1')
    const { text } = await outcome(
      '{ planned { id } ...F ... on Query { planned { id } } } fragment F on Query { planned { name } }',
    )
    expect(text).toBe('{"planned":1}')
    expect(requests.map(({ nodes }) => nodes.length)).toEqual([3])
  })

  it('let resolvers run a field with a reason', async () => {
    const { outcome } = plannedBy(() => unplannable('A guard must be awaited.'))
    const { text } = await outcome('{ a: planned { name } own }')
    expect(text).toBe('{"a":{"name":"resolved"},"own":7}')
    expect(log).toEqual(['plan planned', 'planned', 'own'])
  })

  it.each<[string, () => string | Promise<string>]>([
    [
      'synchronously',
      () => {
        throw new HttpError(404, 'gone')
      },
    ],
    ['asynchronously', () => Promise.reject(new HttpError(404, 'gone'))],
  ])('that fail %s are null with an error entry', async (_when, run) => {
    const { outcome } = plannedBy(run)
    const { text, errors } = await outcome('{ a: planned { id } own }')
    expect(text).toBe('{"a":null,"own":7}')
    expect(errors?.map(({ path, message }) => [path, message])).toEqual([[['a'], 'gone']])
  })

  it('fail with the cause of a mistake of the planner', async () => {
    const mistake = new TypeError('It is not a function.')
    const { outcome } = plannedBy(() => {
      throw new PlanningFailure(mistake)
    })
    const { text, errors } = await outcome('{ a: planned { id } own }')
    expect(text).toBe('{"a":null,"own":7}')
    expect(errors?.map(({ path, originalError }) => [path, originalError])).toEqual([
      [['a'], mistake],
    ])
    expect(log).toEqual(['plan planned', 'own'])
  })

  it('that are required make the whole data null when they fail', async () => {
    const failing = plannedBy(() => {
      throw new HttpError(400, 'no')
    })
    expect(await failing.outcome('{ own required }')).toMatchObject({
      text: 'null',
      errors: [{ message: 'no' }],
    })
    const beside = plannedBy(() => '1')
    const { text, errors } = await beside.outcome('{ planned { id } ownRequired }')
    expect([text, errors?.[0]?.path]).toEqual(['null', ['ownRequired']])
  })

  it('of a mutation run one after another, whichever way', async () => {
    const { outcome } = plannedBy(async () => {
      await Promise.resolve()
      return '5'
    })
    const { text } = await outcome('mutation { a: write b: ownWrite c: write }')
    expect(text).toBe('{"a":5,"b":2,"c":5}')
    expect(log).toEqual(['plan write', 'ownWrite', 'plan write'])
  })

  it('do not run with invalid variables', async () => {
    const { outcome } = plannedBy(() => '1')
    const result = await outcome('query ($id: ID!) { planned(id: $id) { id } }')
    expect(result).toMatchObject({
      data: undefined,
      text: undefined,
      errors: [{ extensions: { code: 'BAD_VARIABLES' } }],
    })
    expect(log).toEqual([])
  })
})
