/** Tools that describe the application: its routes, records, requests and configuration. Each call reads the current sources. */
import { isMap } from '../../core/json.js'
import { Field } from '../../fields/field.js'
import type { DescribedRecord, ListedRoute } from '../describe-application.js'
import { tool, ToolError, type Tool } from './tool.js'

class RoutesInput {
  @Field('string', {
    ...{ maxLength: 200, optional: true },
    description: 'Only routes whose method, path or handler contains this text.',
  })
  contains?: string
  @Field('integer', { min: 1, max: 1000, default: 200 }) limit!: number
}

class RecordsInput {
  @Field('string', { maxLength: 200, optional: true, description: 'Only the record of this name.' })
  name?: string
}

const claims =
  'Claims of the caller, {"sub":"7","roles":["admin"]}. Default: a caller without a token.'

class RouteInput {
  @Field('string', {
    ...{ default: 'GET', maxLength: 10 },
    description: 'The HTTP method.',
  })
  method!: string
  @Field('string', { maxLength: 4000, pattern: /^\//, description: 'The path: /tickets/7.' })
  path!: string
  @Field('json', { optional: true, description: claims }) as?: unknown
}

class OperationInput {
  @Field('string', {
    ...{ maxLength: 20_000, minLength: 1 },
    description: 'The document: { tickets { title } }.',
  })
  query!: string
  @Field('json', { optional: true, description: claims }) as?: unknown
}

class DoctorInput {
  @Field('boolean', {
    default: false,
    description: 'Checks the settings that production requires, without the database.',
  })
  production!: boolean
}

export const projectTools: readonly Tool[] = [
  tool({
    name: 'routes',
    title: 'Routes',
    description:
      "Lists the routes: method, path, handler and who may call them, the application's own routes first.",
    input: RoutesInput,
    run: async ({ contains, limit }, { queryApplication }, signal) => {
      const all = (await queryApplication({ about: 'routes' }, signal)) as readonly ListedRoute[]
      const found = all.filter(
        ({ method, path, name }) =>
          contains === undefined || `${method} ${path} ${name}`.includes(contains),
      )
      return { value: { routes: found.slice(0, limit), total: found.length } }
    },
  }),
  tool({
    name: 'records',
    title: 'Records',
    description:
      'Lists the tables: fields with their kinds and attributes, relations, the interfaces through which clients reach them, and who may read and write.',
    input: RecordsInput,
    run: async ({ name }, { queryApplication }, signal) => {
      const all = (await queryApplication(
        { about: 'records' },
        signal,
      )) as readonly DescribedRecord[]
      return { value: { records: all.filter((one) => name === undefined || one.name === name) } }
    },
  }),
  tool({
    name: 'explain_request',
    title: 'Explain a request',
    description:
      'Shows which route matches a method and path, why similar routes do not, and the steps before the handler: gate, checks, interceptors, rights and rows of this caller. Nothing is run.',
    input: RouteInput,
    run: async ({ method, path, as }, { queryApplication }, signal) => {
      const request = { about: 'route', method, path, as: toClaims(as) } as const
      return { value: { explained: await queryApplication(request, signal) } }
    },
  }),
  tool({
    name: 'explain_graphql',
    title: 'Explain a GraphQL operation',
    description:
      "Shows the cost of an operation, who may query its fields, and the SQL of a query with the database's plan. The query runs as this caller with the application's resolvers in a read-only transaction, which is rolled back. Mutations are not run.",
    input: OperationInput,
    run: async ({ query, as }, { queryApplication }, signal) => {
      const request = { about: 'operation', query, as: toClaims(as) } as const
      return { value: { explained: await queryApplication(request, signal) } }
    },
  }),
  tool({
    name: 'doctor',
    title: 'Check the project',
    description:
      'Checks Node.js, the compiler, the declarations, keys, migrations, the database with its slow queries, and what is open to everybody. Changes nothing.',
    input: DoctorInput,
    run: async ({ production }, { queryApplication }, signal) => ({
      value: { findings: await queryApplication({ about: 'doctor', production }, signal) },
    }),
  }),
]

type Claims = Readonly<Record<string, unknown>>

/** Reads claims. Some clients send an object as JSON text. */
function toClaims(input: unknown): Claims | undefined {
  if (input === undefined || input === null) return undefined
  const value = typeof input === 'string' ? parseJson(input) : input
  if (isMap(value)) return value
  throw new ToolError('as must be an object of claims: {"sub":"7","roles":["admin"]}.')
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
