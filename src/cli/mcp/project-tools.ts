/** Tools that describe the application: its routes, records, requests and configuration. Each call reads the current sources. */
import { isMap } from '../../core/json.js'
import { Field } from '../../fields/field.js'
import type { DescribedRecord } from '../describe-application.js'
import type { ListedRoute } from '../describe-application.js'
import { tool, ToolError, type Tool } from './tool.js'

class RoutesInput {
  @Field('string', {
    ...{ maxLength: 200, optional: true },
    description: 'Only those whose method, path or handler contains this.',
  })
  contains?: string
  @Field('integer', { min: 1, max: 1000, default: 200 }) limit!: number
}

class RecordsInput {
  @Field('string', { maxLength: 200, optional: true, description: 'Only the record of this name.' })
  name?: string
}

const claims = 'Claims of the caller, {"sub":"7","roles":["admin"]}. Default: nobody is signed in.'

class RouteInput {
  @Field('string', {
    ...{ default: 'GET', maxLength: 10 },
    description: 'The method of HTTP.',
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
    description: 'Hold it against the list for production, without its database.',
  })
  production!: boolean
}

export const projectTools: readonly Tool[] = [
  tool({
    name: 'routes',
    title: 'Routes',
    description:
      'What the application answers: method, path, handler and who may call it, its own routes first.',
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
      'The tables: fields with their kinds and marks, relations, by which doors clients reach them, and who may read and write.',
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
    title: 'Why a request is answered so',
    description:
      'Which route answers a method and path, why others near it do not, and what stands between the request and its handler: gate, checks, interceptors, rights and rows of this caller. Nothing is run.',
    input: RouteInput,
    run: async ({ method, path, as }, { queryApplication }, signal) => {
      const request = { about: 'route', method, path, as: toClaims(as) } as const
      return { value: { explained: await queryApplication(request, signal) } }
    },
  }),
  tool({
    name: 'explain_graphql',
    title: 'What an operation of GraphQL costs',
    description:
      "What an operation costs, who may ask its fields, and the SQL of a query with the database's plan: it is run for that as this caller in a read-only transaction, which is rolled back, with the resolvers that the application has of its own. Mutations are not run.",
    input: OperationInput,
    run: async ({ query, as }, { queryApplication }, signal) => {
      const request = { about: 'operation', query, as: toClaims(as) } as const
      return { value: { explained: await queryApplication(request, signal) } }
    },
  }),
  tool({
    name: 'doctor',
    title: 'What is in order, and what is not',
    description:
      'Looks at Node.js, the compiler, the declarations, keys, migrations, the database with its slow queries, and what is open to everybody. Changes nothing.',
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
  const value = typeof input === 'string' ? parsed(input) : input
  if (isMap(value)) return value
  throw new ToolError('as: send an object of claims, {"sub":"7","roles":["admin"]}.')
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
