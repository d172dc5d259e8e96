/** Components of the application on the admin page: cells and inputs of fields, and pages beside the records. */
import type { Problem, RecordDescription } from '../../index.js'

/** An `HTMLElement`, where the types of browsers are known. */
type PageElement = typeof globalThis extends {
  HTMLElement: { prototype: infer Element }
}
  ? Element
  : unknown

/** Sends requests with the sign-in of the page. */
export interface AdminClient {
  get(path: string, options?: object): Promise<unknown>
  post(path: string, body?: unknown, options?: object): Promise<unknown>
  put(path: string, body?: unknown, options?: object): Promise<unknown>
  patch(path: string, body?: unknown, options?: object): Promise<unknown>
  delete(path: string, options?: object): Promise<unknown>
}

interface ComponentProps {
  /** The element to fill. It is in the document, and has the styles of the page. */
  readonly element: PageElement
  readonly client: AdminClient
  /** The language of the page: `de`. */
  readonly language: string
}

/** The argument of a cell: `export default function ({ element, value }) { … }`. */
export interface AdminCellProps<Value = unknown> extends ComponentProps {
  readonly value: Value | null
  /** The fields of the row that the list has loaded. */
  readonly row: Readonly<Record<string, unknown>>
  readonly record: { readonly name: string; readonly path: string }
}

/** The argument of an input. It is called again with another `value` after the row was saved or loaded again. */
export interface AdminInputProps<Value = unknown> extends ComponentProps {
  /** Undefined in the form of a new row, and where several rows are edited. */
  readonly value: Value | null | undefined
  /** Sets the value. The form checks it by the rules of the field, and saves it. */
  readonly change: (value: Value | null) => void
  readonly record: { readonly name: string; readonly path: string }
}

/** The argument of a page. */
export interface AdminPageProps extends ComponentProps {
  /** Aborted when the user leaves the page. */
  readonly signal: AbortSignal
}

/** The scripts of a field: paths of ES modules of the application. */
export interface FieldComponents {
  /** Draws the value in lists. */
  readonly cell?: string
  /** Edits the value in forms. */
  readonly input?: string
}

/** A page of the application beside the records. */
export interface AdminPage {
  /** The last part of the address: `map` for `/admin/map`. */
  readonly path: string
  /** The text of the link in the menu, and the heading. */
  readonly title: string
  /** The path of an ES module of the application: `/admin-map.js`. */
  readonly script: string
  /** Who sees the page: a role, or one of several. Default: everybody who may use the admin page. */
  readonly roles?: string | readonly string[]
}

export const isScriptPath = (value: unknown): boolean =>
  typeof value === 'string' && /^\/(?!\/)[^\s?#<>\\]*$/.test(value)

const scriptRemedy = "Write the path of an ES module of your application: '/map-input.js'."

export function findFieldProblems(
  where: string,
  components: Readonly<Record<string, FieldComponents>> | undefined,
  { fields }: Pick<RecordDescription, 'fields'>,
): Problem[] {
  const names = fields.map(({ name }) => name)
  return Object.entries(components ?? {}).flatMap(([name, scripts]) => {
    if (!names.includes(name))
      return [
        invalid(`${where}: fields names ${JSON.stringify(name)}.`, `Fields: ${names.join(', ')}.`),
      ]
    const entries = Object.entries(scripts)
    if (entries.length === 0)
      return [invalid(`${where}: fields.${name} is empty.`, 'Write { cell } or { input }.')]
    return entries.flatMap(([use, path]) => {
      if (use !== 'cell' && use !== 'input')
        return [invalid(`${where}: fields.${name} has "${use}".`, 'Write { cell } or { input }.')]
      return isScriptPath(path)
        ? []
        : [invalid(`${where}: fields.${name}.${use} is not a path.`, scriptRemedy)]
    })
  })
}

/** @param plurals the addresses of the records */
export function findPageProblems(
  pages: readonly AdminPage[],
  plurals: readonly string[],
): Problem[] {
  const used = new Set([...plurals, 'api', 'assets'])
  return pages.flatMap(({ path, title, script }, index) => {
    const where = `admin: pages.${index}`
    const problems: Problem[] = []
    if (typeof path !== 'string' || !/^[a-z0-9][a-z0-9-]*$/.test(path))
      problems.push(invalid(`${where}: path is not part of an address.`, "Write path: 'map'."))
    else if (used.has(path))
      problems.push(
        invalid(`${where}: path ${JSON.stringify(path)} is already used.`, 'Choose another path.'),
      )
    if (typeof title !== 'string' || title === '')
      problems.push(invalid(`${where}: title is missing.`, "Write title: 'Map'."))
    if (!isScriptPath(script))
      problems.push(invalid(`${where}: script is not a path.`, scriptRemedy))
    used.add(path)
    return problems
  })
}

/** The pages for a caller with these roles. */
export const pagesFor = (
  pages: readonly AdminPage[] | undefined,
  callerRoles: readonly string[] | undefined,
): Omit<AdminPage, 'roles'>[] =>
  (pages ?? [])
    .filter(
      ({ roles }) =>
        roles === undefined || [roles].flat().some((one) => callerRoles?.includes(one)),
    )
    .map(({ path, title, script }) => ({ path, title, script }))

function invalid(message: string, remedy: string): Problem {
  return { code: 'INVALID_OPTION', message, remedy }
}
