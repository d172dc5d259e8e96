/**
 * Writes the file of `filigree types`: imports, the interface of all routes, and helper types. `--tanstack` adds options for
 * TanStack Query.
 */

import { operationIds } from '../../openapi/documented-route.js'
import type { PlannedRoute } from '../../serving/planned-route.js'
import {
  addsRelated,
  quote,
  toRelatedMembers,
  toRouteLine,
  type NameOf,
  type RouteLine,
} from './route-types.js'
import type { Class } from '../../metadata/class.js'

/**
 * Writes options for TanStack Query. They are plain objects for all its adapters: `useMutation(queries.itemCreate())`.
 *
 * ```ts
 * export const createQueries = (client: Client<Routes>) => ({
 *   itemShow: (options: Parameters<typeof client.get<'/items/<id:int>'>>[1]) => ({
 *     queryKey: ['GET /items/<id:int>', options] as const,
 *     queryFn: ({ signal }: { signal: AbortSignal }) => client.get('/items/<id:int>', { ...options, signal }),
 *   }),
 * })
 * ```
 */
function writeQueries(routes: readonly PlannedRoute[]): string {
  const ids = operationIds(routes)
  const members = routes.map((planned) => {
    const id = ids.get(planned) ?? planned.route.member
    const { key } = toRouteLine(planned, () => undefined)
    const [verb = 'GET', path = ''] = key.split(/ (.*)/s)
    if (verb !== 'GET') return mutationOptions(id, { key, verb, path })
    // Any related rows, which the type of the result then has as optional members.
    return queryOptions(id, key, path, addsRelated(planned) ? ', any' : '')
  })
  return `/** Options for TanStack Query, by operation: \`useQuery(queries.name(options))\`, \`useMutation(queries.name())\`. */
export const createQueries = (client: Client<Routes>) => ({
${members.join('')}})
`
}

/** The options can be omitted if the call does not require any. */
function queryOptions(id: string, key: string, path: string, related: string): string {
  const call = `client.get<${quote(path)}${related}>`
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

/** Helper types of the options. */
const queryHelpers = `/** The arguments of a call after its path. */
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

/** An import in the generated file. */
export interface NamedImport {
  /** `./dist/items.js` */
  readonly from: string
  readonly name: string
}

interface RoutesFile {
  /** The command line, for the first line of the file. */
  readonly command: string
  readonly routes: readonly PlannedRoute[]
  readonly imports: ReadonlyMap<Class, NamedImport>
  /** Adds options for TanStack Query, which are code, so the file is a module. */
  readonly tanstack: boolean
}

/** @returns the text of the file: routes in the order of declaration, imports in the order of first use */
export function writeRoutesFile({ command, routes, imports, tanstack }: RoutesFile): string {
  const names = new ImportNames(imports)
  const lines = routes.map((planned) =>
    writeLine(toRouteLine(planned, names.nameOf, names.relatedNameOf)),
  )
  const body = [`export interface Routes {\n${lines.join('')}}\n`, ...names.writeRelated()].join(
    '\n',
  )
  const used = helpers.filter(({ name }) => body.includes(`${name}<`)).map(({ text }) => text)
  const head = `// Written by \`${command}\`. Changes are lost: run it again.\n`
  const client = tanstack
    ? "/* eslint-disable */\nimport type { Client } from 'filigree/client'\n"
    : ''
  const queries = tanstack ? [writeQueries(routes), queryHelpers] : []
  return [head + client + names.writeImports(), body, ...queries, ...used]
    .filter((part) => part !== '')
    .join('\n')
}

/** Helper types. They do not change `unknown`, because a handler that accepts anything can be sent anything. */
const helpers = [
  {
    name: 'Without',
    text: `/** Clients neither send nor see these fields. */
type Without<T, Names extends PropertyKey> = unknown extends T ? T : Omit<T, Names>
`,
  },
  {
    name: 'Defaulted',
    text: `/** These fields may be left out: the server has defaults. */
type Defaulted<T, Names extends PropertyKey> = unknown extends T
  ? T
  : Omit<T, Names> & Partial<Pick<T, Names & keyof T>>
`,
  },
]

/**
 * Names that the file itself uses, and the name for classes without one. Imported classes with these names are renamed.
 */
const reservedNames = [
  'default',
  ...[
    'Routes',
    'Client',
    'Rest1',
    'Rest2',
    'Without',
    'Defaulted',
    'Parameters',
    'ReturnType',
    'NonNullable',
    'Awaited',
  ],
  ...['Partial', 'Pick', 'Omit', 'PropertyKey', 'FormData', 'Record'],
]

/** Gives each imported class a unique name at its first use. */
class ImportNames {
  readonly #imports: ReadonlyMap<Class, NamedImport>
  readonly #names = new Map<Class, string>()
  readonly #usedNames = new Set(reservedNames)
  readonly #files = new Map<string, string[]>()
  /** The names of the interfaces with the relations of records. */
  readonly #related = new Map<Class, string>()

  constructor(imports: ReadonlyMap<Class, NamedImport>) {
    this.#imports = imports
  }

  readonly nameOf: NameOf = (type) => {
    const imported = this.#imports.get(type)
    const existing = this.#names.get(type)
    if (imported === undefined || existing !== undefined) return existing
    const name = this.#uniqueName(imported.name === 'default' ? type.name : imported.name)
    this.#names.set(type, name)
    const list = this.#files.get(imported.from) ?? []
    list.push(imported.name === name ? name : `${imported.name} as ${name}`)
    this.#files.set(imported.from, list)
    return name
  }

  readonly relatedNameOf = (record: Class): string => {
    const name = this.#related.get(record) ?? this.#uniqueName(`${record.name}Related`)
    this.#related.set(record, name)
    return name
  };

  /** Writes the interfaces that were named, and those that they name. */
  *writeRelated(): Generator<string> {
    for (const [record, name] of this.#related) {
      const members = toRelatedMembers(record, this.nameOf, this.relatedNameOf)
      const lines = members.map((member) => `  ${member}\n`).join('')
      yield `/** The related rows that \`with\` adds to ${record.name}. */\ninterface ${name} {\n${lines}}\n`
    }
  }

  writeImports(): string {
    return [...this.#files]
      .map(([from, list]) => {
        const line = `import type { ${list.join(', ')} } from ${quote(from)}\n`
        if (line.length <= width + 1) return line
        return `import type {\n${list.map((name) => `  ${name},\n`).join('')}} from ${quote(from)}\n`
      })
      .join('')
  }

  #uniqueName(preferred: string): string {
    let name = preferred
    for (let count = 2; this.#usedNames.has(name); count++) name = `${preferred}${count}`
    this.#usedNames.add(name)
    return name
  }
}

const width = 100

/** One line if it fits, else a line for each member. */
function writeLine({ key, members }: RouteLine): string {
  const entries = [...members].map(([name, type]) => `${name}: ${type}`)
  const start = `  ${quote(key)}: `
  const line = `${start}{ ${entries.join('; ')} }`
  if (line.length <= width) return `${line}\n`
  return `${start}{\n${entries.map((entry) => `    ${entry}\n`).join('')}  }\n`
}
