/**
 * Compares the planner with graphql-js: for random records, rows, operations and variables, one planned statement, batched
 * resolvers, and resolvers that fetch each field separately must return the same JSON and the same errors.
 */
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { GraphQL, connect } from '../../../src/index.js'
import { execute as executeDocument, parse } from 'graphql'
import { startBothEngines } from '../../records/both-engines.js'
import { countStatements } from './count-statements.js'
import { plainSchema } from './plain-resolvers.js'
import { drawOperation, type RandomOperation } from './random-operations.js'
import { drawRecords, drawRows } from './random-records.js'
import { rounds, seed } from '../../random.js'

/** To run more and other cases: `ROUNDS=20 SEED=3 npm test -- planner/differential`. */
const schemas = rounds(12)
const operationsPerSchema = 50

describe.each(await startBothEngines())('planner on %s', (_name, open) => {
  it(
    'returns the same results as resolvers for random operations',
    async () => {
      const url = await open()
      const counts = { operations: 0, planned: 0, failed: 0, sets: 0 }
      const property = fc.asyncProperty(fc.gen(), async (gen) => {
        const draw = <T>(arbitrary: fc.Arbitrary<T>): T => gen(() => arbitrary)
        const records = drawRecords(draw, `t${counts.sets++}`)
        const classes = records.map(({ type }) => type)
        const database = await connect(url, { records: classes })
        try {
          await database.sync()
          await drawRows(draw, records, database)
          const graphql = new GraphQL({ database, maskErrors: false, limits: looseLimits })
          for (const type of classes) graphql.schema.fromOrm(type)
          const built = graphql.schema.build().schema
          const plain = plainSchema(built, records, database)
          for (let index = 0; index < operationsPerSchema; index++) {
            const operation = drawOperation(draw, records)
            const planned = await countStatements(database, () => run(graphql, operation))
            const batched = await execute(built, operation)
            const fetched = await execute(plain, operation)
            // Compared as text, because the keys must have the same order too.
            expect(textOf(operation, planned.result)).toBe(textOf(operation, batched))
            expect(textOf(operation, withoutMessages(planned.result))).toBe(
              textOf(operation, withoutMessages(fetched)),
            )
            counts.operations++
            if (planned.result.errors !== undefined || isRefusable(operation)) counts.failed++
            else if (planned.count <= rootsOf(operation)) counts.planned++
          }
        } finally {
          await database.close()
        }
      })
      await fc.assert(property, { numRuns: schemas, endOnFailure: true, seed })
      expect(counts.operations).toBe(schemas * operationsPerSchema)
      expect(counts.failed).toBeGreaterThan(10)
      // Every operation without an error ran at most as many statements as it has root fields.
      expect(counts.planned + counts.failed).toBe(counts.operations)
    },
    24_000 * schemas,
  )
})

const looseLimits = { depth: 50, aliases: 500, tokens: 20_000, cost: 10_000_000, rootFields: 50 }

interface Result {
  readonly data?: unknown
  readonly errors?: readonly { readonly path?: readonly unknown[]; readonly message: string }[]
}

async function run(graphql: GraphQL, { text, variables }: RandomOperation): Promise<Result> {
  const result = await graphql.execute(text, variables)
  return normalise(result)
}

async function execute(
  schema: ReturnType<GraphQL['schema']['build']>['schema'],
  { text, variables }: RandomOperation,
): Promise<Result> {
  const result = await executeDocument({ schema, document: parse(text), variableValues: variables })
  return normalise(result)
}

/** Parses the JSON in cursors, whose text may have different spaces. */
function normalise(result: unknown): Result {
  const text = JSON.stringify(result, (key, value: unknown) =>
    key === 'locations' || key === 'extensions' ? undefined : readCursor(value),
  )
  const { data, errors } = JSON.parse(text) as Result
  const sorted = errors && [...errors].sort((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1))
  return sorted === undefined ? { data } : { data, errors: sorted }
}

function keyOf(error: object): string {
  return JSON.stringify((error as { path?: unknown }).path)
}

function readCursor(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const isPlain = value.startsWith('[') && value.endsWith(']')
  if (isPlain) return value.replaceAll(' ', '')
  if (!/^Wy[IJ]/.test(value)) return value
  const [, ...values] = JSON.parse(Buffer.from(value, 'base64').toString()) as unknown[]
  return JSON.stringify(values).replaceAll(' ', '')
}

function textOf({ text, variables }: RandomOperation, result: Result): string {
  return JSON.stringify({ text, variables, result }, undefined, 1)
}

/** Removes error messages, because the plain resolvers have other texts. */
function withoutMessages({ data, errors }: Result): Result {
  return errors === undefined
    ? { data }
    : { data, errors: errors.map(({ path }) => ({ path, message: '' })) }
}

/** Has a list that is refused wherever its parent exists. */
function isRefusable({ text }: RandomOperation): boolean {
  return text.includes('offset: -1')
}

function rootsOf({ text }: RandomOperation): number {
  return (text.match(/\br\d: /g) ?? []).length
}
