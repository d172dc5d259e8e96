/**
 * Writes the code that `filigree types --tanstack` adds: options for TanStack Query, plain objects that all its
 * adapters accept. `useQuery(queries.itemShow({ path: { id: 7 } }))`, `useMutation(queries.itemCreate())`.
 */
import { operationIds } from '../openapi/operation-ids.js'
import type { PlannedRoute } from '../serving/planned-route.js'
import { quote, toRouteLine } from './route-types.js'

/**
 * ```ts
 * export const createQueries = (client: Client<Routes>) => ({
 *   itemShow: (options: Parameters<typeof client.get<'/items/<id:int>'>>[1]) => ({
 *     queryKey: ['GET /items/<id:int>', options] as const,
 *     queryFn: ({ signal }: { signal: AbortSignal }) => client.get('/items/<id:int>', { ...options, signal }),
 *   }),
 * })
 * ```
 */
export function writeQueries(routes: readonly PlannedRoute[]): string {
  const ids = operationIds(routes)
  const members = routes.map((planned) => {
    const id = ids.get(planned) ?? planned.route.member
    const { key } = toRouteLine(planned, () => undefined)
    const [verb = 'GET', path = ''] = key.split(/ (.*)/s)
    return verb === 'GET' ? queryOptions(id, key, path) : mutationOptions(id, { key, verb, path })
  })
  return `/** Options for TanStack Query, by operation: \`useQuery(queries.name(options))\`, \`useMutation(queries.name())\`. */
export const createQueries = (client: Client<Routes>) => ({
${members.join('')}})
`
}

/** The options may be left out if the call requires none. */
function queryOptions(id: string, key: string, path: string): string {
  const call = `client.get<${quote(path)}>`
  return `  ${id}: (...[options]: Rest1<Parameters<typeof ${call}>>) => ({
    queryKey: [${quote(key)}, options] as const,
    queryFn: ({ signal }: { signal: AbortSignal }) =>
      ${call}(${quote(path)}, { ...options!, signal }),
  }),
`
}

interface Mutation {
  readonly key: string
  readonly verb: string
  readonly path: string
}

function mutationOptions(id: string, { key, verb, path }: Mutation): string {
  const call = `client.${verb.toLowerCase()}<${quote(path)}>`
  const send =
    verb === 'DELETE'
      ? `(options: Rest1<Parameters<typeof ${call}>>[0]) => ${call}(${quote(path)}, options!)`
      : `({ body, ...options }: Variables<Parameters<typeof ${call}>>) =>
      ${call}(${quote(path)}, body!, options as never)`
  return `  ${id}: () => ({
    mutationKey: [${quote(key)}] as const,
    mutationFn: ${send},
  }),
`
}

/** The types that the file needs besides the options. */
export const queryHelpers = `/** The arguments of a call after its path. */
type Rest1<Arguments extends readonly unknown[]> = Arguments extends readonly [
  unknown,
  ...infer Rest,
]
  ? Rest
  : never

/** The body of a write, with its other options. */
type Variables<Arguments extends readonly unknown[]> = (undefined extends Arguments[1]
  ? { body?: Arguments[1] }
  : { body: Arguments[1] }) &
  (Arguments extends readonly [unknown, unknown?, ...infer Rest] ? NonNullable<Rest[0]> : unknown)
`
